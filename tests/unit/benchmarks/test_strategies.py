"""Each strategy finds what it is made for, and spends no more than it says."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

import pytest
from benchmarks.planted.bench import Answer, Bench, SpentError, Strategy
from benchmarks.planted.contenders import CONTENDERS, Contender
from benchmarks.planted.families import make
from benchmarks.planted.histories import first_bad
from benchmarks.planted.scenario import CLEAN, MASKED, REPRODUCED, Launch
from benchmarks.planted.scoring import groups, wrong
from benchmarks.planted.strategies.delta_debugging import ddmin
from benchmarks.planted.strategies.git_histories import git_bayesect, git_bisect
from benchmarks.planted.strategies.halving import halving
from benchmarks.planted.strategies.one_factor import one_factor_at_a_time
from benchmarks.planted.strategies.ruleout_command import answer, ruleout_command
from benchmarks.planted.strategies.version_space import consistent
from tests.unit.benchmarks.trivial import MASK, ONE, TWO, scenario

OTHERS = [one for one in CONTENDERS if not one.histories and one.name != "ruleout"]


def available(contender: Contender) -> None:
    if contender.missing():
        pytest.skip(contender.missing())


@pytest.mark.parametrize("contender", OTHERS, ids=lambda one: one.name)
def test_a_single_factor_is_found_by_everyone(contender: Contender) -> None:
    available(contender)
    bench = Bench(scenario(ONE, masks=(MASK,)))
    found = contender.strategy(bench)
    assert wrong(bench.scenario, found, bench.launches) == ""
    assert bench.launches[0].config == bench.scenario.baseline


@pytest.mark.parametrize("contender", OTHERS, ids=lambda one: one.name)
def test_the_same_scenario_is_searched_in_the_same_way(contender: Contender) -> None:
    available(contender)
    benches = [Bench(make("pair", 1), budget=100) for _ in range(2)]
    answers = [_until_spent(contender.strategy, bench) for bench in benches]
    assert answers[0] == answers[1]
    assert benches[0].launches == benches[1].launches


def _until_spent(strategy: Strategy, bench: Bench) -> Answer:
    try:
        return strategy(bench)
    except SpentError:
        return Answer(status="spent")


def test_one_factor_at_a_time_finds_a_conjunction_but_not_two_causes() -> None:
    conjunction = Bench(scenario(TWO[0]))
    assert groups(one_factor_at_a_time(conjunction).causes) == {frozenset("ab")}
    assert one_factor_at_a_time(Bench(scenario(*TWO))) == Answer()


def test_halving_finds_two_causes_and_completes_each() -> None:
    bench = Bench(scenario(*TWO))
    found = halving(bench)
    assert groups(found.causes) == {frozenset("ab"), frozenset("c")}
    assert bench.scenario.works({**bench.scenario.baseline, **found.workarounds[0]})


def test_ddmin_keeps_what_it_takes_and_nothing_else() -> None:
    items = [str(number) for number in range(20)]
    assert ddmin(items, lambda some: {"3", "11", "17"} <= set(some)) == ["3", "11", "17"]
    assert ddmin(items, lambda some: "19" in some) == ["19"]
    assert ddmin(["x"], lambda _: True) == ["x"]


def launch(outcome: str, **config: str) -> Launch:
    return Launch(config, outcome, 12.0)


def test_a_conjunction_is_consistent_unless_a_clean_run_has_levels_that_failing_ones_had() -> None:
    failing = launch(REPRODUCED, a="a0", b="b0", c="c0")
    assert consistent([failing], "abc") == [frozenset()]
    clean = launch(CLEAN, a="a1", b="b0", c="c1")
    assert consistent([failing, clean], "abc") == [frozenset("a"), frozenset("c")]
    masked = launch(MASKED, a="a1", b="b1", c="c1")
    assert consistent([failing, clean, masked], "abc") == [frozenset("a"), frozenset("c")]
    other = launch(REPRODUCED, a="a0", b="b1", c="c1")
    assert consistent([failing, clean, other], "abc") == [frozenset("a")]
    assert consistent([failing, clean, launch(REPRODUCED, a="a1", b="b0", c="c1")], "abc") == []


def test_without_launches_left_a_strategy_is_stopped() -> None:
    bench = Bench(scenario(ONE), budget=2)
    with pytest.raises(SpentError):
        one_factor_at_a_time(bench)
    assert len(bench.launches) == 2


# -- histories -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["history-20", "history-20-gaps"])
def test_git_bisect_finds_the_first_bad_revision_of_a_real_repository(family: str) -> None:
    bench = Bench(make(family, 0))
    found = git_bisect(bench)
    assert found.causes == ({"revision": frozenset({first_bad(bench.scenario)})},)
    assert [launch.config["revision"] for launch in bench.launches[:2]] == ["r19", "r00"]
    assert len(bench.launches) < 15


def test_git_bayesect_finds_a_flaky_one_and_states_a_probability() -> None:
    if importlib.util.find_spec("git_bayesect") is None:
        pytest.skip("git_bayesect is not installed")
    bench = Bench(make("history-20-flaky", 0), budget=150)
    found = git_bayesect(bench)
    assert found.causes == ({"revision": frozenset({first_bad(bench.scenario)})},)
    assert found.probability is not None
    assert found.probability >= 0.95


def test_one_factor_at_a_time_walks_a_history_from_the_newest() -> None:
    bench = Bench(make("history-20", 0))
    found = one_factor_at_a_time(bench)
    assert min(found.causes[0]["revision"]) == first_bad(bench.scenario)
    assert [launch.config["revision"] for launch in bench.launches[:3]] == ["r19", "r18", "r17"]


def test_bisecting_needs_a_history() -> None:
    assert git_bisect(Bench(scenario(ONE))).status == "unsuited"


# -- ruleout -------------------------------------------------------------------------------------------------------


def test_ruleout_is_run_by_its_public_command_and_scored_by_the_ledger() -> None:
    bench = Bench(scenario(ONE, masks=(MASK,)))
    found = ruleout_command(bench)
    assert wrong(bench.scenario, found, bench.launches) == ""
    assert found.levels
    assert found.probability is not None
    assert bench.launches[0].config == bench.scenario.baseline
    assert {launch.outcome for launch in bench.launches} >= {CLEAN, REPRODUCED}


def test_a_command_that_gives_no_verdict_is_broken_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    monkeypatch.setattr("sys.executable", "/bin/false")
    found = ruleout_command(Bench(scenario(ONE)))
    assert found.status == "broken"
    assert found.note


VERDICT: Mapping[str, object] = {
    "status": "isolated",
    "elsewhere": {"probability": 0.01},
    "cause": [{"factor": "a", "levels": ["a0"]}],
    "causes": [[{"factor": "a", "levels": ["a0"]}], [{"factor": "c", "levels": ["c0"]}]],
    "probability": 0.99,
    "workarounds": [{"set": {"a": "a2"}, "trial": 3}],
    "assumptions": [{"text": "x=1 is a way out", "status": "refuted"}, {"text": "y", "status": "open"}],
}


def test_a_verdict_becomes_an_answer() -> None:
    found = answer(VERDICT)
    assert found.causes == ({"a": frozenset({"a0"})}, {"c": frozenset({"c0"})})
    assert found.workarounds == ({"a": "a2"},)
    assert found.probability == 0.99
    assert found.refuted == ("x=1 is a way out",)


def test_a_verdict_of_elsewhere_claims_no_cause_and_has_the_probability_of_that() -> None:
    found = answer({**VERDICT, "status": "elsewhere", "elsewhere": {"probability": 0.97}})
    assert found.causes == ()
    assert found.probability == 0.97


def test_what_is_no_verdict_is_refused() -> None:
    with pytest.raises(KeyError):
        answer({"schema": "something else"})
