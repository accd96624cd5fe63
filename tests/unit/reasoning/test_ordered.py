"""Levels with an order are searched by halving, and the change is seen twice before it is believed."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.deployment import FakeDeployment, Investigated, case_of, factor, investigated

from ruleout.model import OutcomeKind, VerdictStatus
from ruleout.reasoning.orders import change_points


def versions(n: int, first: int, masked: tuple[int, ...] = (), rate: float = 1.0, seed: int = 0) -> FakeDeployment:
    """Versions of which those from `first` on fail, the last being the baseline, beside two bystanders."""
    names = tuple(f"v{i:03d}" for i in range(n))
    version = replace(factor("version", *names), ordered=True, baseline=names[-1])
    case = case_of(version, factor("graphs", "on", "off"), factor("cache", "on", "off"))
    masks = [{"version": names[i]} for i in masked]
    return FakeDeployment(case, [{"version": frozenset(names[first:])}], masks, rate, seed=seed)


def first_bad(found: Investigated) -> str:
    """The first level that the verdict says fails."""
    (cause,) = found.verdict.causes
    (carrier,) = cause
    return min(carrier.levels)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "most"), [(20, 13), (128, 16)])
def test_the_first_bad_version_is_found_by_halving(n: int, most: int, seed: int) -> None:
    first = random.Random(seed).randrange(1, n)
    found = investigated(versions(n, first))
    assert found.verdict.status is VerdictStatus.ISOLATED, found.verdict.why
    assert first_bad(found) == f"v{first:03d}"
    assert len(found.trials) <= most


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
    tried = np.array(data.draw(st.lists(st.integers(1, n - 1), unique=True)), dtype=np.int64)
    sets = list(change_points(place, tried))
    assert sum(p for p, _ in sets) == pytest.approx(1)
    for p, carry in sets:
        assert p > 0
        assert carry[0] == 1
        assert set(carry[tried].tolist()) <= {0.0, 1.0}
        assert ((carry >= 0) & (carry <= 1)).all()
        assert (carry < 1).any()  # that all carry is no cause
