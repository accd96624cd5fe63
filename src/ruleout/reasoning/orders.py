"""Levels with an order fail from some point on: a change point, found by halving, with room for what does not fit.

Versions carry a fault from the one that brought it, or up to the one that mended it, or between the two. Where between
two tried levels the change lies is not known, so a level in between carries with the share of change points below it:
which is what makes the middle tell most. Regressions return, so that there may be two or three changes on one side of
the baseline; then each of them is found by halving.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, pairwise
from math import comb

import numpy as np

from ruleout.reasoning.space import FloatArray, IntArray

SIDES = (0.45, 0.35, 0.2)
"""Prior that the fault came with a level before the baseline's, went with one after it, or both."""
CHANGES = (0.99, 0.004, 0.006)
"""Prior of one, two, three changes on a side, where there are any only on that side."""
LEAK = 0.003
"""Prior that the levels that carry have nothing to do with their order."""
MAX_RETURNS = 100
"""Sets of more than one change that are told apart, of each number of changes: those that fit best what was seen."""
MISSED, ODD = 1.0, 3.0
"""What speaks against a set there (nats): a clean trial of a level that carries, a failing one of another level."""


def change_points(place: IntArray, failed: IntArray, clean: IntArray) -> Iterator[tuple[float, FloatArray]]:
    """The sets of carrying levels that the tried ones can tell apart: (prior, chance to carry of each level).

    A set may come in several parts, with other chances for the levels that were not tried.

    Args:
        place: of each level its place in the order; the baseline's is level 0.
        failed, clean: how many trials of each level failed and were clean.
    """
    base, last = int(place[0]), len(place) - 1
    by_place = np.argsort(place)
    tried, balance = (failed + clean > 0)[by_place], (ODD * failed - MISSED * clean)[by_place]
    below = _Side(tried[:base][::-1], balance[:base][::-1])
    above = _Side(tried[base + 1 :], balance[base + 1 :])
    came, went, both = (p * bool(n) for p, n in zip(SIDES, (base, last - base, base * (last - base)), strict=True))
    total = came + went + both
    for p, lower in below.sets(CHANGES):
        yield p * came / total, np.concatenate([lower[::-1], np.ones(1 + last - base)])[place]
    for p, upper in above.sets(CHANGES):
        yield p * went / total, np.concatenate([np.ones(base + 1), upper])[place]
    for p, lower in below.sets(CHANGES[:1]):
        for q, upper in above.sets(CHANGES[:1]):
            yield p * q * both / total, np.concatenate([lower[::-1], [1.0], upper])[place]


@dataclass(frozen=True)
class _Side:
    """The levels on one side of the baseline, the nearest first: which were tried, and what speaks for their carrying.

    A change is a level that does the opposite of the one before it; all places of so many changes are as likely. The
    tried levels cut the side into stretches, and how many changes are in each is what they can tell.
    """

    tried: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    balance: FloatArray

    def sets(self, changes: tuple[float, ...]) -> list[tuple[float, FloatArray]]:
        """(Share, chance to carry of each level), by the prior of one, two, … changes."""
        found = []
        changes = changes[: len(self.tried)]
        for n, prior in enumerate(changes, 1):
            counts, ways = self._counted(n)
            shares = prior / sum(changes) * ways / comb(len(self.tried), n)
            found += [(float(p), self._carrying(row)) for p, row in zip(shares, counts, strict=True)]
        return found

    def _counted(self, n: int) -> tuple[IntArray, FloatArray]:
        """So many changes in each stretch, shape (sets, stretches), and in how many ways that can be."""
        lengths = self._lengths
        where = np.array(list(combinations_with_replacement(range(len(lengths)), n)), dtype=np.int64)
        counts = (where[:, :, None] == np.arange(len(lengths))).sum(axis=1)
        choose = np.array([[comb(length, k) for k in range(n + 1)] for length in lengths], dtype=np.float64)
        ways = choose[np.arange(len(lengths)), counts].prod(axis=1)
        counts, ways = counts[ways > 0], ways[ways > 0]
        if n > 1 and len(ways) > MAX_RETURNS:
            carries = np.cumsum(counts, axis=1)[:, : int(self.tried.sum())] % 2 == 0
            fits = np.log(ways) + carries @ self.balance[self.tried]
            best = np.sort(np.argsort(-fits, kind="stable")[:MAX_RETURNS])
            counts, ways = counts[best], ways[best]
        return counts, ways

    @property
    def _lengths(self) -> list[int]:
        """Of each stretch: up to a tried level, that one included, or up to the end."""
        return [v - u for u, v in pairwise(sorted({0, *(np.flatnonzero(self.tried) + 1), len(self.tried)}))]

    def _carrying(self, counts: IntArray) -> FloatArray:
        """The chance to carry of each level with so many changes in each stretch."""
        parts, carries = [], True
        for length, k in zip(self._lengths, counts.tolist(), strict=True):
            same = _same(length, k)
            parts.append(same if carries else 1 - same)
            carries ^= bool(k % 2)
        return np.concatenate(parts)


@cache
def _same(length: int, changes: int) -> FloatArray:
    """The chance of each level of a stretch to do as the one before the stretch, with so many changes anywhere in it:
    that an even number of them is at it or before it."""
    upto = [
        sum(comb(n, k) * comb(length - n, changes - k) for k in range(0, changes + 1, 2)) for n in range(1, length + 1)
    ]
    return np.array(upto, dtype=np.float64) / comb(length, changes)
