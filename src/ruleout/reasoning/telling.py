"""The trial that tells most for its price, found by climbing: from good guesses, one change at a time.

What a trial is worth is what it is expected to tell about the causes, by the minutes it is expected to take. A mask
makes it tell nothing, except where a single unseen level was moved: that one can then be given up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ruleout.model.figures import percent
from ruleout.reasoning.beliefs import Beliefs
from ruleout.reasoning.candidates import Proposer
from ruleout.reasoning.confirmation import SURELY_ALWAYS
from ruleout.reasoning.costs import Costs
from ruleout.reasoning.explanation import Explanation, Step, worth
from ruleout.reasoning.information import Forecast, Outlook
from ruleout.reasoning.masks import Masks
from ruleout.reasoning.space import BoolArray, FloatArray, IntArray
from ruleout.reasoning.words import claim

LEAST_BITS = 0.001
CLOSING = 0.4
"""What a masked trial is worth, of a clean one, where it shows that a level cannot be run."""
GIVEN_UP = 4
"""Trials of a level, all masked, after which it is left alone."""
HOPELESS, GAMBLE, SUSPECTED = 0.9, 0.5, 0.1
ENOUGH = 0.02
"""Where it cannot become sure, because something cannot be run, what else is this unlikely is not pursued."""
CLIMBERS, CLIMBS, NEIGHBOURS = 12, 8, 900
"""Rows that are bettered change by change, the most changes, and how many rows are looked at for one change of all."""
OVERHEAD = 2.0
"""What every trial costs besides its run, in whole trials: a launch that is masked early is not free."""
CHANGE_PENALTY = 0.004
"""Among trials that tell about as much, the one with fewer changes: a person has to believe it."""
WORTH_OF_A_BIT = 0.3
"""What a bit about the causes is worth, in chances to be done, where any clean configuration will do."""
LEAST_CLEAN = 0.02
COMPANIONS, WORLDS = 200, 12
"""Rows, and outcomes of earlier trials, that are looked at when several trials are chosen to be made together."""
NAMED = 3
"""Leading hypotheses that an explanation names."""


@dataclass(frozen=True)
class Appraisal:
    """What rows are expected to tell, to risk and to take, and what that makes them worth.

    `closes`: whatever comes of the row, it says whether some level can be run at all.
    """

    told: Forecast
    risk: FloatArray
    minutes: FloatArray
    bits: FloatArray
    value: FloatArray
    closes: BoolArray


class Teller:
    """Looks for the trial that tells most, given what is believed."""

    def __init__(self, beliefs: Beliefs, masks: Masks, costs: Costs, proposer: Proposer, sure: float) -> None:
        self.beliefs, self.masks, self.costs, self.proposer, self.sure = beliefs, masks, costs, proposer, sure
        self.outlook = Outlook(beliefs)

    def best(self) -> Step | None:
        """The trial that tells most per minute; None when none tells anything worth a trial."""
        return self._best(self.improved(self.choice())) or self._best(self._known())

    def choice(self) -> IntArray:
        """The rows to choose from. What was seen once may be luck, unless the failure is known to show every time."""
        rows = self.proposer.candidates()
        if self.beliefs.shows_always(self.beliefs.leading) >= SURELY_ALWAYS:
            return rows
        return np.unique(np.concatenate([rows, self._known()]), axis=0)

    def _known(self) -> IntArray:
        seen = self.beliefs.seen
        return self.proposer.allowed(seen.rows[seen.informative], repeat=True)

    def together(self, first: IntArray, more: int) -> list[Step]:
        """Up to `more` other trials to make at the same time as the first: each tells most beside those before it.

        What the earlier ones will show is not known, so every outcome of them counts with its probability.
        """
        rows = self.choice()
        rows = self.improved(rows[(rows != first).any(axis=1)]) if len(rows) else rows
        this = self.appraised(rows)
        rows = rows[np.argsort(-this.value, kind="stable")[:COMPANIONS]]
        chosen, steps = [first], list[Step]()
        worlds = [(1.0, self.outlook)]
        while len(steps) < more:
            rows = rows[(rows != chosen[-1]).any(axis=1)]
            if not len(rows):
                break
            worlds = self._after(worlds, chosen[-1])
            bits = np.sum([p * world.forecast(rows).bits for p, world in worlds], axis=0)
            this = self.appraised(rows)
            value = (1 - this.risk) * bits / (this.minutes + OVERHEAD * self.costs.full)
            best = int(value.argmax())
            if (1 - this.risk[best]) * bits[best] < LEAST_BITS:
                break
            chosen.append(rows[best])
            steps.append(self.step(rows[best], f"beside the others it tells most: {bits[best]:.2f} bits"))
        return steps

    def _after(self, worlds: list[tuple[float, Outlook]], row: IntArray) -> list[tuple[float, Outlook]]:
        """The worlds after a trial, by its outcomes; the unlikely ones are left out."""
        risk = float(self.masks.risk(row[None, :])[0])
        after = []
        for p, world in worlds:
            shows = world.shows(row[None, :])[:, 0]
            fails = float(world.weight @ shows)
            after += [(p * risk, world), (p * (1 - risk) * fails, world.given(shows))]
            after.append((p * (1 - risk) * (1 - fails), world.given(1 - shows)))
        return sorted(after, key=lambda each: -each[0])[:WORLDS]

    def way_out(self, keep: dict[int, int]) -> Step | None:
        """For who only wants it to work: what is likeliest clean for its price and leaves alone what is to be kept."""
        rows = self.choice()
        rows[:, list(keep)] = list(keep.values())
        rows = self.proposer.allowed(rows)
        if not len(rows):
            return None
        this = self.appraised(rows)
        clean = (1 - this.risk) * (1 - this.told.shows)
        worth = (clean + WORTH_OF_A_BIT * this.bits) / (this.minutes + OVERHEAD * self.costs.full)
        best = int((worth * (1 - CHANGE_PENALTY * np.count_nonzero(rows, axis=1))).argmax())
        if clean[best] < LEAST_CLEAN:
            return None
        return self.step(rows[best], f"workaround: clean with {percent(clean[best])}, and what is to be kept is kept")

    def improved(self, rows: IntArray) -> IntArray:
        """These rows and what the best of them lead to, one change at a time, as long as it tells more."""
        value = self.appraised(rows).value
        climbers = max(4, min(CLIMBERS, NEIGHBOURS // max(1, int(self.beliefs.space.settable.sum()))))
        climbing = rows[np.argsort(-value, kind="stable")[:climbers]]
        height = np.sort(-value)[:climbers] * -1
        found = [rows]
        for _ in range(CLIMBS):
            near = [self.proposer.neighbours(row) for row in climbing]
            if not near:
                break
            everything = np.concatenate(near)
            worth = self.appraised(everything).value
            worth[~self.proposer.may_run(everything)] = 0.0
            ends = np.cumsum([len(n) for n in near])
            best = [
                int(part.argmax()) + end - len(part) for part, end in zip(np.split(worth, ends[:-1]), ends, strict=True)
            ]
            higher = worth[best] > height * (1 + 1e-9)
            if not higher.any():
                break
            climbing, height = everything[best][higher], worth[best][higher]
            found.append(climbing)
        return np.unique(np.concatenate(found), axis=0)

    def appraised(self, rows: IntArray) -> Appraisal:
        """What each row is worth: information per minute, the risk of a mask and the price of a launch included."""
        if not len(rows):
            rows = rows.reshape(0, len(self.beliefs.space))
        risk = self.masks.risk(rows)
        told = self.outlook.forecast(rows)
        minutes = self.costs.of_rows(self.beliefs.space, rows, risk)
        changes = np.count_nonzero(rows, axis=1)
        closes = self._closes(rows, changes)
        bits = (1 - risk + CLOSING * closes * risk) * told.bits
        value = bits / (minutes + OVERHEAD * self.costs.full) * (1 - CHANGE_PENALTY * changes)
        value[~closes & (risk > GAMBLE)] *= 0.1
        return Appraisal(told, risk, minutes, bits, value, closes)

    def _best(self, rows: IntArray) -> Step | None:
        if not len(rows):
            return None
        this = self.appraised(rows)
        # Blame that is shared among many is no proof: a level is given up only after it was run by itself.
        runnable = (this.risk <= HOPELESS) | this.closes
        rivals, equals = this.told.rivals(self.beliefs.leading, runnable)
        value = np.where((this.told.bits < LEAST_BITS) | ~runnable, 0.0, this.value)
        value[this.bits < LEAST_BITS] *= 1e-3  # what will hardly run comes last
        if equals > 1 - self.sure and rivals < ENOUGH:  # it will not be sure in any case
            value[self._unseen(rows) == 0] = 0.0
            # A level that failed otherwise in company is given up only after it was run by itself.
            value[this.closes & (this.risk > SUSPECTED)] += 1e-9
            if rivals < 1 - self.sure:
                value[~(this.closes & (this.risk > SUSPECTED))] = 0.0
        elif rivals + equals < 1 - self.sure:
            return None  # what is left is too unlikely to matter
        best = int(value.argmax())
        if value[best] <= 0:
            return None
        told = worth(float(this.bits[best]), float(this.minutes[best]), float(this.told.shows[best]))
        purpose = self.purpose_of(rows[best], f"tells most per minute: {told}")
        order = [int(i) for i in np.argsort(-value, kind="stable")[:2] if i != best and value[i] > 0]
        return self.step(rows[best], purpose, rows[order[0]] if order else None)

    def purpose_of(self, row: IntArray, purpose: str) -> str:
        """The purpose of a trial, which says so where the configuration was run before."""
        if not self.beliefs.seen.at(row).any() or purpose.startswith("the baseline again"):
            return purpose
        return f"again, since once may be luck: {purpose.removeprefix('again: ')}"

    def step(self, row: IntArray, purpose: str, second: IntArray | None = None) -> Step:
        """The step of this row with its arithmetic; `second` is the row that came next."""
        rows = row[None, :] if second is None else np.stack([row, second])
        this, space = self.appraised(rows), self.beliefs.space
        baseline = space.configuration(np.zeros(len(space), dtype=np.int64))
        leading = []
        for g in np.argsort(-self.beliefs.of_group, kind="stable")[:NAMED]:
            fails = this.told.by_group[this.told.groups == g, 0]
            name = claim(space, self.beliefs.groups[g])
            leading += [(name, float(self.beliefs.of_group[g]), float(f)) for f in fails]
        bits, minutes = [float(b) for b in this.bits], [float(m) for m in this.minutes]
        explanation = Explanation(
            space.configuration(row).difference(baseline),
            float(self.outlook.removed(row)),
            float(this.told.shows[0]),
            float(this.risk[0]),
            bits[0],
            minutes[0],
            tuple(leading),
            None if second is None else space.configuration(second).difference(baseline),
            0.0 if second is None else bits[1],
            0.0 if second is None else minutes[1],
        )
        return Step(space.configuration(row), purpose, minutes[0], bits[0], float(this.risk[0]), explanation)

    def _closes(self, rows: IntArray, changes: IntArray) -> BoolArray:
        """Rows that say of a level whether it can be run at all: by itself or, if it failed otherwise there, in company
        that is known to run. A level that fails otherwise in both can be given up."""
        single = self._unseen(rows) == 1
        closes = single & (changes == 1)
        tried_alone = self.beliefs.seen.rows[np.count_nonzero(self.beliefs.seen.rows, axis=1) == 1]
        for row in np.unique(tried_alone, axis=0):
            f = int(np.flatnonzero(row)[0])
            again = np.flatnonzero(single & (rows[:, f] == row[f]) & (changes > 1))
            if len(again) and self._pending[f, row[f]]:
                company = rows[again].copy()
                company[:, f] = 0
                closes[again] = self.masks.risk(company) < SUSPECTED
        return np.asarray(closes, dtype=np.bool_)

    def _unseen(self, rows: IntArray) -> IntArray:
        """How many levels of each row no informative trial has had, of those that may still be possible."""
        return np.asarray(self._pending[np.arange(rows.shape[1]), rows].sum(axis=1), dtype=np.int64)

    @cached_property
    def _pending(self) -> BoolArray:
        space, seen = self.beliefs.space, self.beliefs.seen
        pending = np.zeros((len(space), int(space.sizes.max())), dtype=np.bool_)
        for f in space.suspects:
            pending[f, space.possible(f)[1:]] = True
        for row in seen.rows[seen.informative]:
            pending[np.arange(len(row)), row] = False
        # Failed otherwise again and again: whatever it needs to run, it is not found by trying.
        for f, level in np.argwhere(pending):
            pending[f, level] = space.beside(f, int(level), seen)[seen.rows[:, f]].sum() < GIVEN_UP
        return np.asarray(pending, dtype=np.bool_)
