"""k of n, with what that excludes."""

from __future__ import annotations

import pytest

from ruleout.report.issue.rate import bounds, told


@pytest.mark.parametrize(
    ("shown", "of", "low", "high"),
    [(0, 5, 0.0, 0.4507), (3, 3, 0.3684, 1.0), (1, 1, 0.05, 1.0), (2, 3, 0.1354, 0.9830), (5, 20, 0.1041, 0.4556)],
)
def test_bounds_are_those_of_clopper_and_pearson(shown: int, of: int, low: float, high: float) -> None:
    assert bounds(shown, of) == pytest.approx((low, high), abs=2e-4)


def test_no_launch_says_nothing() -> None:
    assert bounds(0, 0) == (0.0, 1.0)


def test_it_is_told_with_what_it_excludes() -> None:
    assert told(0, 5) == "0 of 5 launches (95 % sure: in less than 45 % of them)"
    assert told(1, 1) == "1 of 1 launch (95 % sure: in more than 5 % of them)"
    assert "in more than 14 % and in less than 98 %" in told(2, 3)
