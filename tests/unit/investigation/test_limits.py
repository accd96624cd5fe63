"""How far it works, of a cause whose levels have an order."""

from __future__ import annotations

from dataclasses import replace

from ruleout.investigation.limits import limited
from ruleout.model import (
    Carrier,
    Case,
    Configuration,
    Exposure,
    Factor,
    Failure,
    FailureClass,
    Limit,
    Mechanism,
    Outcome,
    OutcomeKind,
    Stage,
    Trial,
    Verdict,
    VerdictStatus,
    Workaround,
)

SIZE = Factor("size", Mechanism.FLAG, "--size", ("16", "8", "4", "2", "1"), "16", ordered=True)
CASE = Case("c", "command", ("serve",), (SIZE,))


def tried(**outcomes: OutcomeKind) -> tuple[Trial, ...]:
    """Trials by their level (`n8`), in this order."""
    return tuple(
        Trial(number, Configuration({"size": name[1:]}), "", Outcome(kind, Stage.READY, ""))
        for number, (name, kind) in enumerate(outcomes.items(), 1)
    )


def isolated(trials: tuple[Trial, ...], *ways: Workaround, case: Case = CASE) -> Verdict:
    """The verdict that it is the size."""
    cause = (Carrier("size", ("16",)),)
    return limited(case, Verdict(VerdictStatus.ISOLATED, 0.99, (cause,), workarounds=ways, trials=trials))


BAD, GOOD, MASKED = OutcomeKind.REPRODUCED, OutcomeKind.CLEAN, OutcomeKind.OTHER


def test_it_lies_between_the_last_that_failed_and_the_first_that_was_clean() -> None:
    found = isolated(tried(n16=BAD, n1=GOOD, n4=GOOD, n8=BAD))
    assert found.limits == (Limit("size", "4", 3, "8", 4),)


def test_levels_that_told_nothing_are_named() -> None:
    found = isolated(tried(n16=BAD, n1=GOOD, n4=MASKED))
    assert found.limits == (Limit("size", "1", 2, "16", 1, ("8", "4", "2")),)


def test_there_may_be_one_on_each_side() -> None:
    middle = replace(CASE, factors=(replace(SIZE, baseline="4"),))
    found = isolated(tried(n4=BAD, n2=GOOD, n8=GOOD), case=middle)
    assert [(limit.works, limit.fails) for limit in found.limits] == [("2", "4"), ("8", "4")]


def test_the_way_out_that_changes_least_comes_first() -> None:
    ways = [Workaround(Configuration({"size": level}), trial) for level, trial in (("1", 2), ("4", 3))]
    found = isolated(tried(n16=BAD, n1=GOOD, n4=GOOD), *ways)
    assert [dict(way.set) for way in found.workarounds] == [{"size": "4"}, {"size": "1"}]


def test_there_is_none_without_an_order_or_with_several_causes() -> None:
    plain = replace(CASE, factors=(replace(SIZE, ordered=False),))
    assert isolated(tried(n16=BAD, n1=GOOD), case=plain).limits == ()
    two = Verdict(VerdictStatus.ISOLATED, 0.99, ((Carrier("size", ("16",)),), (Carrier("other", ("a",)),)))
    assert limited(CASE, two) == two


BACKEND = Factor("backend", Mechanism.FLAG, "--backend", ("fast", "safe"), "fast")
BOTH = replace(CASE, factors=(SIZE, BACKEND))


def together(*trials: tuple[str, str, OutcomeKind], ways: tuple[Workaround, ...] = ()) -> Verdict:
    """The verdict that it is the size with the fast backend."""
    cause = (Carrier("size", ("16", "4")), Carrier("backend", ("fast",)))
    ran = tuple(
        Trial(number, Configuration({"size": size, "backend": backend}), "", Outcome(kind, Stage.READY, ""))
        for number, (size, backend, kind) in enumerate(trials, 1)
    )
    return limited(BOTH, Verdict(VerdictStatus.ISOLATED, 0.99, (cause,), workarounds=ways, trials=ran))


def test_in_a_conjunction_only_trials_with_the_rest_of_it_tell() -> None:
    ways = tuple(Workaround(Configuration({"size": level}), trial) for level, trial in (("1", 4), ("2", 5)))
    found = together(
        ("16", "fast", BAD),
        ("8", "safe", GOOD),
        ("4", "fast", BAD),
        ("1", "fast", GOOD),
        ("2", "fast", GOOD),
        ways=ways,
    )
    assert found.limits == (Limit("size", "2", 5, "4", 3),)
    assert [dict(way.set) for way in found.workarounds] == [{"size": "2"}, {"size": "1"}]


OOM = Failure(FailureClass.HOST_OOM_KILL, Exposure(Stage.DECODE), "the kernel's OOM killer ended the worker", "oom")


def test_a_level_that_dies_of_something_else_later_does_not_work() -> None:
    trials = list(tried(n16=OutcomeKind.REPRODUCED, n8=OutcomeKind.CLEAN, n2=OutcomeKind.CLEAN))
    trials[1] = replace(trials[1], outcome=Outcome(OutcomeKind.CLEAN, Stage.DECODE, "", OOM))
    dies, works = (Workaround(Configuration({"size": level}), id_, 1) for level, id_ in (("8", 2), ("2", 3)))
    found = isolated(tuple(trials), dies, works)
    assert found.limits == (Limit("size", "2", 3, "16", 1, ("4",)),)
    assert found.workarounds == (works, dies)


def test_a_way_out_that_lasts_comes_first_whatever_the_verdict() -> None:
    trials = list(tried(n16=OutcomeKind.REPRODUCED, n8=OutcomeKind.CLEAN, n2=OutcomeKind.CLEAN))
    trials[1] = replace(trials[1], outcome=Outcome(OutcomeKind.CLEAN, Stage.DECODE, "", OOM))
    dies, works = (Workaround(Configuration({"size": level}), id_, 1) for level, id_ in (("8", 2), ("2", 3)))
    narrowed = Verdict(VerdictStatus.NARROWED, 0.9, workarounds=(dies, works), trials=tuple(trials))
    assert limited(CASE, narrowed).workarounds == (works, dies)
