"""What must not matter, with all that a case can hold: versions, proxies, masks, and flags that were overridden.

And the approximation beside the exact enumeration: the beam alone finds what going through everything finds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.deployment import CLEAN, REPRODUCED, UNRESOLVED, case_of, factor, made, masked_by

from ruleout.model import Case, Configuration, Outcome, Trial
from ruleout.reasoning import assess, hypotheses
from ruleout.reasoning.beliefs import Beliefs
from ruleout.reasoning.hypotheses import Found
from ruleout.reasoning.literals import Literals
from ruleout.reasoning.space import BoolArray, IntArray, Space

VERSIONS = replace(factor("versions", *(f"v{i}" for i in range(6))), ordered=True, baseline="v4")
CASE = case_of(
    factor("attn", "0", "1", "2"),
    factor("graphs", "0", "1"),
    factor("kv", "0", "1"),
    VERSIONS,
    factor("layers", "0", "1", proxy=True),
)
Named = Mapping[frozenset[frozenset[str]], float]


@st.composite
def evidence(draw: st.DrawFn) -> list[Trial]:
    """Trials of every kind, the first of which is the failing baseline."""
    trials = [made(1, CASE.baseline, REPRODUCED)]
    outcomes: list[Outcome] = [REPRODUCED, CLEAN, CLEAN, masked_by("m"), masked_by("n"), UNRESOLVED]
    for number in range(2, draw(st.integers(2, 9))):
        levels = {f.name: draw(st.sampled_from(f.levels)) for f in CASE.factors}
        outcome = draw(st.sampled_from(outcomes))
        if draw(st.integers(0, 3)) == 0:
            outcome = replace(outcome, effective={"attn": draw(st.sampled_from(("0", "1", "fallback")))})
        trials.append(made(number, Configuration(levels), outcome))
    return trials


def by_name(beliefs: Beliefs) -> Named:
    """The probability of each group by the names of its factors; another shape is a cause without any."""
    return {
        frozenset(frozenset(beliefs.space.names[f] for f in cause) for cause in group): float(p)
        for group, p in zip(beliefs.groups, beliefs.of_group, strict=True)
    }


def same(one: Named, other: Named, within: float) -> None:
    """Whether both say the same of every group."""
    for group in one.keys() | other.keys():
        assert one.get(group, 0.0) == pytest.approx(other.get(group, 0.0), abs=within), group


@settings(max_examples=20, deadline=None)
@given(evidence())
def test_probabilities_add_up_to_1_and_a_proxy_has_none(trials: list[Trial]) -> None:
    beliefs = assess(CASE, trials).beliefs
    assert beliefs.of_group.sum() == pytest.approx(1)
    assert ((beliefs.rate >= 0) & (beliefs.rate <= 1) & (beliefs.always >= 0) & (beliefs.always <= 1)).all()
    for f, name in enumerate(beliefs.space.names):
        assert 0 <= beliefs.marginal(f) <= 1 + 1e-9
        if name == "layers":
            assert beliefs.marginal(f) == 0


@settings(max_examples=15, deadline=None)
@given(evidence(), st.data())
def test_the_order_of_the_trials_changes_no_probability(trials: list[Trial], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(trials))
    same(by_name(assess(CASE, trials).beliefs), by_name(assess(CASE, shuffled).beliefs), within=1e-6)


@settings(max_examples=15, deadline=None)
@given(evidence())
def test_names_change_nothing_and_nor_does_the_order_of_what_has_none(trials: list[Trial]) -> None:
    """Levels in an order keep it: that is what they are."""
    names = {"attn": "z", "graphs": "y", "kv": "x", "versions": "a", "layers": "w"}

    def renamed(levels: Mapping[str, str]) -> Configuration:
        return Configuration({names[f]: f"level {level}" for f, level in levels.items()})

    factors = [
        replace(
            f,
            name=names[f.name],
            levels=tuple(f"level {level}" for level in (f.levels if f.ordered else reversed(f.levels))),
            baseline=f"level {f.baseline}",
        )
        for f in reversed(CASE.factors)
    ]
    told = []
    for trial in trials:
        assert trial.outcome is not None
        outcome = replace(trial.outcome, effective=dict(renamed(trial.outcome.effective)))
        told.append(replace(trial, configuration=renamed(trial.configuration), outcome=outcome))
    before = {
        frozenset(frozenset(names[f] for f in cause) for cause in group): p
        for group, p in by_name(assess(CASE, trials).beliefs).items()
    }
    same(before, by_name(assess(case_of(*factors), told).beliefs), within=1e-6)


@settings(max_examples=10, deadline=None)
@given(evidence(), st.integers(0, 3))
def test_the_plan_is_a_function_of_the_trials_and_the_seed(trials: list[Trial], seed: int) -> None:
    assert assess(CASE, trials, seed).step == assess(CASE, trials, seed).step


@settings(max_examples=20, deadline=None)
@given(evidence())
def test_what_is_asked_for_can_be_asked_for_and_was_not_overridden(trials: list[Trial]) -> None:
    step = assess(CASE, trials).step
    if step is None or step.purpose.startswith("again: the last attempt"):
        return
    assert all(level in CASE.factor(name).levels for name, level in step.configuration.items())
    for trial in trials:
        effective = trial.outcome.effective if trial.outcome is not None else {}
        if trial.configuration.moved(effective) != trial.configuration:
            assert step.configuration != trial.configuration


# -- the beam beside the exact enumeration -------------------------------------------------------------------------


def _singles(space: Space, table: Literals, found: Found) -> None:
    order = np.flatnonzero(table.covers | hypotheses._exact(table))
    prior = table.weight[order] + hypotheses._size_prior((1,), len(space.suspects))
    found.weigh(table.active[order], prior, hypotheses._Selection(order[:, None]))


def _nothing(space: Space, table: Literals, found: Found) -> None:
    """No pairs."""


def _more_than_one(members: IntArray) -> BoolArray:
    return np.asarray((members >= 0).sum(axis=(1, 2)) > 1, dtype=np.bool_)


def by_the_beam(case: Case, trials: Sequence[Trial]) -> Beliefs:
    """What is believed when nothing but single literals is gone through, and all else is grown from them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hypotheses, "_alone", _singles)
        patch.setattr(hypotheses, "_pairs", _nothing)
        patch.setattr(hypotheses, "_not_enumerated", _more_than_one)
        return assess(case, trials).beliefs


@settings(max_examples=15, deadline=None)
@given(evidence())
def test_the_beam_alone_believes_what_the_exact_enumeration_does(trials: list[Trial]) -> None:
    exact, grown = by_name(assess(CASE, trials).beliefs), by_name(by_the_beam(CASE, trials))
    same(exact, grown, within=0.05)
    likeliest = max(exact, key=lambda group: exact[group])
    assert grown[likeliest] >= max(grown.values()) - 0.05
