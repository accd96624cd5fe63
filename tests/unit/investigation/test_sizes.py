"""Which smaller sizes are tried where one asks for too much."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleout.investigation.sizes import smaller


@pytest.mark.parametrize(
    ("size", "first", "last"),
    [
        ("4000", ("3550", "3150", "2800"), "4"),
        ("16", ("14", "12", "11", "10", "9"), "1"),
        ("0.95", ("0.9", "0.8"), "0.1"),
    ],
)
def test_they_are_preferred_numbers_below_it(size: str, first: tuple[str, ...], last: str) -> None:
    found = smaller(size)
    assert (found[: len(first)], found[-1]) == (first, last)


@pytest.mark.parametrize("size", ["1", "0", "0.0"])
def test_nothing_is_below_the_least(size: str) -> None:
    assert smaller(size) == ()


@given(st.integers(2, 10**7))
def test_whole_sizes_fall_by_an_eighth_or_by_one_over_three_decades(size: int) -> None:
    found = [size, *map(int, smaller(str(size)))]
    assert all(0 < b < a and (b >= a * 0.87 or b >= a - 2) for a, b in pairwise(found))
    assert found[-1] <= max(1, size / 1000 * 1.15 + 0.5)
    assert len(found) <= 62


@given(st.floats(0.01, 1.0).map(lambda share: f"{share:.2f}"))
def test_shares_stay_shares(share: str) -> None:
    assert all(0 < float(level) < float(share) for level in smaller(share))
