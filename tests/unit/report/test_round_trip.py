"""FINDINGS.md, written and read back: the same trials, and the same evidence for the same case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.support.deployment import FakeDeployment, case_of, factor, investigated, planted

from ruleout.investigation.noted import noted
from ruleout.model import (
    Case,
    Configuration,
    Factor,
    Mechanism,
    Notes,
    Outcome,
    OutcomeKind,
    Stage,
    Trial,
    Verdict,
    VerdictStatus,
)
from ruleout.model.private import PLACEHOLDER
from ruleout.reading.notes import read_notes
from ruleout.report.findings import findings

Said = list[tuple[dict[str, str], dict[str, str], OutcomeKind, float]]


def evidence(case: Case, trials: tuple[Trial, ...]) -> Said:
    """What trials say of factors: those that were judged and had a command and a launch as any other."""
    return [
        (dict(case.baseline.moved(t.configuration)), dict(t.outcome.effective), t.outcome.kind, round(t.minutes, 2))
        for t in trials
        if t.outcome is not None and not t.without and not t.instruments
    ]


def read_back(case: Case, verdict: Verdict) -> tuple[Notes, Said]:
    """The record as notes, and what its trials say of the case."""
    notes = read_notes(findings(case, verdict).encode(), "FINDINGS.md")
    resolved = [t for t in notes.trials if t.outcome is not OutcomeKind.UNRESOLVED]
    taken, _ = noted(case, notes)
    assert [one.told for one in taken] == resolved
    levels = {t.line: dict(one.configuration) for one in taken for t in [one.told]}
    return notes, [
        (levels.get(t.line, dict(case.baseline.moved(t.changes))), dict(t.effective), t.outcome, t.minutes)
        for t in notes.trials
    ]


LEVEL = st.text(st.sampled_from("abcXYZ019_-.:/|'\"`<>[](){}*&;\\~#$%,=+é✓ "), min_size=1, max_size=10).filter(
    lambda level: level == " ".join(level.split())
)
NAME = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
KINDS = st.sampled_from(OutcomeKind)


@st.composite
def investigations(draw: st.DrawFn) -> tuple[Case, Verdict]:
    """A case with any levels, and trials of it with any outcomes."""
    names = draw(st.lists(NAME, min_size=1, max_size=4, unique=True))
    factors = []
    for name in names:
        levels = tuple(draw(st.lists(LEVEL, min_size=2, max_size=4, unique=True)))
        factors.append(Factor(name, Mechanism.FLAG, f"--{name}", levels, levels[0]))
    case = Case("any", "command", ("serve",), tuple(factors))
    trials = []
    for number in range(1, draw(st.integers(1, 8)) + 1):
        moved = {f.name: draw(st.sampled_from(f.levels)) for f in factors if draw(st.booleans())}
        effective = {f.name: draw(LEVEL) for f in factors[:1] if draw(st.integers(0, 4)) == 0}
        outcome = None if draw(st.integers(0, 9)) == 0 else Outcome(draw(KINDS), Stage.DECODE, "", effective=effective)
        without = ("--x",) if draw(st.integers(0, 9)) == 0 else ()
        minutes = draw(st.integers(0, 9999)) / 100
        configuration = case.baseline.moved(moved)
        trials.append(Trial(number, configuration, draw(LEVEL), outcome, minutes, "trials/server.log", without))
    return case, Verdict(VerdictStatus.NARROWED, 0.5, trials=tuple(trials))


HOME = Factor("a", Mechanism.FLAG, "--a", ("~_0/", "b"), "~_0/")


def test_a_level_that_looks_like_a_home_is_replaced_and_nothing_breaks() -> None:
    trials = (Trial(1, Configuration({"a": "b"}), "", Outcome(OutcomeKind.CLEAN, Stage.DECODE, ""), 1.0),)
    notes, _ = read_back(
        Case("any", "command", ("serve",), (HOME,)), Verdict(VerdictStatus.NARROWED, 0.5, trials=trials)
    )
    assert [t.outcome for t in notes.trials] == [OutcomeKind.CLEAN]


@settings(max_examples=150, deadline=None)
@given(investigations())
def test_any_trials_come_back_as_they_were(made: tuple[Case, Verdict]) -> None:
    case, verdict = made
    assume(PLACEHOLDER.search(findings(case, verdict)) is None)  # what looks like somebody's home stays a secret
    notes, said = read_back(case, verdict)
    assert said == evidence(case, verdict.trials)
    assert len(notes.trials) + len(notes.unused) == len(verdict.trials)


@pytest.mark.parametrize(
    "made",
    [
        planted((1,), 1),
        planted((2,), 2, masks=6),
        planted((1, 1), 3),
        planted((1,), 4, rate=0.5),
        FakeDeployment(case_of(factor("a", "0", "1"), factor("b", "0", "1")), [], elsewhere=True),
    ],
    ids=["single", "masked", "two causes", "flaky", "elsewhere"],
)
def test_an_investigation_comes_back_as_the_same_evidence(made: FakeDeployment) -> None:
    run = investigated(made, budget=30)
    notes, said = read_back(made.case, run.verdict)
    assert said == evidence(made.case, run.verdict.trials)
    assert notes.unused == ()
    masked = [t for t in run.verdict.trials if t.outcome and t.outcome.kind is OutcomeKind.OTHER]
    failures = [t.failure for t in notes.trials if t.outcome is OutcomeKind.OTHER]
    assert failures == [t.outcome.failure.message for t in masked if t.outcome and t.outcome.failure]


def test_ordered_versions_come_back() -> None:
    releases = tuple(f"0.5.{n}" for n in range(20))
    release = Factor("sglang", Mechanism.PYTHON, "", releases, "0.5.9", ordered=True)
    case = Case("old", "command", ("serve",), (release,))
    clean = Outcome(OutcomeKind.CLEAN, Stage.DECODE, "")
    trials = tuple(
        Trial(
            i, Configuration(sglang=level), "", clean if i % 2 else replace(clean, kind=OutcomeKind.REPRODUCED), i / 4
        )
        for i, level in enumerate(releases, 1)
    )
    _, said = read_back(case, Verdict(VerdictStatus.NARROWED, 0.5, trials=trials))
    assert said == evidence(case, trials)


def test_what_says_nothing_of_factors_is_named_and_left_out() -> None:
    case = case_of(factor("a", "0", "1"))
    clean = Outcome(OutcomeKind.CLEAN, Stage.DECODE, "")
    trials = (
        Trial(1, case.baseline, "", clean),
        Trial(2, case.baseline, "smallest", clean, without=("--b", "--c")),
        Trial(3, case.baseline, "watched", clean, instruments=Configuration({"CUDA_LAUNCH_BLOCKING": "1"})),
        Trial(4, case.baseline, "under way"),
    )
    notes, said = read_back(case, Verdict(VerdictStatus.NARROWED, 0.5, trials=trials))
    assert len(said) == 1
    assert ["says nothing of factors" in u.why or u.why == "unfinished" for u in notes.unused] == [True] * 3


def test_a_row_that_a_person_changed_is_left_out_with_its_line() -> None:
    case = case_of(factor("a", "0", "1"))
    clean = Outcome(OutcomeKind.CLEAN, Stage.DECODE, "")
    text = findings(case, Verdict(VerdictStatus.NARROWED, 0.5, trials=(Trial(1, case.baseline, "", clean),)))
    for edited, why in (
        ("| 1 | baseline | splendid |", "'splendid' is no outcome"),
        ("| 1 | what | clean |", "setting"),
    ):
        notes = read_notes(text.replace("| 1 | baseline | clean |", edited).encode())
        assert notes.trials == ()
        assert why in notes.unused[0].why
        assert text.splitlines()[notes.unused[0].line - 1].startswith("| 1 |")
