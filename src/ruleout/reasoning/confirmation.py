"""What makes the likeliest story a confirmed cause: counter-trials, counted the same way for one cause or for two.

For each cause: *sufficient* (it alone, everything else moved, fails), *necessary* (from there each of its factors
moved, clean), *complete* (the baseline with only the causes neutralised, clean), and at last the baseline once more.
What is clean is run as often as luck demands, in whatever company: until it would be so by chance in fewer than 1 of
100 cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ruleout.model import Confirmation
from ruleout.reasoning.beliefs import Beliefs, Group
from ruleout.reasoning.candidates import Proposer
from ruleout.reasoning.changes import CARRIES, LUCK, UNSETTLED, Change
from ruleout.reasoning.coverage import DRAWS, Coverage
from ruleout.reasoning.space import BoolArray, FloatArray, IntArray

ODDS_OF_LUCK, PROBABILITY_OF_LUCK = 0.1, 0.004
"""That a clean trial was luck and another cause is the right one: the odds in the world in which the failure shows only
sometimes, and the probability, from which more is asked. A verdict that holds only because failures are expected to
show every time is none."""
SURELY_ALWAYS = 0.9
NEARLY_ALWAYS = 0.75
MOST_RUNS = 30
BASELINE_RUNS = 3
KNOWN_BASES = 3
"""Trials of a cause alone into which a level that never ran is put."""


def runs_needed(beliefs: Beliefs, group: int) -> int:
    """How many clean runs in a row say that no cause was active: fewer than 1 in 100 would be luck.

    An active cause is clean n times with (1 - always) * E[(1 - m)^n], m being the manifest rate where it is below 1;
    its distribution after a showings and b misses is Beta(a + 1, b + 1) (Gelman et al., Bayesian Data Analysis, 2.4).
    """
    sometimes = 1 - beliefs.shows_always(group)
    shown, missed = beliefs.showings(group)
    luck, runs = sometimes, 0
    while luck > LUCK and runs < MOST_RUNS:
        luck *= (missed + 1 + runs) / (shown + missed + 2 + runs)
        runs += 1
    return max(1, runs)


@dataclass(frozen=True, eq=False)
class Missing:
    """A confirming trial that is still to be made: rows that would do, the better ones first, and what for.

    `share` says of each row how much of what is missing it would confirm. A `search` goes by what rows tell alone.
    """

    rows: IntArray
    purpose: str
    shares: FloatArray | None = None
    search: bool = False

    @property
    def share(self) -> FloatArray:
        """How much of what is missing each row would confirm."""
        return np.full(len(self.rows), 0.2) if self.shares is None else self.shares


class Confirmer:
    """Looks for the confirming trials of one group of causes among the observations, and for what is missing."""

    def __init__(self, beliefs: Beliefs, group: int, proposer: Proposer) -> None:
        self.beliefs, self.space, self.seen = beliefs, beliefs.space, beliefs.seen.made
        self.causes: Group = beliefs.groups[group]
        self.group, self.proposer, self.coverage = group, proposer, Coverage(beliefs, proposer)
        self.runs = runs_needed(beliefs, group)
        self.factors = {f for cause in self.causes for f in cause}
        self.carry = {(cause, f): self._carries(cause, f) for cause in self.causes for f in cause}

    def found(self) -> Confirmation:
        """The confirming trials so far."""
        sufficient = [self._id(i) for cause in self.causes for i in self._sufficient(cause)]
        pairs = [self._counter_trial(cause, f) for cause in self.causes for f in cause]
        sufficient += [self._id(pair[0]) for pair in pairs if pair is not None]
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
        surprises = self._surprises()
        if len(surprises):
            yield Missing(surprises, "again: it was clean, which the likeliest story does not explain")
        if not self.causes and (lacking := self.coverage.seldom_in_full()):
            rows, share = self.coverage.rows_full(lacking)
            yield Missing(rows, "elsewhere: everything moved at once, to levels that were not", share)
        if not self.causes and self.coverage.never_apart():
            yield Missing(self.coverage.rows_apart(), "elsewhere: factors moved apart that were only moved together")
        for cause in self.causes:
            if uncovered := self._uncovered(cause):
                rows = self._rows_sufficient(cause)
                share = (rows[:, sorted(uncovered)] != 0).mean(axis=1)
                yield Missing(rows, f"sufficient: {self._name(cause)} alone, the rest moved", share)
        for cause in self.causes:
            for f in cause:
                if unsettled := self._unsettled(cause, f):
                    rows, share = self._rows_levels(cause, f, unsettled)
                    yield Missing(rows, f"level: does {self.space.names[f]} at another level carry it?", share)
        for change in self._changes:
            if len(rows := change.search()):
                yield Missing(rows, f"level: where does {change.name} begin or cease to fail?", search=True)
        if not self._complete():
            yield Missing(self._rows_complete(), "complete: the baseline with only the cause neutralised")
        for cause in self.causes:
            for f in cause:
                if not self._necessary(cause, f):
                    name = self.space.names[f]
                    yield Missing(
                        self._rows_necessary(cause, f), f"necessary: {name} moved, all else as where it fails"
                    )
        for change in self._changes:
            if len(rows := change.seen_once()):
                yield Missing(rows, f"again: where {change.name} begins or ceases to fail")

    def once_more(self) -> Missing | None:
        """What was clean once more, as long as luck may have made the causes; None when it cannot have."""
        if not self.causes:
            return None
        for change in self._changes:
            if len(rows := change.elsewhere()):
                return Missing(rows, f"again: {change.name} may begin or cease to fail elsewhere", search=True)
        probability, odds = self.beliefs.owed_to_luck(self.group)
        if odds < ODDS_OF_LUCK or probability < PROBABILITY_OF_LUCK:
            return None
        off = [i for i in self.clean_rows(1) if all(self._neutralised(self.seen.rows[i], c) for c in self.causes)]
        rows = self.coverage.allowed([self.seen.rows[i] for i in sorted(off, key=self._runs)])
        return Missing(rows, "again: the failure may show only sometimes")

    def severe(self) -> IntArray:
        """What each cause alone has to stand, whether or not it stood as much before: all else moved, and each level
        that never ran, by itself and where everything else is known to run."""
        rows = [row for cause in self.causes for row in self._rows_alone(cause) + self._rows_never_ran(cause)]
        return self.coverage.allowed(rows)

    def as_ran(self, rows: IntArray) -> IntArray:
        """These rows, with levels that never ran put back to the baseline's."""
        ran = np.array([np.isin(rows[:, f], self.seen.ran(f)) for f in range(len(self.space))])
        return np.where(ran.T, rows, 0)

    def baseline_again(self) -> Missing | None:
        """The baseline once more; None when it has failed again after everything else."""
        if self.found().baseline_again is not None:
            return None
        return Missing(self._rows_baseline(), "the baseline again: does it still fail?")

    # -- what has been seen ------------------------------------------------------------------------------------

    def _carries(self, cause: tuple[int, ...], f: int, sometimes: bool = False) -> FloatArray:
        """Probability, given the group, that each level of a factor carries this cause; `sometimes`: and that the
        failure shows only sometimes."""
        here = np.flatnonzero(self.beliefs.group == self.group)
        weight = self.beliefs.probability[here] / self.beliefs.probability[here].sum()
        if sometimes:
            weight = weight * (1 - self.beliefs.always[here])
        literal = self.beliefs.conjunctions[here]
        table = self.beliefs.table
        factor = np.where(literal >= 0, table.factor[literal], -1)
        own = np.array((*(-1,) * (literal.shape[2] - len(cause)), *sorted(cause)))
        mine = (factor == f) & (np.sort(factor, axis=2) == own).all(axis=2)[:, :, None]
        which, _, _ = np.nonzero(mine)
        return np.asarray(weight[which] @ table.carry[literal[mine]], dtype=np.float64)

    def _neutralised(self, row: IntArray, cause: tuple[int, ...]) -> bool:
        return any(self.carry[cause, f][row[f]] < CARRIES for f in cause)

    def _is_sufficient(self, row: IntArray, cause: tuple[int, ...]) -> bool:
        others = [c for c in self.causes if c != cause]
        return all(row[f] == 0 for f in cause) and all(self._neutralised(row, c) for c in others)

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
        covered = set[int]().union(*(self._moved(i) for i in rows))
        left = {f for f in self.space.suspects if f not in self.factors} - covered
        if left or rows:
            return {f for f in left if self.coverage.testable(f)}
        return set(self.factors)  # nothing else to move, and still it has to be seen

    def _necessary(self, cause: tuple[int, ...], f: int) -> list[int]:
        pair = self._counter_trial(cause, f)
        return [] if pair is None else [self._id(k) for k in np.flatnonzero(self.seen.at(self.seen.rows[pair[1]]))]

    def _counter_trial(self, cause: tuple[int, ...], f: int) -> tuple[int, int] | None:
        """A sufficient trial and one that differs in this factor only and is clean, as rows."""
        for i in self._bases(cause):
            for j in self.clean_rows(self.runs):
                if list(np.flatnonzero(self.seen.rows[i] != self.seen.rows[j])) == [f]:
                    return i, j
        return None

    def _bases(self, cause: tuple[int, ...]) -> list[int]:
        """Sufficient trials to move a factor from: those that are named first, then the ones that move most."""
        named = self._sufficient(cause)
        others = sorted(self._sufficient_rows(cause), key=lambda i: -len(self._moved(i)))
        return [*named, *(i for i in others if i not in named)]

    def _complete(self) -> list[int]:
        for i in self.clean_rows(self.runs):
            moved = {int(f) for f in np.flatnonzero(self.seen.rows[i])}
            if moved and moved <= self.factors and all(len(moved & set(c)) == 1 for c in self.causes):
                return [self._id(k) for k in np.flatnonzero(self.seen.at(self.seen.rows[i]))]
        return []

    def _unsettled(self, cause: tuple[int, ...], f: int) -> dict[int, float]:
        """Levels that a failing trial had, of which it is to be known whether they carry: with the chance that they do.

        Of levels in an order it is told by where they change."""
        if self.space.place[f] is not None:
            return {}
        failed = set(self.seen.rows[self.seen.reproduced, f].tolist())
        return {
            level: float(self.carry[cause, f][level])
            for level in range(1, int(self.space.settable[f]))
            if level in failed and UNSETTLED < self.carry[cause, f][level] < 1 - UNSETTLED
        }

    @cached_property
    def _changes(self) -> list[Change]:
        """The factors of the causes whose levels have an order."""
        return [
            Change(
                self.beliefs, self.proposer, f, company, self.carry[cause, f], self._carries(cause, f, sometimes=True)
            )
            for cause, company in ((cause, self._others_off(cause)) for cause in self.causes)
            for f in cause
            if self.space.place[f] is not None and self._is_sufficient(company, cause)
        ]

    def _surprises(self) -> IntArray:
        """Configurations that were clean once though the causes were there, of a failure that shows nearly always."""
        if self.beliefs.manifest_rate(self.group) < NEARLY_ALWAYS:
            return np.zeros((0, len(self.space)), dtype=np.int64)
        members = np.flatnonzero(self.beliefs.group == self.group)
        weight = self.beliefs.probability[members] / self.beliefs.probability[members].sum()
        active = weight @ self.beliefs.activity(self.seen.rows, members)
        once = [i for i in np.flatnonzero(self.seen.clean & (active > CARRIES)) if self._runs(i) == 1]
        return self.seen.rows[once]

    def _runs(self, i: int | np.intp) -> int:
        return int((self.seen.at(self.seen.rows[int(i)]) & self.seen.informative).sum())

    def clean_rows(self, runs: int) -> list[int]:
        """Trials whose configuration was clean so often, or surely is, and never failed; as rows."""
        good = []
        for i in np.flatnonzero(self.seen.clean):
            same = self._alike(self.seen.rows[i])
            often = (same & self.seen.clean).sum() >= runs or i in self._clean_by_order
            if often and not (same & self.seen.reproduced).any():
                good.append(int(i))
        return good

    def clean_runs(self, row: IntArray) -> int:
        """How often a row was clean. Trials in other company count, as the causes do not ask for it."""
        return int((self._alike(row) & self.seen.clean).sum())

    def _alike(self, row: IntArray) -> BoolArray:
        """The trials in which the factors of the causes had the same levels; where there are none, all factors."""
        factors = sorted(self.factors) or list(self.space.suspects)
        return np.asarray((self.seen.rows[:, factors] == row[factors]).all(axis=1), dtype=np.bool_)

    @cached_property
    def _clean_by_order(self) -> set[int]:
        """Clean trials that levels in an order speak for: those nearer to where it fails were clean as well, and
        altogether too often for luck."""
        ordered = [f for f in self.factors if self.space.place[f] is not None]
        members = np.flatnonzero(self.beliefs.group == self.group)
        weight = self.beliefs.probability[members] / self.beliefs.probability[members].sum()
        lucky = weight @ self.beliefs.activity(self.seen.rows, members) > LUCK
        moved = (self.seen.rows[:, ordered] != 0).any(axis=1)
        return {int(i) for i in np.flatnonzero(self.seen.clean & moved & ~lucky)}

    def _at_baseline(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        return self.seen.at(np.zeros(len(self.space), dtype=np.int64))

    def _moved(self, i: int) -> set[int]:
        return {int(f) for f in np.flatnonzero(self.seen.rows[i])} - self.factors

    def _id(self, i: int | np.intp) -> int:
        return self.seen.ids[int(i)]

    def _name(self, cause: tuple[int, ...]) -> str:
        return " with ".join(self.space.names[f] for f in cause)

    # -- what would confirm ------------------------------------------------------------------------------------

    def _neutral(self, cause: tuple[int, ...], held: tuple[int, ...] = ()) -> list[tuple[int, int]]:
        """Ways to switch a cause off without moving the held factors: (factor, level), the surest first."""
        free = [f for f in cause if f not in held]
        ways = [(self.carry[cause, f][v], f, v) for f in free for v in range(1, int(self.space.settable[f]))]
        return [(f, v) for p, f, v in sorted(ways) if p < CARRIES]

    def _off(self, cause: tuple[int, ...]) -> dict[int, int]:
        """What switches all other causes off and leaves the factors of this one at their baseline."""
        others = (other for other in self.causes if other != cause)
        return {f: level for other in others for f, level in self._neutral(other, cause)[:1]}

    def _rows_alone(self, cause: tuple[int, ...]) -> list[IntArray]:
        """The cause alone, all else moved as far as it may run; none where the others cannot be switched off."""
        moved = self._off(cause)
        rows = [self.proposer.everything_else(self.factors, moved) for _ in range(DRAWS)]
        rows = [self.proposer.cheaply(self.proposer.trimmed(row, set(moved))) for row in rows]
        return [row for row in rows if self._is_sufficient(row, cause)]

    def _rows_never_ran(self, cause: tuple[int, ...]) -> list[IntArray]:
        """Each level that never ran, where the cause alone is known to fail. Of levels in an order it is told by
        where they change."""
        known = [self._others_off(cause), *(self.seen.rows[i] for i in self._bases(cause)[:KNOWN_BASES])]
        unordered = (f for f in self.space.suspects if f not in self.factors and self.space.place[f] is None)
        rows = []
        for f in unordered:
            for level in np.setdiff1d(np.arange(1, self.space.settable[f]), self.seen.ran(f)):
                for base in known:
                    row = base.copy()
                    row[f] = level
                    rows.append(row)
        return [row for row in rows if self._is_sufficient(row, cause)]

    def _rows_sufficient(self, cause: tuple[int, ...]) -> IntArray:
        uncovered = self._uncovered(cause)
        rows = [row for row in self._rows_alone(cause) if set(np.flatnonzero(row)) & uncovered or not uncovered]
        for f in sorted(uncovered - self.factors):
            for level in range(1, int(self.space.settable[f])):
                row = self._others_off(cause)
                row[f] = level
                rows.append(row)
        return self.coverage.allowed([row for row in rows if self._is_sufficient(row, cause)])

    def _rows_complete(self) -> IntArray:
        rows = []
        ways = [self._neutral(cause) for cause in self.causes]
        for k in range(max((len(w) for w in ways), default=0)):
            row = np.zeros(len(self.space), dtype=np.int64)
            for cause, way in zip(self.causes, ways, strict=True):
                if way and not self._neutralised(row, cause):  # what two causes share is moved once
                    f, level = way[min(k, len(way) - 1)]
                    row[f] = level
            rows.append(row)
        return self.coverage.allowed(rows)

    def _rows_levels(self, cause: tuple[int, ...], f: int, levels: dict[int, float]) -> tuple[IntArray, FloatArray]:
        """The baseline with only this level changed and all other causes off; the less certain, the earlier."""
        company = self._others_off(cause)
        rows = np.repeat(company[None, :], len(levels), axis=0)
        rows[:, f] = list(levels)
        share = 1 - np.abs(2 * np.array(list(levels.values())) - 1)
        may = self.proposer.may_run(rows, repeat=True) & self._is_sufficient(company, cause)
        return rows[may], share[may]

    def _others_off(self, cause: tuple[int, ...]) -> IntArray:
        """The baseline with all other causes switched off."""
        row = np.zeros(len(self.space), dtype=np.int64)
        for f, level in self._off(cause).items():
            row[f] = level
        return row

    def _rows_necessary(self, cause: tuple[int, ...], f: int) -> IntArray:
        rows = []
        for i in self._bases(cause):
            carry = self.carry[cause, f]
            for level in np.argsort(carry[: self.space.settable[f]], kind="stable"):
                if level and carry[level] < CARRIES:
                    row = self.seen.rows[i].copy()
                    row[f] = level
                    rows.append(row)
        return self.coverage.allowed(rows)

    def _rows_baseline(self) -> IntArray:
        after = np.flatnonzero(self._at_baseline() & self.seen.clean)
        if len(after) >= max(BASELINE_RUNS, self.runs):
            return np.zeros((0, len(self.space)), dtype=np.int64)
        return np.zeros((1, len(self.space)), dtype=np.int64)
