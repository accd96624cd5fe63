"""Levels with an order are searched by halving, and the change is seen twice before it is believed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.deployment import CLEAN, FakeDeployment, Investigated, case_of, factor, investigated, made

from ruleout.model import Outcome, OutcomeKind, VerdictStatus
from ruleout.reasoning import assess, conclude
from ruleout.reasoning.orders import CHANGES, SIDES, change_points
from ruleout.reasoning.space import FloatArray, IntArray


class Builds(FakeDeployment):
    """Versions of which some do not build, all in the same way."""

    def mask(self, configuration: Mapping[str, str]) -> str | None:
        """What every version says that does not build."""
        return None if super().mask(configuration) is None else "built"


def versions(n: int, first: int, masked: tuple[int, ...] = (), rate: float = 1.0, seed: int = 0) -> FakeDeployment:
    """Versions of which those from `first` on fail, the last being the baseline, beside two bystanders."""
    names = tuple(f"v{i:03d}" for i in range(n))
    version = replace(factor("version", *names), ordered=True, baseline=names[-1])
    case = case_of(version, factor("graphs", "on", "off"), factor("cache", "on", "off"))
    masks = [{"version": names[i]} for i in masked]
    return Builds(case, [{"version": frozenset(names[first:])}], masks, rate, seed=seed)


def first_bad(found: Investigated) -> str:
    """The first level that the verdict says fails."""
    (cause,) = found.verdict.causes
    (carrier,) = cause
    return min(carrier.levels)


def alone(n: int, first: int, masked: Sequence[int] = (), rate: float = 1.0, seed: int = 0) -> FakeDeployment:
    """The same versions without anything else to vary, as a bisection knows them."""
    deployment = versions(n, first, tuple(masked), rate, seed)
    return replace(deployment, case=case_of(deployment.case.factor("version")))


@pytest.mark.parametrize(("n", "most", "mean"), [(20, 12, 10), (128, 15, 13)])
def test_the_first_bad_version_is_found_by_halving(n: int, most: int, mean: int) -> None:
    """With the baseline, both sides of the change twice, and the baseline again: log2 of the versions and five more."""
    counts = []
    for first in random.Random(n).sample(range(1, n), 8):
        found = investigated(alone(n, first))
        assert found.verdict.status is VerdictStatus.ISOLATED, found.verdict.why
        assert first_bad(found) == f"v{first:03d}"
        counts.append(len(found.trials))
    assert max(counts) <= most
    assert sum(counts) / len(counts) <= mean


@pytest.mark.parametrize("base", [0, 5, 19])
def test_a_fault_that_came_and_went_is_found_on_both_sides_of_the_baseline(base: int) -> None:
    names = tuple(f"v{i:02d}" for i in range(20))
    version = replace(factor("version", *names), ordered=True, baseline=names[base])
    carrying = frozenset(names[max(0, base - 3) : base + 4]) if base < 19 else frozenset(names[16:])
    found = investigated(FakeDeployment(case_of(version), [{"version": carrying}]))
    assert found.verdict.status is VerdictStatus.ISOLATED, found.verdict.why
    ((carrier,),) = found.verdict.causes
    assert {min(carrying), max(carrying)} <= set(carrier.levels) <= carrying


def test_where_it_fails_in_half_of_the_runs_no_more_trials_are_needed_than_git_bayesect_takes() -> None:
    """git-bayesect 1.2 takes 38 trials on the average of 20 such histories, and is right about 19."""
    counts = []
    for seed in range(6):
        first = random.Random(seed).randrange(1, 20)
        found = investigated(alone(20, first, rate=0.5, seed=seed), budget=120)
        assert first_bad(found) == f"v{first:03d}"
        counts.append(len(found.trials))
    assert sum(counts) / len(counts) <= 38


def test_the_first_bad_version_and_its_neighbour_are_run_twice() -> None:
    found = investigated(versions(20, 11))
    runs = [t.configuration["version"] for t in found.trials]
    assert runs.count("v011") >= 2
    assert runs.count("v010") >= 2


def test_versions_that_cannot_be_run_are_skipped_and_no_change_is_claimed_inside_them() -> None:
    found = investigated(versions(20, 11, masked=(9, 10)))
    assert first_bad(found) == "v011"
    clean = [t.configuration["version"] for t in found.trials if t.outcome and t.outcome.kind is OutcomeKind.CLEAN]
    assert max(clean) == "v008"


def test_where_versions_that_cannot_be_run_hide_the_change_it_lies_between_the_nearest_that_can() -> None:
    found = investigated(alone(20, 10, masked=(8, 9, 10, 11)))
    assert found.verdict.status is VerdictStatus.ISOLATED, found.verdict.why
    assert first_bad(found) == "v012"
    clean = [t.configuration["version"] for t in found.trials if t.outcome and t.outcome.kind is OutcomeKind.CLEAN]
    assert max(clean) == "v007"


def test_a_long_stretch_of_versions_that_cannot_be_run_is_not_gone_through_one_by_one() -> None:
    found = investigated(alone(128, 60, masked=range(50, 80)))
    masked = [t for t in found.trials if t.outcome and t.outcome.kind is OutcomeKind.OTHER]
    assert len(masked) <= 12
    assert first_bad(found) == "v080"
    assert any(t.configuration["version"] == "v049" and t.outcome == CLEAN for t in found.trials)


def test_what_has_no_version_among_its_causes_does_not_run_every_version() -> None:
    deployment = replace(versions(40, 20), causes=(), elsewhere=True)
    found = investigated(deployment)
    assert found.verdict.status is VerdictStatus.ELSEWHERE, found.verdict.why
    assert len({t.configuration["version"] for t in found.trials}) <= 6


@pytest.mark.parametrize("elsewhere", [False, True])
def test_versions_at_the_end_that_cannot_be_run_are_left_alone_where_another_factor_is_the_cause(
    elsewhere: bool,
) -> None:
    causes = [] if elsewhere else [{"graphs": frozenset({"on"})}]
    deployment = replace(versions(40, 20, masked=tuple(range(12))), causes=causes, elsewhere=elsewhere)
    found = investigated(deployment)
    assert found.verdict.status is (VerdictStatus.ELSEWHERE if elsewhere else VerdictStatus.ISOLATED)
    assert sum(t.outcome is not None and t.outcome.masked for t in found.trials) <= 8
    assert len(found.trials) <= 22


def test_a_regression_that_was_seen_to_return_is_not_claimed_as_one_change() -> None:
    """Good, bad, good, bad: with both bad stretches seen, the one between them is no part of the claim."""
    names = tuple(f"v{i:02d}" for i in range(24))
    version = replace(factor("version", *names), ordered=True, baseline=names[-1])
    carrying = frozenset({*names[4:9], *names[15:]})
    deployment = FakeDeployment(case_of(version), [{"version": carrying}])
    known = [names[-1], names[6], names[12], names[0]]  # as somebody tried them by hand
    trials = [
        made(i, deployment.case.baseline.moved({"version": v}), *_ran(deployment, v)) for i, v in enumerate(known, 1)
    ]
    while (step := assess(deployment.case, trials).step) is not None:
        outcome, minutes = deployment.run(step.configuration)
        trials.append(made(len(trials) + 1, step.configuration, outcome, step.purpose, minutes))
        assert len(trials) < 40
    verdict = conclude(deployment.case, trials, assess(deployment.case, trials), None)
    assert verdict.status is VerdictStatus.ISOLATED, verdict.why
    ((carrier,),) = verdict.causes
    assert {"v04", "v08", "v15", "v23"} <= set(carrier.levels) <= carrying


def _ran(deployment: FakeDeployment, version: str) -> tuple[Outcome, str, float]:
    outcome, minutes = deployment.run(deployment.case.baseline.moved({"version": version}))
    return outcome, "by hand", minutes


def test_a_regression_that_returned_is_no_contradiction() -> None:
    names = tuple(f"v{i:02d}" for i in range(12))
    version = replace(factor("version", *names), ordered=True, baseline=names[-1])
    carrying = frozenset({*names[9:], *names[2:5]})
    found = investigated(FakeDeployment(case_of(version, factor("graphs", "on", "off")), [{"version": carrying}]))
    assert [[c.factor for c in cause] for cause in found.verdict.causes] == [["version"]]
    assert all(set(c.levels) <= carrying for cause in found.verdict.causes for c in cause)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.data())
def test_sets_of_carrying_levels_have_a_prior_that_adds_up_and_keep_their_promise(n: int, data: st.DataObject) -> None:
    base = data.draw(st.integers(0, n - 1))
    place = np.array([base, *(p for p in range(n) if p != base)])
    tried = np.array(data.draw(st.lists(st.integers(1, n - 1), unique=True, max_size=5)), dtype=np.int64)
    runs = np.bincount(tried, minlength=n)
    sets = list(change_points(place, np.zeros(n, dtype=np.int64), runs))
    assert sum(p for p, _ in sets) == pytest.approx(1)
    mean = sum(p * carry for p, carry in sets)
    assert mean == pytest.approx(sum(p * carry for p, carry in _one_by_one(place)))  # whatever was tried
    for p, carry in sets:
        assert p > 0
        assert carry[0] == 1
        assert set(carry[tried].tolist()) <= {0.0, 1.0}
        assert ((carry >= 0) & (carry <= 1)).all()
        assert (carry < 1).any()  # that all carry is no cause


def _one_by_one(place: IntArray) -> list[tuple[float, FloatArray]]:
    """The same prior, every set of places of the changes by itself."""
    n, base = len(place), int(place[0])
    sides = {side: length for side, length in (("came", base), ("went", n - 1 - base)) if length}
    weight = dict(zip(("came", "went", "both"), SIDES, strict=True))
    kinds = [(side,) for side in sides] + ([("came", "went")] if len(sides) == 2 else [])
    total = sum(weight["both" if len(kind) == 2 else kind[0]] for kind in kinds)
    found = []
    for kind in kinds:
        share = weight["both" if len(kind) == 2 else kind[0]] / total
        options = [list(_changes(sides[side], CHANGES if len(kind) == 1 else CHANGES[:1])) for side in kind]
        for chosen in product(*options):
            carry, p = np.ones(n), share
            for side, (chance, state) in zip(kind, chosen, strict=True):
                p *= chance
                for distance, carries in enumerate(state, 1):
                    carry[base - distance if side == "came" else base + distance] = carries
            found.append((p, carry[place]))
    return found


def _changes(length: int, prior: tuple[float, ...]) -> Iterator[tuple[float, list[bool]]]:
    possible = prior[:length]
    for count, share in enumerate(possible, 1):
        places = list(combinations(range(length), count))
        for at in places:
            state = [sum(place <= level for place in at) % 2 == 0 for level in range(length)]
            yield share / sum(possible) / len(places), state
