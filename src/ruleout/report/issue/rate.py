"""How often a failure shows, and what so few launches exclude: three of three still leave room for one in three."""

from __future__ import annotations

import math
from collections.abc import Callable

SURE = 0.95


def told(shown: int, launches: int) -> str:
    """`2 of 3 launches (95 % sure: in more than 14 % and in less than 98 % of them)`."""
    low, high = bounds(shown, launches)
    sides = []
    if shown:
        sides.append(f"more than {100 * low:.0f} %")
    if shown < launches:
        sides.append(f"less than {100 * high:.0f} %")
    plural = "" if launches == 1 else "es"
    return f"{shown} of {launches} launch{plural} (95 % sure: in {' and in '.join(sides)} of them)"


def bounds(shown: int, launches: int) -> tuple[float, float]:
    """The exact bounds (Clopper and Pearson, 1934) of a rate, each with 95 % by itself; 0 and 1 where there is none."""
    low = _root(lambda rate: 1 - _at_most(shown - 1, launches, rate), 1 - SURE) if shown else 0.0
    high = _root(lambda rate: 1 - _at_most(shown, launches, rate), SURE) if shown < launches else 1.0
    return low, high


def _root(rising: Callable[[float], float], wanted: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < wanted else (low, middle)
    return (low + high) / 2


def _at_most(most: int, launches: int, rate: float) -> float:
    """The probability of at most so many of the launches."""
    return sum(math.comb(launches, k) * rate**k * (1 - rate) ** (launches - k) for k in range(most + 1))
