"""What makes the likeliest story a confirmed cause: counter-trials, counted the same way for one cause or for two.

For each cause: *sufficient* (it alone, everything else moved, fails), *necessary* (from there each of its factors
moved, clean), *complete* (the baseline with only the causes neutralised, clean), and at last the baseline once more.
A clean run counts as often as luck demands: until it would happen by chance in fewer than 1 of 100 cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log

import numpy as np

from ruleout.model import Confirmation
from ruleout.reasoning.beliefs import Beliefs, Group
from ruleout.reasoning.candidates import Proposer
from ruleout.reasoning.space import FloatArray, IntArray

LUCK = 0.01
SURELY_ALWAYS = 0.9
CARRIES = 0.5
UNTESTABLE = 0.9
BASELINE_RUNS = 3
DRAWS = 24


def runs_needed(beliefs: Beliefs, group: int) -> int:
    """How many clean runs in a row say that no cause was active."""
    if beliefs.shows_always(group) >= SURELY_ALWAYS:
        return 1
    return max(1, ceil(log(LUCK) / log(1 - min(beliefs.manifest_rate(group), 0.99))))


@dataclass(frozen=True, eq=False)
class Missing:
    """A confirming trial that is still to be made: rows that would do, the better ones first, and what for."""

    rows: IntArray
    purpose: str


class Confirmer:
    """Looks for the confirming trials of one group of causes among the observations, and for what is missing."""

    def __init__(self, beliefs: Beliefs, group: int, proposer: Proposer) -> None:
        self.beliefs, self.space, self.seen = beliefs, beliefs.space, beliefs.seen
        self.causes: Group = beliefs.groups[group]
        self.group, self.proposer = group, proposer
        self.runs = runs_needed(beliefs, group)
        self.factors = {f for cause in self.causes for f in cause}
        self.carry = {f: self._carries(f) for f in self.factors}

    def found(self) -> Confirmation:
        """The confirming trials so far."""
        sufficient = [self._id(i) for cause in self.causes for i in self._sufficient(cause)]
        necessary = [i for cause in self.causes for f in cause for i in self._necessary(cause, f)]
        complete = self._complete()
        last = max([*sufficient, *necessary, *complete], default=0)
        again = [self._id(i) for i in np.flatnonzero(self._at_baseline() & self.seen.reproduced)]
        later = [i for i in again if i > last and i > self.seen.ids[0]]
        return Confirmation(
            tuple(sorted(set(sufficient))),
            tuple(sorted(set(necessary))),
            tuple(sorted(set(complete))),
            later[0] if later else None,
        )

    def missing(self) -> Iterator[Missing]:
        """What is still to be made, in the order in which it is made."""
        for cause in self.causes:
            if self._uncovered(cause):
                yield Missing(self._rows_sufficient(cause), f"sufficient: {self._name(cause)} alone, the rest moved")
        if not self._complete():
            yield Missing(self._rows_complete(), "complete: the baseline with only the cause neutralised")
        for cause in self.causes:
            for f in cause:
                if not self._necessary(cause, f):
                    name = self.space.names[f]
                    yield Missing(
                        self._rows_necessary(cause, f), f"necessary: {name} moved, all else as where it fails"
                    )

    def baseline_again(self) -> Missing | None:
        """The baseline once more; None when it has failed again after everything else."""
        if self.found().baseline_again is not None:
            return None
        return Missing(self._rows_baseline(), "the baseline again: does it still fail?")

    # -- what has been seen ------------------------------------------------------------------------------------

    def _carries(self, f: int) -> FloatArray:
        """Probability, given the group, that each level of a factor of it carries the fault."""
        here = np.flatnonzero(self.beliefs.group == self.group)
        weight = self.beliefs.probability[here] / self.beliefs.probability[here].sum()
        literal = self.beliefs.conjunctions[here].reshape(len(here), -1)
        table = self.beliefs.table
        total = np.zeros(table.carry.shape[1])
        for slot in range(literal.shape[1]):
            which = literal[:, slot]
            mine = (which >= 0) & (table.factor[which] == f)
            total += weight[mine] @ table.carry[which[mine]]
        return total

    def _neutralised(self, row: IntArray, cause: tuple[int, ...]) -> bool:
        return any(self.carry[f][row[f]] < CARRIES for f in cause)

    def _is_sufficient(self, row: IntArray, cause: tuple[int, ...]) -> bool:
        others = [c for c in self.causes if c != cause]
        return (
            all(row[f] == 0 for f in cause)
            and all(self._neutralised(row, c) for c in others)
            and (bool(np.flatnonzero(row).size) or len(self.space.suspects) == len(self.factors))
        )

    def _sufficient_rows(self, cause: tuple[int, ...]) -> list[int]:
        return [int(i) for i in np.flatnonzero(self.seen.reproduced) if self._is_sufficient(self.seen.rows[i], cause)]

    def _sufficient(self, cause: tuple[int, ...]) -> list[int]:
        """Rows: as few trials as move everything else between them, the ones that move most first."""
        chosen: list[int] = []
        covered: set[int] = set()
        rows = self._sufficient_rows(cause)
        while rows:
            best = max(rows, key=lambda i: len(self._moved(i) - covered))
            gain = self._moved(best) - covered
            if not gain and chosen:
                break
            chosen.append(best)
            covered |= gain
            rows.remove(best)
        return chosen

    def _uncovered(self, cause: tuple[int, ...]) -> set[int]:
        rows = self._sufficient_rows(cause)
        covered = set().union(*(self._moved(i) for i in rows)) if rows else set()
        left = {f for f in self.space.suspects if f not in self.factors} - covered
        if left or rows:
            return {f for f in left if self._testable(f)}
        return set(self.factors)  # nothing else to move, and still it has to be seen

    def _testable(self, f: int) -> bool:
        rows = np.zeros((int(self.space.sizes[f]) - 1, len(self.space)), dtype=np.int64)
        rows[:, f] = np.arange(1, self.space.sizes[f])
        return bool((self.proposer.masks.risk(rows) < UNTESTABLE).any())

    def _necessary(self, cause: tuple[int, ...], f: int) -> list[int]:
        for i in self._sufficient(cause):
            for j in self._clean_rows():
                differs = np.flatnonzero(self.seen.rows[i] != self.seen.rows[j])
                if list(differs) == [f]:
                    return [self._id(k) for k in np.flatnonzero(self.seen.at(self.seen.rows[j]))]
        return []

    def _complete(self) -> list[int]:
        for i in self._clean_rows():
            moved = {int(f) for f in np.flatnonzero(self.seen.rows[i])}
            if moved and moved <= self.factors and all(len(moved & set(c)) == 1 for c in self.causes):
                return [self._id(k) for k in np.flatnonzero(self.seen.at(self.seen.rows[i]))]
        return []

    def _clean_rows(self) -> list[int]:
        """Trials whose configuration was clean often enough, and never failed."""
        good = []
        for i in np.flatnonzero(self.seen.clean):
            same = self.seen.at(self.seen.rows[i])
            if not (same & self.seen.reproduced).any() and (same & self.seen.clean).sum() >= self.runs:
                good.append(int(i))
        return good

    def _at_baseline(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        return self.seen.at(np.zeros(len(self.space), dtype=np.int64))

    def _moved(self, i: int) -> set[int]:
        return {int(f) for f in np.flatnonzero(self.seen.rows[i])} - self.factors

    def _id(self, i: int | np.intp) -> int:
        return self.seen.ids[int(i)]

    def _name(self, cause: tuple[int, ...]) -> str:
        return " with ".join(self.space.names[f] for f in cause)

    # -- what would confirm ------------------------------------------------------------------------------------

    def _neutral(self, cause: tuple[int, ...]) -> list[tuple[int, int]]:
        """Ways to switch a cause off: (factor, level), the surest first."""
        ways = [(self.carry[f][v], f, v) for f in cause for v in range(1, int(self.space.sizes[f]))]
        return [(f, v) for p, f, v in sorted(ways) if p < CARRIES]

    def _rows_sufficient(self, cause: tuple[int, ...]) -> IntArray:
        moved = {}
        for other in self.causes:
            if other != cause:
                for f, level in self._neutral(other)[:1]:
                    moved[f] = level
        uncovered = self._uncovered(cause)
        rows = []
        for _ in range(DRAWS):
            row = self.proposer.everything_else(self.factors, moved)
            rows.append(self.proposer.trimmed(row, set(moved)))
        rows = [row for row in rows if {int(f) for f in np.flatnonzero(row)} & uncovered or not uncovered]
        for f in sorted(uncovered - self.factors):
            for level in range(1, int(self.space.sizes[f])):
                row = np.zeros(len(self.space), dtype=np.int64)
                row[f] = level
                for g, v in moved.items():
                    row[g] = v
                rows.append(row)
        return self._allowed(rows)

    def _rows_complete(self) -> IntArray:
        rows = []
        ways = [self._neutral(cause) for cause in self.causes]
        for k in range(max((len(w) for w in ways), default=0)):
            row = np.zeros(len(self.space), dtype=np.int64)
            for way in ways:
                if way:
                    f, level = way[min(k, len(way) - 1)]
                    row[f] = level
            rows.append(row)
        return self._allowed(rows)

    def _rows_necessary(self, cause: tuple[int, ...], f: int) -> IntArray:
        rows = []
        for i in self._sufficient(cause):
            for level in np.argsort(self.carry[f][: self.space.sizes[f]], kind="stable"):
                if level and self.carry[f][level] < CARRIES:
                    row = self.seen.rows[i].copy()
                    row[f] = level
                    rows.append(row)
        return self._allowed(rows)

    def _rows_baseline(self) -> IntArray:
        after = np.flatnonzero(self._at_baseline() & self.seen.clean)
        if len(after) >= max(BASELINE_RUNS, self.runs):
            return np.zeros((0, len(self.space)), dtype=np.int64)
        return np.zeros((1, len(self.space)), dtype=np.int64)

    def _allowed(self, rows: list[IntArray]) -> IntArray:
        """The rows that may be run, in the given order, without those that have failed or were masked."""
        failed = self.seen.rows[self.seen.reproduced]
        allowed = self.proposer.allowed(np.array(rows, dtype=np.int64).reshape(len(rows), len(self.space)), repeat=True)
        fine = {tuple(r) for r in allowed.tolist()} - {tuple(r) for r in failed.tolist()}
        ordered = [r for r in dict.fromkeys(tuple(int(x) for x in row) for row in rows) if r in fine]
        return np.array(ordered, dtype=np.int64).reshape(len(ordered), len(self.space))
