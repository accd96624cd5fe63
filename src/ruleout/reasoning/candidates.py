"""Configurations worth asking about: single changes, many changes at once, and steps from what is known.

Single changes are what a person would try; moving half of everything halves the suspects; holding a suspected cause
while everything else moves is what tells a cause from its company.
"""

from __future__ import annotations

import numpy as np

from ruleout.model import Case
from ruleout.reasoning.beliefs import OTHER_SHAPE, Beliefs
from ruleout.reasoning.masks import Masks
from ruleout.reasoning.space import BoolArray, FloatArray, IntArray

LEADERS = 8
DRAWS = 5
SHARES = (0.15, 0.3, 0.5, 0.7, 0.9)
PER_SHARE = 24
RISKY = 0.35


class Proposer:
    """Draws candidate rows with a seeded generator; the same state gives the same candidates."""

    def __init__(self, case: Case, beliefs: Beliefs, masks: Masks, rng: np.random.Generator) -> None:
        self.space, self.beliefs, self.masks, self.rng = beliefs.space, beliefs, masks, rng
        # What the engine puts in the place of the baseline's level is never asked for.
        never = [n for n in case.never if not n.items() & self.space.standing.items()]
        self._never = [{self.space.names.index(f): self.space.level(f, v) for f, v in n.items()} for n in never]
        self._movable = np.flatnonzero(self.space.settable > 1)
        self._appeal = self._level_appeal()
        self._cheap = self._kept_by_proxies()

    def candidates(self) -> IntArray:
        """Rows to choose from, without repetitions, none of them forbidden or known to be masked."""
        rows = [*self._singles(), *self._about_leaders(), *self._shares(), *self._from_clean(), *self._in_company()]
        rows += [self.cheaply(row) for row in rows if self._cheap is not None]
        return self.allowed(np.array(rows, dtype=np.int64).reshape(len(rows), len(self.space)))

    def allowed(self, rows: IntArray, repeat: bool = False) -> IntArray:
        """The rows that may be run, each once; with `repeat`, informative ones may be run again."""
        if not len(rows):
            return rows.reshape(0, len(self.space))
        rows = np.unique(rows, axis=0)
        return rows[self.may_run(rows, repeat)]

    def may_run(self, rows: IntArray, repeat: bool = False) -> BoolArray:
        """Which rows can be asked for, and are neither forbidden nor known: as masked or, without `repeat`, at all."""
        keep = np.asarray((rows < self.space.settable).all(axis=1), dtype=np.bool_)
        for never in self._never:
            keep &= ~np.all([rows[:, f] == level for f, level in never.items()], axis=0)
        seen = self.beliefs.seen
        overridden = (seen.rows != seen.requested).any(axis=1)  # asking for it again would again do something else
        done = seen.requested
        if repeat:  # what ran once may be run again, also where another attempt was not resolved
            said_nothing = ~seen.informative | overridden
            done = _without(done[said_nothing], done[~said_nothing])
        for row in done:
            keep &= (rows != row).any(axis=1)
        return keep

    def neighbours(self, row: IntArray) -> IntArray:
        """All rows that differ from this one in one factor."""
        changes = [(f, level) for f in self.space.suspects for level in range(int(self.space.settable[f]))]
        factor, level = np.array(changes, dtype=np.int64).reshape(-1, 2).T
        factor, level = factor[row[factor] != level], level[row[factor] != level]
        near = np.repeat(row[None, :], len(factor), axis=0)
        near[np.arange(len(factor)), factor] = level
        return near

    def cheaply(self, row: IntArray) -> IntArray:
        """The row with the proxies as they were seen to keep the failure."""
        row = row.copy()
        if self._cheap is not None:
            row[list(self.space.proxies)] = self._cheap
        return row

    def _kept_by_proxies(self) -> IntArray | None:
        """The setting with most proxies moved under which the target was seen; None when there is none."""
        seen = self.beliefs.seen
        settings = seen.rows[seen.reproduced][:, list(self.space.proxies)]
        moved = np.count_nonzero(settings, axis=1)
        return settings[int(moved.argmax())] if moved.any() else None

    def everything_else(self, held: set[int], moved: dict[int, int] | None = None) -> IntArray:
        """A row with the held factors at their baseline and every other one moved, to levels that tell most."""
        row = np.zeros(len(self.space), dtype=np.int64)
        for f in self._movable:
            if f not in held and not self.space.proxy[f]:
                row[f] = self._draw(int(f))
        for g, level in (moved or {}).items():
            row[g] = level
        return row

    def trimmed(self, row: IntArray, fixed: set[int] | None = None) -> IntArray:
        """The row with its most blamed moves taken back until the risk of a mask is bearable."""
        row = row.copy()
        while self.masks.risk(row[None, :])[0] > RISKY:
            moves = [f for f in np.flatnonzero(row) if f not in (fixed or set())]
            if len(moves) + len(fixed or ()) <= 1 or not moves:
                break
            without = np.repeat(row[None, :], len(moves), axis=0)
            without[np.arange(len(moves)), moves] = 0
            row = without[int(self.masks.risk(without).argmin())]
        return row

    def half(self) -> IntArray:
        """Half of the factors moved, drawn at random."""
        return self._share(0.5)

    def alone(self, f: int) -> list[IntArray]:
        """One factor moved by itself, to each of its levels."""
        rows = np.zeros((int(self.space.settable[f]) - 1, len(self.space)), dtype=np.int64)
        rows[:, f] = np.arange(1, self.space.settable[f])
        return list(rows)

    def _level_appeal(self) -> list[FloatArray]:
        """How much each level invites, cumulated: unseen ones more, blamed ones less, the baseline not at all."""
        seen = self.beliefs.seen
        appeal = []
        for f in range(len(self.space)):
            levels = np.arange(self.space.settable[f])
            rows = np.zeros((len(levels), len(self.space)), dtype=np.int64)
            rows[:, f] = levels
            weight = np.maximum(1 - self.masks.risk(rows), 1e-3) ** 2
            weight[[level for g, level in self.space.impossible if g == f]] = 0.0
            tried = np.isin(levels, seen.ran(f))
            weight = np.where(tried, 0.35 * weight, weight)
            weight[0] = 0.0
            total = np.cumsum(weight) / weight.sum() if weight.sum() else np.ones(len(weight))
            total[-1] = 1.0
            appeal.append(total)
        return appeal

    def _draw(self, f: int) -> int:
        return int(np.searchsorted(self._appeal[f], self.rng.random(), side="right"))

    def _singles(self) -> list[IntArray]:
        return [row for f in self.space.suspects for row in self.alone(f)]

    def _about_leaders(self) -> list[IntArray]:
        order = np.argsort(-self.beliefs.of_group, kind="stable")[:LEADERS]
        groups = [self.beliefs.groups[g] for g in order if self.beliefs.groups[g] != OTHER_SHAPE]
        rows = []
        for group in groups:
            factors = {f for cause in group for f in cause}
            for _ in range(DRAWS):
                rows.append(self.everything_else(factors))
                for f in factors:
                    rows.append(self.everything_else(factors, {f: self._draw(f)}))
                # All its causes switched off, nothing else touched: clean if this is all of them.
                off = np.zeros(len(self.space), dtype=np.int64)
                for cause in group:
                    f = int(self.rng.choice(cause))
                    off[f] = self._draw(f)
                rows.append(off)
        return rows

    def _shares(self) -> list[IntArray]:
        return [self._share(share) for share in SHARES for _ in range(PER_SHARE)]

    def _share(self, share: float) -> IntArray:
        row = np.zeros(len(self.space), dtype=np.int64)
        for f in self.space.suspects:
            if self.rng.random() < share:
                row[f] = self._draw(f)
        return row

    def _from_clean(self) -> list[IntArray]:
        seen = self.beliefs.seen
        rows = []
        for clean in seen.rows[seen.clean][-6:]:
            moved = np.flatnonzero(clean)
            for f in moved:
                rows.append(np.where(np.arange(len(clean)) == f, 0, clean))
            for _ in range(DRAWS):
                back: BoolArray = self.rng.random(len(clean)) < 0.5
                rows.append(np.where(back, 0, clean))
        return rows

    def _in_company(self) -> list[IntArray]:
        """Levels that failed otherwise by themselves, put where everything else is known to run: the most moved."""
        seen = self.beliefs.seen
        masked = np.unique(seen.requested[~seen.informative], axis=0)
        alone = masked[np.count_nonzero(masked, axis=1) == 1]
        known = np.unique(seen.rows[seen.informative], axis=0)
        known = known[np.argsort(-np.count_nonzero(known, axis=1), kind="stable")[:DRAWS]]
        return [np.where(single != 0, single, row) for single in alone for row in known]


def _without(rows: IntArray, others: IntArray) -> IntArray:
    """Those of the rows that are none of the others."""
    found: BoolArray = (rows[:, None, :] == others[None, :, :]).all(axis=2).any(axis=1)
    return rows[~found]
