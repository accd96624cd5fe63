"""The posterior is the one that the priors and the likelihood give, whatever things are called and in which order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb, factorial, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.deployment import CLEAN, REPRODUCED, UNRESOLVED, case_of, factor, made, masked_by

from ruleout.model import Case, Configuration, Outcome, Trial
from ruleout.reasoning import assess
from ruleout.reasoning.beliefs import ELSEWHERE, OTHER_SHAPE, Beliefs, weigh
from ruleout.reasoning.hypotheses import ALONE, IN_COMPANY, PRIOR_CAUSES, PRIOR_OTHER_SHAPE, SAME_LEVELS
from ruleout.reasoning.leanings import PRIOR_ELSEWHERE
from ruleout.reasoning.likelihood import ALWAYS, SPURIOUS
from ruleout.reasoning.literals import RATES
from ruleout.reasoning.space import Observations, Space

Group = frozenset[frozenset[str]]
ELSE: Group = frozenset()
OTHER: Group = frozenset({frozenset({"another shape"})})


def believed(case: Case, trials: Sequence[Trial]) -> Beliefs:
    space = Space.of(case)
    return weigh(space, Observations.of(space, trials))


def by_name(beliefs: Beliefs) -> dict[Group, float]:
    """The probability of each group, by the names of its factors."""
    found: dict[Group, float] = {}
    for group, probability in zip(beliefs.groups, beliefs.of_group, strict=True):
        named = frozenset(frozenset(beliefs.space.names[f] for f in cause) for cause in group)
        found[ELSE if group == ELSEWHERE else OTHER if group == OTHER_SHAPE else named] = float(probability)
    return found


# -- the same by brute force ---------------------------------------------------------------------------------------

Conjunction = dict[str, frozenset[str]]


def literals(case: Case, name: str) -> Iterator[tuple[frozenset[str], float]]:
    """All sets of levels of a factor that may carry, with their prior: the baseline's among them, never all."""
    others = case.factor(name).others
    norm = sum(w * (1 - q ** len(others)) for w, q in RATES)
    for size in range(len(others)):
        for more in combinations(others, size):
            prior = sum(w * q**size * (1 - q) ** (len(others) - size) for w, q in RATES) / norm
            yield frozenset({case.factor(name).baseline, *more}), prior


def conjunctions(case: Case, size: int) -> Iterator[tuple[Conjunction, float]]:
    """All conjunctions of so many factors; their priors sum to 1."""
    names = [f.name for f in case.factors if not f.proxy]
    for chosen in combinations(names, size):
        partial: list[tuple[Conjunction, float]] = [({}, 1 / comb(len(names), size))]
        for name in chosen:
            partial = [({**c, name: levels}, p * q) for c, p in partial for levels, q in literals(case, name)]
        yield from partial


def likelihood(active: Sequence[bool], failed: Sequence[bool]) -> float:
    """Of these outcomes, the manifest rate integrated out: mostly 1, else any."""
    shown = sum(a and f for a, f in zip(active, failed, strict=True))
    hidden = sum(a and not f for a, f in zip(active, failed, strict=True))
    rate = (1 - ALWAYS) * factorial(shown) * factorial(hidden) / factorial(shown + hidden + 1)
    chance = rate + (ALWAYS if hidden == 0 else 0.0)
    for a, f in zip(active, failed, strict=True):
        if not a:
            chance *= SPURIOUS if f else 1 - SPURIOUS
    return chance


def brute_force(case: Case, trials: Sequence[Trial], spurious: bool) -> dict[Group, float]:
    """The posterior of each group by going through every hypothesis.

    Args:
        spurious: hypotheses that need a failure to be a coincidence count too, as they do in full rigour.
    """
    proxies = [f for f in case.factors if f.proxy]

    def settings_of(trial: Trial) -> tuple[str, ...]:
        return tuple(trial.configuration[f.name] for f in proxies)

    # Clean under proxies that never kept the failure says nothing: the proxies may be why.
    kept = {settings_of(t) for t in trials if t.outcome == REPRODUCED} | {tuple(f.baseline for f in proxies)}
    informative = [
        t
        for t in trials
        if t.outcome is not None and t.outcome.informative and (t.outcome == REPRODUCED or settings_of(t) in kept)
    ]
    failed = [t.outcome == REPRODUCED for t in informative]
    weight: dict[Group, float] = defaultdict(float)

    def hypothesis(causes: Sequence[Conjunction], prior: float) -> None:
        active = [
            any(all(t.configuration[f] in levels for f, levels in c.items()) for c in causes) for t in informative
        ]
        if spurious or all(a for a, f in zip(active, failed, strict=True) if f):
            weight[frozenset(frozenset(c) for c in causes)] += prior * likelihood(active, failed)

    def together(causes: Sequence[Conjunction]) -> float:
        """What a factor that two causes share does to their prior; 0: no such hypothesis is weighed."""
        names = [f for c in causes for f in c]
        if len(set(names)) == len(names):
            return 1.0
        if len(names) - len(set(names)) > 1 or len(causes) > 2 or max(map(len, causes)) > 2:
            return 0.0
        (f,) = {f for f in names if names.count(f) == 2}
        one, other = sorted((c for c in causes if f in c), key=len)
        seen = {t.configuration[f] for t in informative}
        if len(other) == 1 or (len(one) == 1 and not one[f] & seen < other[f] & seen):
            return 0.0
        alike = SAME_LEVELS / dict(literals(case, f))[one[f]] if one[f] == other[f] else 0.0
        return alike + 1 - SAME_LEVELS

    everything = [(c, p, size) for size in (1, 2, 3) for c, p in conjunctions(case, size)]
    for number in (1, 2, 3):
        share = ALONE if number == 1 else IN_COMPANY
        for chosen in combinations(everything, number):
            causes = [c for c, _, _ in chosen]
            prior = PRIOR_CAUSES[number - 1] * factorial(number) * prod(p * share[size - 1] for _, p, size in chosen)
            if more := together(causes):
                hypothesis(causes, prior * more)
    weight[ELSE] = PRIOR_ELSEWHERE * likelihood([True] * len(failed), failed)
    odd = PRIOR_OTHER_SHAPE * min(1.0, (sum(not f.proxy for f in case.factors) / 8) ** 2)
    for configuration in {t.configuration for t in informative}:
        here = [f for t, f in zip(informative, failed, strict=True) if t.configuration == configuration]
        some = factorial(sum(here)) * factorial(len(here) - sum(here)) / factorial(len(here) + 1)
        odd *= (1 - ALWAYS) * some + ALWAYS / 2 * (all(here) + (not any(here)))
    weight[OTHER] = odd
    total = sum(weight.values())
    return {group: w / total for group, w in weight.items()}


SPACES = [
    case_of(factor("a", "0", "1"), factor("b", "0", "1", "2")),
    case_of(factor("a", "0", "1", "2"), factor("b", "0", "1"), factor("c", "0", "1", "2")),
    case_of(factor("a", "0", "1", "2"), factor("b", "0", "1"), factor("p", "0", "1", proxy=True)),
]


@st.composite
def evidence(draw: st.DrawFn, cases: Sequence[Case] = SPACES) -> tuple[Case, list[Trial]]:
    """A small case and some trials of it, the first of which is the failing baseline."""
    case = draw(st.sampled_from(cases))
    trials = [made(1, case.baseline, REPRODUCED)]
    outcomes: list[Outcome] = [REPRODUCED, CLEAN, CLEAN, masked_by("m"), UNRESOLVED]
    for number in range(2, draw(st.integers(2, 7))):
        levels = {f.name: draw(st.sampled_from(f.levels)) for f in case.factors}
        trials.append(made(number, Configuration(levels), draw(st.sampled_from(outcomes))))
    return case, trials


@settings(max_examples=60, deadline=None)
@given(evidence())
def test_the_posterior_is_the_one_that_every_hypothesis_by_itself_gives(given_: tuple[Case, list[Trial]]) -> None:
    case, trials = given_
    found, expected = by_name(believed(case, trials)), brute_force(case, trials, spurious=True)
    for group in found.keys() | expected.keys():
        assert found.get(group, 0.0) == pytest.approx(expected.get(group, 0.0), abs=1e-5), group


@settings(max_examples=30, deadline=None)
@given(evidence())
def test_leaving_out_coincidences_is_the_same_as_if_there_were_none(given_: tuple[Case, list[Trial]]) -> None:
    case, trials = given_
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ruleout.reasoning.hypotheses.EXACT", 0)  # as in a space with many levels
        found, expected = by_name(believed(case, trials)), brute_force(case, trials, spurious=False)
    for group in found.keys() | expected.keys():
        assert found.get(group, 0.0) == pytest.approx(expected.get(group, 0.0), abs=1e-5), group


# -- what must not matter ------------------------------------------------------------------------------------------

WIDE = case_of(factor("a", "0", "1", "2"), factor("b", "0", "1"), factor("c", "0", "1", "2"), factor("d", "0", "1"))


@settings(max_examples=25, deadline=None)
@given(evidence([WIDE]), st.permutations(["a", "b", "c", "d"]))
def test_names_and_the_order_of_factors_and_levels_change_nothing_but_names(
    given_: tuple[Case, list[Trial]], names: list[str]
) -> None:
    case, trials = given_
    new = dict(zip("abcd", (f"x{name}" for name in names), strict=True))
    factors = [
        replace(
            f,
            name=new[f.name],
            levels=tuple(f"level {level}" for level in reversed(f.levels)),
            baseline=f"level {f.baseline}",
        )
        for f in reversed(case.factors)
    ]
    renamed = [
        replace(t, configuration=Configuration({new[f]: f"level {level}" for f, level in t.configuration.items()}))
        for t in trials
    ]
    before, after = by_name(believed(case, trials)), by_name(believed(case_of(*factors), renamed))
    there = {
        group if group == OTHER else frozenset(frozenset(new[f] for f in cause) for cause in group): p
        for group, p in before.items()
    }
    assert there.keys() == after.keys()
    for group, probability in there.items():
        assert after[group] == pytest.approx(probability, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(evidence([WIDE]), st.data())
def test_the_order_of_the_trials_does_not_change_the_posterior(
    given_: tuple[Case, list[Trial]], data: st.DataObject
) -> None:
    case, trials = given_
    shuffled = data.draw(st.permutations(trials))
    before, after = by_name(believed(case, trials)), by_name(believed(case, shuffled))
    for group in before.keys() | after.keys():
        assert before.get(group, 0.0) == pytest.approx(after.get(group, 0.0), abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(evidence([WIDE]), st.sampled_from(["masked", "unresolved", "open"]))
def test_a_trial_that_says_nothing_changes_no_probability(given_: tuple[Case, list[Trial]], kind: str) -> None:
    case, trials = given_
    outcome = {"masked": masked_by("m"), "unresolved": UNRESOLVED, "open": None}[kind]
    moved = case.baseline.moved({"a": "2", "d": "1"})
    before = believed(case, trials)
    after = believed(case, [*trials, replace(made(99, moved, CLEAN), outcome=outcome)])
    assert by_name(after) == by_name(before)


@settings(max_examples=25, deadline=None)
@given(evidence([WIDE]))
def test_probabilities_add_up_to_1_and_each_group_s_to_its_own(given_: tuple[Case, list[Trial]]) -> None:
    beliefs = believed(*given_)
    assert beliefs.probability.sum() == pytest.approx(1)
    for number in range(len(beliefs.groups)):
        assert beliefs.of_group[number] == pytest.approx(beliefs.probability[beliefs.group == number].sum())
    for suspect in beliefs.space.suspects:
        assert 0 <= beliefs.marginal(suspect) <= 1


@settings(max_examples=10, deadline=None)
@given(evidence([WIDE]), st.integers(0, 5))
def test_the_plan_is_a_function_of_the_trials_and_the_seed(given_: tuple[Case, list[Trial]], seed: int) -> None:
    case, trials = given_
    assert assess(case, trials, seed).step == assess(case, trials, seed).step


@settings(max_examples=10, deadline=None)
@given(evidence([WIDE]))
def test_a_step_is_a_configuration_of_the_case_with_a_price_and_a_purpose(given_: tuple[Case, list[Trial]]) -> None:
    case, trials = given_
    step = assess(case, trials).step
    if step is not None:
        assert step.configuration.keys() == case.baseline.keys()
        assert all(level in case.factor(name).levels for name, level in step.configuration.items())
        assert step.minutes > 0
        assert step.purpose


# -- what evidence does --------------------------------------------------------------------------------------------

TWO = case_of(factor("a", "0", "1"), factor("b", "0", "1"))


def test_a_level_of_two_that_fails_the_same_rules_its_factor_out_as_a_single_cause() -> None:
    found = by_name(
        believed(TWO, [made(1, TWO.baseline, REPRODUCED), made(2, TWO.baseline.moved({"a": "1"}), REPRODUCED)])
    )
    assert found.get(frozenset({frozenset({"a"})}), 0.0) < 0.01
    assert found[frozenset({frozenset({"b"})})] > 0.3


def test_a_level_of_three_that_fails_the_same_does_not_rule_its_factor_out() -> None:
    case = case_of(factor("a", "0", "1", "2"), factor("b", "0", "1"))
    trials = [made(1, case.baseline, REPRODUCED), made(2, case.baseline.moved({"a": "1"}), REPRODUCED)]
    found = by_name(believed(case, trials))
    assert found[frozenset({frozenset({"a"})})] > 0.05


def test_a_single_change_that_is_clean_makes_its_factor_take_part() -> None:
    trials = [made(1, TWO.baseline, REPRODUCED), made(2, TWO.baseline.moved({"a": "1"}), CLEAN)]
    beliefs = believed(TWO, trials)
    assert beliefs.marginal(beliefs.space.names.index("a")) > 0.9


def test_everything_moved_and_still_failing_points_elsewhere() -> None:
    trials = [made(1, TWO.baseline, REPRODUCED), made(2, Configuration(a="1", b="1"), REPRODUCED)]
    assert max(by_name(believed(TWO, trials)).items(), key=lambda item: item[1])[0] == ELSE


def test_a_configuration_that_fails_and_does_not_is_a_rate_below_1() -> None:
    trials = [made(n, TWO.baseline, outcome) for n, outcome in enumerate([REPRODUCED, CLEAN, REPRODUCED, CLEAN], 1)]
    beliefs = believed(TWO, trials)
    assert 0.3 < beliefs.manifest_rate(beliefs.leading) < 0.7
    assert beliefs.shows_always(beliefs.leading) == pytest.approx(0)


# -- trials that were not resolved ---------------------------------------------------------------------------------


def test_a_trial_that_was_not_resolved_is_made_again_once() -> None:
    moved = WIDE.baseline.moved({"a": "1", "c": "2"})
    once = [made(1, WIDE.baseline, REPRODUCED), made(2, moved, UNRESOLVED)]
    step = assess(WIDE, once).step
    assert step is not None
    assert step.configuration == moved
    assert step.purpose.startswith("again")
    again = assess(WIDE, [*once, made(3, moved, UNRESOLVED)]).step
    assert again is not None
    assert again.configuration != moved


def test_minutes_that_were_measured_replace_the_estimate_unless_the_case_says_not_to() -> None:
    case = replace(WIDE, cost=replace(WIDE.cost, trial=30.0))
    trials = [made(1, WIDE.baseline, REPRODUCED, minutes=3.0)]
    measured, estimated = (
        assess(case, trials).step,
        assess(replace(case, cost=replace(case.cost, measured=False)), trials).step,
    )
    assert measured is not None
    assert estimated is not None
    assert measured.minutes <= 3.0
    assert 15.0 <= estimated.minutes <= 30.0


# -- levels that fail otherwise -------------------------------------------------------------------------------------

MASKED = case_of(*(factor(f, *(f"{f}{i}" for i in range(n))) for f, n in (("a", 2), ("b", 2), ("c", 3), ("d", 3))))


def takes_part(name: str, trials: Sequence[Trial]) -> float:
    """The probability that a factor takes part, as the planner has it: masks weighed in."""
    beliefs = assess(MASKED, trials).beliefs
    return beliefs.marginal(beliefs.space.names.index(name))


def test_the_more_a_level_seems_impossible_the_less_it_is_a_way_out() -> None:
    moved = [MASKED.baseline.moved(change) for change in ({"b": "b1"}, {"b": "b1", "c": "c1"}, {"b": "b1", "d": "d1"})]
    trials = [made(1, MASKED.baseline, REPRODUCED), made(2, MASKED.baseline.moved({"a": "a1"}), CLEAN)]
    chances = [takes_part("b", trials)]
    for row in reversed(moved):
        trials.append(made(len(trials) + 1, row, masked_by("mask")))
        chances.append(takes_part("b", trials))
    assert chances == sorted(chances, reverse=True)
    assert chances[-1] < chances[0] / 5


def test_a_mask_that_others_may_be_blamed_for_takes_little_from_a_factor() -> None:
    trials = [made(1, MASKED.baseline, REPRODUCED), made(2, MASKED.baseline.moved({"a": "a1"}), CLEAN)]
    before = takes_part("c", trials)
    company = MASKED.baseline.moved({"b": "b1", "c": "c1", "d": "d1"})
    after = takes_part("c", [*trials, made(3, company, masked_by("mask"))])
    assert before * 0.8 < after < before * 1.2


def test_a_level_that_failed_otherwise_very_often_leaves_probabilities_that_add_up() -> None:
    moved = [{"b": "b1", "c": c, "d": d, "a": a} for c in ("c1", "c2") for d in ("d1", "d2") for a in ("a0", "a1")]
    trials = [made(1, MASKED.baseline, REPRODUCED)]
    for _ in range(3):
        for change in moved:
            trials.append(made(len(trials) + 1, MASKED.baseline.moved(change), masked_by("mask")))
    assert assess(MASKED, trials).beliefs.of_group.sum() == pytest.approx(1)
