"""Deployments of shapes that a search for one or two separate causes does not expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.support.deployment import (
    CLEAN,
    REPRODUCED,
    FakeDeployment,
    Investigated,
    Planted,
    case_of,
    factor,
    investigated,
)

from ruleout.model import Outcome, OutcomeKind, VerdictStatus

CASE = case_of(
    factor("attn", "a0", "a1", "a2", "a3"),
    factor("cache", "c0", "c1"),
    factor("dtype", "d0", "d1", "d2"),
    factor("gemm", "g0", "g1"),
    factor("graphs", "s0", "s1"),
    factor("kv", "k0", "k1", "k2"),
    factor("moe", "m0", "m1"),
)


def said(run: Investigated) -> list[dict[str, tuple[str, ...]]]:
    """The causes of a verdict: of each its factors with the levels that carry."""
    return [{carrier.factor: carrier.levels for carrier in cause} for cause in run.verdict.causes]


# -- two causes that share a factor --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("one", "other"), [({"a0"}, {"a0"}), ({"a0", "a1"}, {"a0"})], ids=["with the same levels", "with more levels"]
)
def test_two_causes_that_share_a_factor_are_isolated(one: set[str], other: set[str], seed: int) -> None:
    causes: list[Planted] = [
        {"attn": frozenset(one), "gemm": frozenset({"g0"})},
        {"attn": frozenset(other), "moe": frozenset({"m0"})},
    ]
    run = investigated(FakeDeployment(CASE, causes), seed)
    assert run.verdict.status is VerdictStatus.ISOLATED, run.verdict.why
    found = said(run)
    assert sorted(map(sorted, found)) == [["attn", "gemm"], ["attn", "moe"]]
    for cause in found:
        real = one if "gemm" in cause else other
        assert "a0" in cause["attn"]
        assert set(cause["attn"]) <= real
    assert len(run.trials) <= 36
    base = CASE.baseline
    assert run.verdict.workarounds
    assert all(run.deployment.works(base.moved(way.set)) for way in run.verdict.workarounds)


def test_a_shared_factor_counts_once_in_the_chance_that_it_takes_part() -> None:
    causes: list[Planted] = [
        {"attn": frozenset({"a0"}), "gemm": frozenset({"g0"})},
        {"attn": frozenset({"a0"}), "moe": frozenset({"m0"})},
    ]
    run = investigated(FakeDeployment(CASE, causes))
    for assessment in run.assessments:
        beliefs = assessment.beliefs
        assert all(beliefs.marginal(f) <= 1 + 1e-9 for f in range(len(beliefs.space)))


def test_a_cause_that_cannot_be_shown_alone_is_not_tried_for_ever() -> None:
    """One level fails by itself, another one only in company: the company cannot be shown without the former."""
    causes: list[Planted] = [
        {"attn": frozenset({"a0"})},
        {"attn": frozenset({"a0", "a1"}), "gemm": frozenset({"g0"})},
    ]
    run = investigated(FakeDeployment(CASE, causes))
    assert len(run.trials) <= 30
    assert max(run.tried.count(configuration) for configuration in run.tried) <= 4


# -- a factor whose other levels cannot be run ---------------------------------------------------------------------


@pytest.mark.parametrize("beside", [False, True])
def test_a_factor_that_cannot_be_moved_is_never_cleared(beside: bool) -> None:
    """It counts like the machine: the cause is in none of the factors that were varied."""
    causes: list[Planted] = [{"gemm": frozenset({"g0"})}, *([{"cache": frozenset({"c0"})}] if beside else [])]
    run = investigated(FakeDeployment(CASE, causes, [{"gemm": "g1"}]))
    verdict = run.verdict
    assert verdict.status is VerdictStatus.ELSEWHERE
    assert "gemm" in verdict.never_varied
    assert "gemm" in {left.factor for left in verdict.not_ruled_out}
    assert "gemm" not in {out.factor for out in verdict.ruled_out}
    assert len(run.trials) <= 25


# -- levels that the engine replaces -------------------------------------------------------------------------------


class Overriding(FakeDeployment):
    """Takes another level of a factor only where a second one is moved as well."""

    def run(self, configuration: Mapping[str, str]) -> tuple[Outcome, float]:
        """The outcome of what was in effect, which the log tells of."""
        overridden = configuration["attn"] != "a0" and configuration["graphs"] == "s0"
        effective = {"attn": "a0"} if overridden else {}
        outcome, minutes = super().run({**configuration, **effective})
        return replace(outcome, effective=effective), minutes


def test_what_the_engine_overrides_is_asked_for_where_it_may_take_it() -> None:
    run = investigated(Overriding(CASE, [{"attn": frozenset({"a0"})}]))
    overridden = [trial for trial in run.trials if trial.outcome is not None and trial.outcome.effective]
    assert len(overridden) <= 8
    assert len(run.trials) <= 30
    assert "attn" in {carrier.factor for cause in run.verdict.causes for carrier in cause}
    assert any(t.outcome is not None and t.outcome.kind is OutcomeKind.CLEAN for t in run.trials)


# -- what no set of causes explains --------------------------------------------------------------------------------


class Agreeing(FakeDeployment):
    """Fails as long as two settings agree."""

    def run(self, configuration: Mapping[str, str]) -> tuple[Outcome, float]:
        """Both at their baseline, or both moved."""
        agree = (configuration["gemm"] == "g0") is (configuration["moe"] == "m0")
        return (REPRODUCED if agree else CLEAN), 12.0


def test_what_no_set_of_causes_explains_rules_no_factor_out() -> None:
    run = investigated(Agreeing(CASE, []), before=[{"gemm": "g1", "moe": "m1"}, {"gemm": "g1"}, {"moe": "m1"}])
    assert run.verdict.status is VerdictStatus.NARROWED
    assert run.verdict.causes == ()
    assert run.verdict.ruled_out == ()


# -- few factors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("others", [0, 1])
def test_one_or_two_factors_are_enough(levels: int, others: int) -> None:
    case = case_of(factor("a", *(f"a{i}" for i in range(levels))), *[factor("b", "b0", "b1")] * others)
    cause: list[Planted] = [{"a": frozenset({"a0"})}]
    run = investigated(FakeDeployment(case, cause))
    for assessment in run.assessments:
        assert all(0 <= assessment.beliefs.marginal(f) <= 1 for f in range(len(assessment.beliefs.space)))
    isolated = run.verdict.status is VerdictStatus.ISOLATED
    assert isolated is (levels > 1), run.verdict.why
