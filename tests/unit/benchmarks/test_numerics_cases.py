"""A seed is a set of cases: the same everywhere, and with everything in it that is to be measured."""

from __future__ import annotations

import json

import pytest
from benchmarks.numerics.cases import DENSE, ENVIRONMENTS, FAMILIES, FAULTS, HEALTHY, SPARSE, case, draw


def test_a_seed_gives_the_same_cases_again() -> None:
    assert draw(7, 20, 20) == draw(7, 20, 20)
    assert draw(7, 20, 20) != draw(8, 20, 20)


def test_more_cases_of_a_seed_begin_with_the_same_ones() -> None:
    assert draw(3, 60, 0)[:20] == draw(3, 20, 0)


@pytest.mark.parametrize("seed", range(5))
def test_sixty_of_each_cover_every_kind_family_and_release(seed: int) -> None:
    cases = draw(seed, 60, 60)
    assert {each.kind for each in cases} == {*FAULTS, *HEALTHY}
    assert {each.family for each in cases if each.faulty} == set(FAMILIES)
    assert {each.environment for each in cases} == set(ENVIRONMENTS)
    assert len({each.name for each in cases}) == len(cases) == 120


@pytest.mark.parametrize("seed", range(5))
def test_a_kind_gets_models_that_can_have_it(seed: int) -> None:
    for each in draw(seed, 60, 60):
        if each.kind in ("router-normalisation", "rare-expert"):
            assert each.family in SPARSE
        if each.ranks == 2:
            assert each.family in DENSE
        if each.kind.startswith(("padding-right", "unread")):
            assert min(each.request.lengths) < max(each.request.lengths), "without padding there is nothing to see"


def test_a_case_comes_back_from_json() -> None:
    for each in draw(0, 10, 10):
        assert case(json.loads(json.dumps(each.document()))) == each
