"""Where a factor with an order begins or ceases to fail: searched level by level, seen twice, and not owed to luck.

A change between two levels is claimed only when both were run twice, and when what is left for a change at another
place is unlikely, the world in which the failure shows only sometimes included. Levels that cannot be run are skipped:
the change is then somewhere between the nearest ones that can.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np

from ruleout.reasoning.beliefs import Beliefs
from ruleout.reasoning.candidates import Proposer
from ruleout.reasoning.coverage import UNTESTABLE
from ruleout.reasoning.space import BoolArray, FloatArray, IntArray

CARRIES = 0.5
UNSETTLED = 0.05
"""A level between this and its opposite is still asked about."""
LUCK = 0.01
"""What may be left for a change that luck has hidden."""
SEEN = 2
"""How often both sides of a change are run."""


class Change:
    """The changes of one ordered factor of a cause, given the group."""

    def __init__(
        self, beliefs: Beliefs, proposer: Proposer, f: int, company: IntArray, carry: FloatArray, luck: FloatArray
    ) -> None:
        """`company`: the row in which all other causes are switched off and nothing else is moved.

        `carry`: the probability of each level to carry the fault; `luck`: and that the failure shows only sometimes.
        """
        self.beliefs, self.proposer, self.f, self.company = beliefs, proposer, f, company
        self.carry, self.luck = carry, luck

    @property
    def name(self) -> str:
        """The name of the factor."""
        return self.beliefs.space.names[self.f]

    def search(self) -> IntArray:
        """Rows that may tell where it changes; none when that is known.

        The baseline is among them: how often it fails says what clean levels are worth.
        """
        unsettled = (self.carry > UNSETTLED) & (self.carry < 1 - UNSETTLED) & self._runnable
        if unsettled.any():
            return self._rows(np.flatnonzero(unsettled), baseline=True)
        return self._rows(np.flatnonzero(self._never_next))

    def elsewhere(self) -> IntArray:
        """Rows that may show that a level carries which was clean by luck; none when that is unlikely."""
        return self._rows(np.flatnonzero((self.carry < CARRIES) & (self.luck > LUCK) & self._runnable), baseline=True)

    def seen_once(self) -> IntArray:
        """Rows of levels next to one that does the opposite, in so far as they were run less than twice."""
        ends = {int(end) for pair in self._pairs(self._runnable) for end in pair}
        return self._rows(np.array(sorted(e for e in ends if 0 < self._runs[e] < SEEN), dtype=np.int64))

    def _pairs(self, among: BoolArray) -> Iterator[tuple[int, int]]:
        """Of these levels those that are next to each other and do the opposite, the lower one first."""
        levels = [level for level in np.argsort(np.array(self.beliefs.space.place[self.f])) if among[level]]
        for one, other in pairwise(levels):
            if (self.carry[one] > CARRIES) != (self.carry[other] > CARRIES):
                yield one, other

    @property
    def _never_next(self) -> BoolArray:
        """Levels that were never run and are the next that can be to one that does the opposite of the last one run.

        Most of a wide gap surely carries, or surely does not; what is claimed is where it was seen to."""
        place, found = np.array(self.beliefs.space.place[self.f]), np.zeros(len(self.carry), dtype=np.bool_)
        for one, other in self._pairs(self._runs > 0):
            between = [v for v in np.argsort(place) if place[one] < place[v] < place[other] and self._runnable[v]]
            found[between[:1] + between[-1:]] = True
        return found

    @cached_property
    def _runs(self) -> IntArray:
        """How many informative trials had each level."""
        seen = self.beliefs.seen
        return np.bincount(seen.rows[seen.informative, self.f], minlength=len(self.carry))

    @cached_property
    def _runnable(self) -> BoolArray:
        """Levels that are neither forbidden nor were masked, or are surely, in this company."""
        levels = np.arange(self.beliefs.space.settable[self.f])
        rows = self._rows(levels)
        runs = self.proposer.may_run(rows, repeat=True) & (self.proposer.masks.risk(rows) < UNTESTABLE)
        found = np.zeros(len(self.carry), dtype=np.bool_)
        found[levels] = runs | (levels == 0)
        found[[level for f, level in self.beliefs.space.impossible if f == self.f]] = False
        return found

    def _rows(self, levels: IntArray, baseline: bool = False) -> IntArray:
        """The company with each of these levels; with the baseline's too, where there are any."""
        if baseline and len(levels):
            levels = np.append(0, levels[levels > 0])
        rows = np.repeat(self.company[None, :], len(levels), axis=0)
        rows[:, self.f] = levels
        return rows
