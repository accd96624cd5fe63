"""Levels with an order fail from some point on: a change point, found by halving, with room for what does not fit.

Versions carry a fault from the one that brought it, or up to the one that mended it, or between the two. Where between
two tried levels the change lies is not known, so a level in between carries with the share of change points below it:
which is what makes the middle tell most.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ruleout.reasoning.space import FloatArray, IntArray

SIDES = (0.45, 0.35, 0.2)
"""Prior that the fault came with a level before the baseline's, went with one after it, or both."""
LEAK = 0.1
"""Prior that the levels that carry have nothing to do with their order: regressions return."""


def change_points(place: IntArray, tried: IntArray) -> Iterator[tuple[float, FloatArray]]:
    """The sets of carrying levels that the tried ones can tell apart: (prior, chance to carry of each level).

    Args:
        place: of each level its place in the order; the baseline's is level 0.
        tried: the levels that were tried, the baseline not counted.
    """
    base, last = int(place[0]), len(place) - 1
    below = list(_side(base, [int(p) for p in place[tried] if p < base]))
    above = list(_side(last - base, [last - int(p) for p in place[tried] if p > base]))
    always_below, always_above = np.ones(base), np.ones(last - base)
    came, went, both = SIDES
    total = came * bool(below) + went * bool(above) + both * bool(below and above)
    for p, lower in below:
        yield p * came / total, np.concatenate([lower, [1.0], always_above])[place]
    for p, upper in above:
        yield p * went / total, np.concatenate([always_below, [1.0], upper[::-1]])[place]
    for p, lower in below:
        for q, upper in above:
            yield p * q * both / total, np.concatenate([lower, [1.0], upper[::-1]])[place]


def _side(length: int, tried: list[int]) -> Iterator[tuple[float, FloatArray]]:
    """Change points among the `length` places before one that carries: (share of them, chance of each place to carry).

    The first place that carries is 1 to `length`: that all do is not a change.
    """
    stops = [0, *(t for t in sorted(tried) if t > 0), length]
    for u, v in pairwise(stops):
        if v > u:
            yield (v - u) / length, np.clip((np.arange(length) - u) / (v - u), 0.0, 1.0)
