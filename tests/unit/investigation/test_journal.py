"""The journal is the only truth: what is rebuilt from its events is what was known before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import strategies

from ruleout.investigation.journal import Journal
from ruleout.model import (
    Configuration,
    Exposure,
    Failure,
    FailureClass,
    Outcome,
    OutcomeKind,
    Pivot,
    Stage,
    Trial,
    Verdict,
    VerdictStatus,
)
from ruleout.model.codec import to_json
from ruleout.store import Store

FAILURE = Failure(FailureClass.OOM, Exposure(Stage.DECODE, 1), "out of memory", "abc")
REPRODUCED = Outcome(OutcomeKind.REPRODUCED, Stage.DECODE, "the failure to explain", FAILURE)
CLEAN = Outcome(OutcomeKind.CLEAN, Stage.DECODE, "every probe passed")
BASE = Configuration(a="1", b="1")


def state(journal: Journal) -> tuple[Any, ...]:
    """All that a journal knows."""
    return (
        journal.trials,
        journal.target,
        journal.verdict,
        journal.cwd,
        journal.open,
        journal.next_number,
        journal.leader,
        journal.leader_after,
        journal.pivots,
    )


def rebuilt(folder: Path) -> tuple[Any, ...]:
    with Store(folder, writing=False) as store:
        return state(Journal.read(store))


def ran(journal: Journal, outcome: Outcome, configuration: Configuration = BASE, minutes: float = 12.0) -> Trial:
    """A trial from its plan to its end."""
    number = journal.next_number
    journal.planned(number, configuration, "the baseline", f"token{number}")
    return journal.finished(number, outcome, minutes, f"trials/{number:04d}/server.log")


def test_what_is_rebuilt_is_what_was_known(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as store:
        journal = Journal.read(store)
        journal.begun("name: n", "/somewhere")
        ran(journal, REPRODUCED)
        journal.add("target", 1, failure=to_json(FAILURE))
        journal.add("leading", 1, claim="a=1", probability=0.6)
        ran(journal, CLEAN, BASE.moved({"a": "2"}), 1 / 3)
        journal.add("leading", 2, claim="b=1", probability=0.7)
        journal.planned(3, BASE, "the baseline again", "t")
        journal.add("verdict", verdict=to_json(Verdict(VerdictStatus.INTERRUPTED, 0.7, trials=journal.trials)))
        known = state(journal)
    assert rebuilt(tmp_path) == known
    assert known[1] == FAILURE


actions = st.lists(
    st.one_of(
        st.tuples(st.just("trial"), strategies.configurations, strategies.outcomes, strategies.number),
        st.tuples(st.just("open"), strategies.configurations, strategies.text),
        st.tuples(st.just("abandon")),
        st.tuples(st.just("target"), strategies.failures),
        st.tuples(st.just("leading"), strategies.text, strategies.probability),
        st.tuples(st.just("verdict"), strategies.verdicts),
        st.tuples(st.just("of another time")),
    ),
    max_size=6,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions)
def test_whatever_happens_it_can_be_rebuilt(tmp_path_factory: Any, happened: list[tuple[Any, ...]]) -> None:
    folder: Path = tmp_path_factory.mktemp("journal")
    with Store(folder, writing=True) as store:
        journal = Journal.read(store)
        for what, *more in happened:
            if what == "trial":
                ran(journal, more[1], more[0], more[2])
            elif what == "open":
                journal.planned(journal.next_number, more[0], more[1], "t")
            elif what == "abandon" and journal.open:
                journal.add("abandoned", min(journal.open), reason="interrupted")
            elif what == "target":
                journal.add("target", 1, failure=to_json(more[0]))
            elif what == "leading":
                journal.add("leading", 1, claim=more[0], probability=more[1])
            elif what == "verdict":
                journal.add("verdict", verdict=to_json(more[0]))
            elif what == "of another time":
                journal.add(what, 7, anything=1)
        known = state(journal)
    assert rebuilt(folder) == known


def test_what_was_replaced_in_an_earlier_trial_is_known_of_it_from_then_on(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as store:
        journal = Journal.read(store)
        journal.planned(1, BASE, "", "token")
        journal.finished(1, REPRODUCED, 1.0, "log")
        journal.in_effect(1, {"a": "2"})
        assert [t.outcome and t.outcome.effective for t in journal.trials] == [{"a": "2"}]
        assert state(Journal.read(store)) == state(journal)


def test_a_trial_that_was_planned_and_not_judged_is_open(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as store:
        journal = Journal.read(store)
        journal.planned(1, BASE, "the baseline", "marker")
    with Store(tmp_path, writing=False) as store:
        journal = Journal.read(store)
    assert journal.trials == ()
    assert list(journal.open) == [1]
    assert (journal.open[1].configuration, journal.open[1].token) == (BASE, "marker")


def test_a_trial_that_was_judged_or_abandoned_is_not_open(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as store:
        journal = Journal.read(store)
        ran(journal, CLEAN)
        journal.planned(2, BASE, "again", "t")
        journal.add("abandoned", 2, reason="interrupted")
        assert journal.open == {}
        assert [t.id for t in journal.trials] == [1]


def test_numbers_are_not_used_twice_not_even_after_an_abandoned_trial(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as store:
        journal = Journal.read(store)
        assert journal.next_number == 1
        journal.planned(1, BASE, "", "t")
        journal.add("abandoned", 1, reason="interrupted")
        assert journal.next_number == 2
    with Store(tmp_path, writing=False) as store:
        assert Journal.read(store).next_number == 2


def test_a_trial_is_on_the_disk_before_it_is_launched(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as store:
        Journal.read(store).planned(1, BASE, "the baseline", "marker")
        assert rebuilt(tmp_path)[4].keys() == {1}


def test_trials_judged_out_of_order_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as store:
        journal = Journal.read(store)
        journal.planned(1, BASE, "", "t")
        journal.planned(2, BASE, "", "t")
        journal.finished(2, CLEAN, 1.0, "")
        journal.finished(1, REPRODUCED, 1.0, "")
        assert [t.id for t in journal.trials] == [1, 2]


def pivots(folder: Path, *leaders: tuple[int, str, float]) -> tuple[Pivot, ...]:
    with Store(folder, writing=True) as store:
        journal = Journal.read(store)
        for outcome in (REPRODUCED, CLEAN, REPRODUCED):
            ran(journal, outcome)
        for trial, claim, probability in leaders:
            journal.add("leading", trial, claim=claim, probability=probability)
        return journal.pivots


def test_when_the_leading_hypothesis_changes_the_trial_that_did_it_is_recorded(tmp_path: Path) -> None:
    found = pivots(tmp_path, (1, "a=1", 0.6), (2, "b=1", 0.5), (3, "b=1", 0.9))
    assert found == (Pivot(2, "a=1", "b=1", "trial 2 was clean"),)


def test_a_hypothesis_that_hardly_led_was_no_story_yet(tmp_path: Path) -> None:
    assert pivots(tmp_path, (1, "a=1", 0.2), (2, "b=1", 0.5)) == ()


def test_there_and_back_are_two_pivots(tmp_path: Path) -> None:
    found = pivots(tmp_path, (1, "a=1", 0.6), (2, "b=1", 0.5), (3, "a=1", 0.9))
    assert [(p.after_trial, p.to) for p in found] == [(2, "b=1"), (3, "a=1")]


def test_the_first_working_folder_is_kept(tmp_path: Path) -> None:
    with Store(tmp_path, writing=True) as store:
        journal = Journal.read(store)
        journal.begun("name: n", "/first")
        journal.begun("name: n", "/second")
        assert journal.cwd == "/first"
