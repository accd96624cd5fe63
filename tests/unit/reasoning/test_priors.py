"""What is known beforehand moves trials, not verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import log
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.deployment import REPRODUCED as FAILED
from tests.support.deployment import Investigated, case_of, factor, investigated, made, planted

from ruleout.model import Configuration, VerdictStatus
from ruleout.reasoning import assess
from ruleout.reasoning.leanings import MOST, PRIOR_ELSEWHERE, leaning_elsewhere, leanings
from ruleout.reasoning.space import Space

SEEDS = range(10)


@cache
def with_prior(seed: int, kind: str) -> Investigated:
    """A planted single cause, with a prior of 0.9 on its factor, on a bystander, or none."""
    deployment = planted((1,), seed, masks=1, factors=8)
    (right,) = deployment.causes[0]
    wrong = next(f.name for f in deployment.case.factors if f.name != right)
    priors: Mapping[str, float] = {"right": {right: 0.9}, "wrong": {wrong: 0.9}, "none": {}}[kind]
    return investigated(deployment, plan=lambda case, trials, s: assess(case, trials, s, priors))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_prior_of_90_percent_on_the_wrong_factor_changes_no_verdict(seed: int) -> None:
    wrong, none = with_prior(seed, "wrong").verdict, with_prior(seed, "none").verdict
    assert [[c.factor for c in cause] for cause in wrong.causes] == [[c.factor for c in cause] for cause in none.causes]
    if none.status is VerdictStatus.ISOLATED:
        assert wrong.status is VerdictStatus.ISOLATED


def test_a_wrong_prior_costs_a_few_trials_and_a_right_one_saves_some() -> None:
    mean = {k: fmean(len(with_prior(seed, k).trials) for seed in SEEDS) for k in ("right", "none", "wrong")}
    assert mean["right"] < mean["none"]
    assert mean["wrong"] <= mean["none"] + 3


@cache
def told_elsewhere(seed: int, told: float | None, *, truly: bool) -> Investigated:
    """A planted single cause, or one in no factor, where it is said with this probability to lie in no factor."""
    deployment = replace(planted((1,), seed, masks=1, factors=8), elsewhere=truly)
    return investigated(deployment, plan=lambda case, trials, s: assess(case, trials, s, elsewhere=told))


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_a_cause_said_to_be_elsewhere_with_99_percent_is_found_all_the_same(seed: int) -> None:
    wrong, none = told_elsewhere(seed, 0.99, truly=False).verdict, told_elsewhere(seed, None, truly=False).verdict
    assert [[c.factor for c in cause] for cause in wrong.causes] == [[c.factor for c in cause] for cause in none.causes]
    assert wrong.status is none.status


def test_said_to_be_elsewhere_it_takes_fewer_trials_if_so_and_few_more_if_not() -> None:
    def mean(told: float | None, *, truly: bool) -> float:
        return fmean(len(told_elsewhere(seed, told, truly=truly).trials) for seed in SEEDS[:4])

    assert mean(0.99, truly=True) < mean(None, truly=True)
    assert mean(0.99, truly=False) <= mean(None, truly=False) + 2


def test_what_speaks_little_for_elsewhere_speaks_not_against_it() -> None:
    assert leaning_elsewhere(0.0) == leaning_elsewhere(None) == pytest.approx(log(PRIOR_ELSEWHERE))
    assert log(PRIOR_ELSEWHERE) < leaning_elsewhere(0.5) < leaning_elsewhere(0.9) <= log(MOST * PRIOR_ELSEWHERE)


CASE = case_of(*(factor(name, "0", "1", "2") for name in "abcdefgh"))


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from("abcdefghxyz"), st.floats(0, 1)))
def test_no_prior_weighs_one_factor_against_another_by_more_than_its_bound(priors: dict[str, float]) -> None:
    weight = leanings(Space.of(CASE), priors)
    assert max(weight) - min(weight) <= 2 * 1.0000001 * log(MOST)


def test_a_factor_of_which_nothing_is_said_is_left_as_it_is() -> None:
    assert not leanings(Space.of(CASE), {}).any()
    assert not leanings(Space.of(CASE), {"unknown": 0.9}).any()


def test_the_likelier_a_factor_is_said_to_be_the_likelier_it_is_held_to_be() -> None:
    trials = [made(1, CASE.baseline, FAILED)]
    held = []
    for p in (0.01, 0.2, 0.9):
        beliefs = assess(CASE, trials, 0, {"c": p}).beliefs
        held.append(beliefs.marginal(beliefs.space.names.index("c")))
    assert held == sorted(held)
    assert held[0] < held[-1]


def test_a_prior_on_a_proxy_makes_it_no_cause() -> None:
    case = replace(CASE, factors=(*CASE.factors, factor("layers", "78", "4", proxy=True)))
    trials = [made(1, case.baseline, FAILED), made(2, Configuration({**case.baseline, "layers": "4"}), FAILED)]
    beliefs = assess(case, trials, 0, {"layers": 0.99}).beliefs
    assert beliefs.marginal(beliefs.space.names.index("layers")) == 0
