"""The posterior over complete sets of causes.

A hypothesis is a set of conjunctions of literals, each enough by itself, or that no factor takes part (`elsewhere`), or
that the truth is of another shape, which predicts nothing and gains when nothing else fits. What a verdict is about is
the group: the factors of each cause, whichever of their levels carry the fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ruleout.reasoning.hypotheses import ANOTHER, CAUSES, FACTORS, enumerate_all, set_key
from ruleout.reasoning.leanings import leaning_elsewhere, leanings
from ruleout.reasoning.literals import Literals, literals, pack
from ruleout.reasoning.space import FloatArray, IntArray, Observations, Space

Group = tuple[tuple[int, ...], ...]
"""The factors of each cause: what a verdict is about. () is elsewhere; another shape is OTHER_SHAPE."""
ELSEWHERE: Group = ()
OTHER_SHAPE: Group = ((),)


@dataclass(frozen=True)
class Beliefs:
    """A normalised posterior.

    Attributes:
        conjunctions: literal indices of each hypothesis, shape (hypotheses, CAUSES, FACTORS), -1 where none.
        groups: the factors of the causes of each group; `group` is the index into it, per hypothesis.
        probability: of each hypothesis.
        rate: expected rate at which the hypothesis shows when active.
        always: probability, given the hypothesis, that it shows every time.
    """

    space: Space
    seen: Observations
    table: Literals
    conjunctions: IntArray
    groups: tuple[Group, ...]
    group: IntArray
    probability: FloatArray
    rate: FloatArray
    always: FloatArray

    @cached_property
    def of_group(self) -> FloatArray:
        """The probability of each group."""
        return np.bincount(self.group, self.probability, minlength=len(self.groups)).astype(np.float64)

    @cached_property
    def leading(self) -> int:
        """The likeliest group."""
        return int(self.of_group.argmax())

    @property
    def leader(self) -> Group:
        """The factors of the causes of the likeliest group."""
        return self.groups[self.leading]

    def marginal(self, factor: int) -> float:
        """The probability that a factor takes part."""
        return float(self._marginals[factor])

    @cached_property
    def _marginals(self) -> FloatArray:
        total = np.zeros(len(self.space))
        if not len(self.table):
            return total
        literal = self.conjunctions.reshape(-1, CAUSES * FACTORS)
        factor = np.where(literal >= 0, self.table.factor[np.maximum(literal, 0)], -1)
        factor = -np.sort(-factor, axis=1)
        first = np.diff(factor, axis=1, prepend=-1) != 0  # a factor that two causes share counts once
        for place, new in zip(factor.T, first.T, strict=True):
            has = new & (place >= 0)
            total += np.bincount(place[has], self.probability[has], minlength=len(total))
        return total

    def manifest_rate(self, group: int) -> float:
        """The expected rate at which a group's causes show when active."""
        here = self.group == group
        return float((self.rate[here] * self.probability[here]).sum() / self.probability[here].sum())

    def shows_always(self, group: int) -> float:
        """The probability, given the group, that its causes show every time."""
        here = self.group == group
        return float((self.always[here] * self.probability[here]).sum() / self.probability[here].sum())

    def owed_to_luck(self, group: int) -> tuple[float, float]:
        """Of other groups, by which a clean trial was luck: the probability, and the odds against this group if the
        failure shows only sometimes."""
        luck = (self.group != group) & (self.always == 0)
        if OTHER_SHAPE in self.groups:  # each configuration has a rate of its own there: nothing is owed to luck
            luck &= self.group != self.groups.index(OTHER_SHAPE)
        mine = float((self.probability * (1 - self.always))[self.group == group].sum())
        rivals = float(self.probability[luck].sum())
        return rivals, rivals / max(mine, 1e-300)

    def showings(self, group: int) -> tuple[float, float]:
        """On how many reproduced and on how many clean trials a group's causes were active, as expected."""
        members = np.flatnonzero(self.group == group)
        weight = self.probability[members] / self.probability[members].sum()
        active = weight @ self.activity(self.seen.rows, members)
        return float(active @ self.seen.reproduced), float(active @ self.seen.clean)

    def activity(self, rows: IntArray, keep: IntArray | None = None) -> FloatArray:
        """The probability that each hypothesis is active on each row: shape (hypotheses, rows).

        `keep` selects hypotheses. Elsewhere is always active; another shape as often as it was just there.
        """
        index = self.conjunctions if keep is None else self.conjunctions[keep]
        inactive = np.ones((len(index), len(rows)))
        for cause in range(index.shape[1]):
            holds = np.ones((len(index), len(rows)))
            exists = index[:, cause, 0] >= 0
            for slot in range(index.shape[2]):
                literal = index[:, cause, slot]
                has = literal >= 0
                if has.any():
                    which = literal[has]
                    levels = rows[:, self.table.factor[which]].T
                    holds[has] *= self.table.carry[which[:, None], levels]
            inactive[exists] *= 1 - holds[exists]
        active = 1 - inactive
        kind = self.group if keep is None else self.group[keep]
        if ELSEWHERE in self.groups:
            active[kind == self.groups.index(ELSEWHERE)] = 1.0
        if OTHER_SHAPE in self.groups:
            active[kind == self.groups.index(OTHER_SHAPE)] = self.own_rate(rows)
        return active

    def own_rate(self, rows: IntArray) -> FloatArray:
        """What another shape expects: of a configuration that was seen, its own rate; of a new one, anything."""
        same = (rows[:, None, :] == self.seen.rows[None, :, :]).all(axis=2)
        failed, passed = same @ self.seen.reproduced.astype(np.int64), same @ self.seen.clean.astype(np.int64)
        return np.asarray((failed + 1) / (failed + passed + 2), dtype=np.float64)


def weigh(
    space: Space, seen: Observations, priors: Mapping[str, float] | None = None, elsewhere: float | None = None
) -> Beliefs:
    """The posterior after these observations. Trials that were masked say nothing here.

    `priors`: of some factors, the probability that they take part in a cause, by name; `elsewhere`: that none does.
    """
    table = literals(space, seen)
    table = replace(table, weight=table.weight + leanings(space, priors or {})[table.factor])
    informative = seen.informative
    reproduced = pack(seen.reproduced[informative][None, :])[0]
    clean = pack(seen.clean[informative][None, :])[0]
    conjunctions, logp, rate, always = enumerate_all(
        space, table, seen, reproduced, clean, leaning_elsewhere(elsewhere)
    )
    probability = np.exp(logp - logp.max())
    probability /= probability.sum()
    groups, group = _grouped(table, conjunctions)
    return Beliefs(space, seen, table, conjunctions, groups, group, probability, rate, always)


def _grouped(table: Literals, conjunctions: IntArray) -> tuple[tuple[Group, ...], IntArray]:
    """The groups, and the group of each hypothesis. Two causes come in either order."""
    factors = conjunctions
    if len(table):
        factors = np.where(conjunctions >= 0, table.factor[np.maximum(conjunctions, 0)], conjunctions)
    _, first, inverse = np.unique(set_key(factors), return_index=True, return_inverse=True)
    index: dict[Group, int] = {}
    number = [index.setdefault(_group(row), len(index)) for row in factors[first].reshape(len(first), -1)]
    return tuple(index), np.array(number, dtype=np.int64)[np.asarray(inverse).reshape(-1)]


def _group(factors: IntArray) -> Group:
    if factors[0] == ANOTHER:
        return OTHER_SHAPE
    causes = (tuple(sorted(int(f) for f in cause if f >= 0)) for cause in factors.reshape(CAUSES, FACTORS))
    return tuple(sorted(c for c in causes if c))
