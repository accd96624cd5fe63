"""Whether everything was moved in every way: what has to be seen before the cause is said to lie in no factor.

Several causes at once look like none until all of them happen to be switched off together, and two settings that only
have to agree fail whenever both are moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import prod

import numpy as np

from ruleout.reasoning.beliefs import Beliefs
from ruleout.reasoning.candidates import Proposer
from ruleout.reasoning.space import BoolArray, FloatArray, IntArray

UNTESTABLE = 0.9
"""A change that fails otherwise as likely as this cannot be tested."""
DRAWS = 24
FULL_RUNS = 2
AGAIN = 0.2
"""What a level that ran before is still worth with everything moved."""
GIVEN_UP = 4
"""Trials with everything moved, all masked, after which a level is no longer asked for there."""


@dataclass(frozen=True)
class Lacking:
    """A level that is still to be seen with everything moved, and how much that is worth, 1 for one that never ran."""

    factor: int
    level: int
    worth: float


class Coverage:
    """What of a space was moved in the failing trials, what can be, and the rows that would move the rest."""

    def __init__(self, beliefs: Beliefs, proposer: Proposer) -> None:
        self.space, self.seen, self.proposer = beliefs.space, beliefs.seen.made, proposer

    def testable(self, f: int) -> bool:
        """Whether some level of the factor can be run by itself."""
        rows = np.array(self.proposer.alone(f)).reshape(-1, len(self.space))
        return bool((self.proposer.masks.risk(rows) < UNTESTABLE).any())

    def runs_alone(self, f: int, level: int) -> bool:
        """Whether the baseline can be run with only this level changed."""
        row = np.zeros((1, len(self.space)), dtype=np.int64)
        row[0, f] = level
        return bool(self.proposer.masks.risk(row)[0] < UNTESTABLE)

    def allowed(self, rows: list[IntArray]) -> IntArray:
        """The rows that may be run, in the given order, without those that have failed or were masked."""
        failed = self.seen.rows[self.seen.reproduced]
        allowed = self.proposer.allowed(np.array(rows, dtype=np.int64).reshape(len(rows), len(self.space)), repeat=True)
        fine = {tuple(r) for r in allowed.tolist()} - {tuple(r) for r in failed.tolist()}
        ordered = [r for r in dict.fromkeys(tuple(int(x) for x in row) for row in rows) if r in fine]
        return np.array(ordered, dtype=np.int64).reshape(len(ordered), len(self.space))

    def never_apart(self) -> list[tuple[int, int]]:
        """Pairs of factors of which the first was never moved, and failed, while the second stood still.

        Two settings that only have to agree fail whenever both are moved; moving one alone is clean.
        """
        failed = self.seen.reproduced
        moved = (self.seen.requested[failed] != 0) & (self.seen.rows[failed] != 0)
        factors = [f for f in self.space.suspects if self.testable(f)]
        return [(f, g) for f in factors for g in factors if f != g and not (moved[:, f] & ~moved[:, g]).any()]

    def seldom_in_full(self) -> list[Lacking]:
        """Levels that were in fewer than FULL_RUNS failing trials in which all factors, or all but one, were moved.

        Several causes at once look like none until all of them happen to be switched off together. A level that never
        ran is worth the most: it may be the only way out.
        """
        testable = self._testable
        rows = np.unique(self.seen.rows[self.seen.reproduced][:, testable], axis=0)
        full = rows[self._in_full(rows)]
        masked = self.seen.rows[~self.seen.informative][:, testable]
        vain = masked[self._in_full(masked)]
        ran = self.seen.rows[self.seen.informative][:, testable]
        few = {f: self._telling(f) for f in testable}
        wanted = min(FULL_RUNS, prod(len(levels) for levels in few.values()))
        lacking = [
            Lacking(f, int(level), 1.0 if new else AGAIN)
            for i, f in enumerate(testable)
            for level in few[f]
            if (full[:, i] == level).sum() < wanted and self.runs_alone(f, int(level))
            if (new := not (ran[:, i] == level).any()) or (vain[:, i] == level).sum() < GIVEN_UP
        ]
        return sorted(lacking, key=lambda level: level.worth)

    @cached_property
    def _testable(self) -> list[int]:
        return [f for f in self.space.suspects if self.testable(f)]

    def _in_full(self, rows: IntArray) -> BoolArray:
        """Of rows of the testable factors, those that move all of them or all but one."""
        return np.asarray(np.count_nonzero(rows, axis=1) >= len(self._testable) - 1)

    def _telling(self, f: int) -> IntArray:
        """The levels that have to be moved to: of levels in an order those at its ends, between which it changes."""
        levels: IntArray = self.space.possible(f)[1:]
        levels = levels[levels < self.space.settable[f]]
        if (place := self.space.place[f]) is None:
            return levels
        at = np.array(place)[levels]
        ends = {int(levels[i]) for i in (at.argmin(), at.argmax()) if abs(at[i] - place[0]) > 0}
        return np.array(sorted(ends), dtype=np.int64)

    def rows_full(self, lacking: list[Lacking]) -> tuple[IntArray, FloatArray]:
        """Everything moved at once, to the levels that are lacking; of levels in an order to the ends of it.

        A level that never ran may also be run with fewer others moved, down to itself alone, where the rest is risky.

        Returns: the rows, and how much of what is lacking each brings.
        """
        ordered = [f for f in self.space.suspects if self.space.place[f] is not None]
        rows: list[IntArray] = []
        for k in range(DRAWS):
            row = self.proposer.everything_else(set())
            for f in ordered:
                row[f] = self._telling(f)[k % len(self._telling(f))]
            for _, same in groupby(lacking, key=lambda level: level.worth):  # the worthier ones last, so that they stay
                levels = list(same)
                for level in levels[k % len(levels) :] + levels[: k % len(levels)]:
                    row[level.factor] = level.level
            rows += [row, self.proposer.trimmed(row)]
        never = [level for level in lacking if level.worth == 1.0]
        rows += [self.proposer.alone(level.factor)[level.level - 1] for level in never]
        allowed = self.allowed(rows)
        at = np.stack([allowed[:, level.factor] == level.level for level in lacking], axis=1)
        full = self._in_full(allowed[:, self._testable])
        worth = np.array([level.worth for level in lacking])
        brings = (at & (full[:, None] | (worth == 1.0))) @ worth / worth.sum()
        return allowed[brings > 0], brings[brings > 0]

    def rows_apart(self) -> IntArray:
        """Factors moved without those that they were only moved with, the more of them the earlier."""
        pairs = np.array(self.never_apart(), dtype=np.int64).reshape(-1, 2)
        rows = [self.proposer.trimmed(self.proposer.half()) for _ in range(4 * DRAWS)]
        for f in sorted(set(pairs[:, 0].tolist())):  # by itself it is apart from all others
            rows += self.proposer.alone(f)
        moved = np.array(rows) != 0
        gain = (moved[:, pairs[:, 0]] & ~moved[:, pairs[:, 1]]).sum(axis=1)
        return self.allowed([rows[i] for i in np.argsort(-gain, kind="stable") if gain[i]])
