"""The posterior over complete sets of causes.

A hypothesis is a set of one or two conjunctions of literals, each enough by itself, or that no factor takes part
(`elsewhere`), or that the truth is of another shape. Its likelihood needs two numbers only: on how many trials that
reproduced and on how many that were clean it is active; the rate at which an active cause shows is integrated out:
with probability 0.8 it always does, otherwise any rate is as likely. So all hypotheses are weighed at once, as bits.

Exact over conjunctions of up to three factors and over pairs of conjunctions of up to two; where the pairs are too
many, those whose conjunctions explain the trials worst are left out. What is outside (three causes, four factors) is
held by the hypothesis "another shape", which predicts nothing and gains when nothing else fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from math import comb, lgamma, log

import numpy as np

from ruleout.reasoning.literals import Literals, Words, count, literals, pack
from ruleout.reasoning.space import FloatArray, IntArray, Observations, Space

PRIOR_ELSEWHERE = 0.08
PRIOR_OTHER_SHAPE = 0.01
PRIOR_ORDER = (0.42, 0.27, 0.12)
"""Prior of one cause with one, two, three factors."""
PRIOR_PAIR = 0.10
"""Prior of two independent causes."""
ALWAYS = 0.8
"""Prior that an active cause shows every time."""
SPURIOUS = 1e-3
"""Chance that the target shows although no cause is active."""
MAX_CONJUNCTIONS = 2000
"""Conjunctions that are paired with each other."""
MAX_GROWN = 600_000
"""Conjunctions that are looked at at once."""
ANOTHER = -2
"""Stands in the places of the literals of "another shape"; -1 is an empty place."""
NEGLIGIBLE = 1e-7
"""Hypotheses this much less likely than the likeliest are dropped."""

Group = tuple[tuple[int, ...], ...]
"""The factors of each cause: what a verdict is about. () is elsewhere; another shape is OTHER_SHAPE."""
ELSEWHERE: Group = ()
OTHER_SHAPE: Group = ((),)


@dataclass(frozen=True)
class Beliefs:
    """A normalised posterior.

    Attributes:
        conjunctions: literal indices of each hypothesis, shape (hypotheses, 2 causes, 3 literals), -1 where none.
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
        return float(sum(p for g, p in zip(self.groups, self.of_group, strict=True) if any(factor in c for c in g)))

    def manifest_rate(self, group: int) -> float:
        """The expected rate at which a group's causes show when active."""
        here = self.group == group
        return float((self.rate[here] * self.probability[here]).sum() / self.probability[here].sum())

    def shows_always(self, group: int) -> float:
        """The probability, given the group, that its causes show every time."""
        here = self.group == group
        return float((self.always[here] * self.probability[here]).sum() / self.probability[here].sum())

    def activity(self, rows: IntArray, keep: IntArray | None = None) -> FloatArray:
        """The probability that each hypothesis is active on each row: shape (hypotheses, rows).

        `keep` selects hypotheses. Another shape is as likely as not; elsewhere is always active.
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
        for g, value in ((ELSEWHERE, 1.0), (OTHER_SHAPE, 0.5)):
            if g in self.groups:
                active[kind == self.groups.index(g)] = value
        return active


def weigh(space: Space, seen: Observations) -> Beliefs:
    """The posterior after these observations. Trials that were masked say nothing here."""
    table = literals(space, seen)
    informative = seen.informative
    reproduced = pack(seen.reproduced[informative][None, :])[0]
    clean = pack(seen.clean[informative][None, :])[0]
    failed, passed = int(count(reproduced)), int(count(clean))
    found = _Found(_Likelihood(failed, passed), reproduced, clean)
    _without_factors(seen, found)
    _alone(space, table, found)
    _pairs(space, table, found)
    conjunctions, logp, rate, always = found.all()
    probability = np.exp(logp - logp.max())
    probability /= probability.sum()
    groups, group = _grouped(table, conjunctions)
    return Beliefs(space, seen, table, conjunctions, groups, group, probability, rate, always)


class _Likelihood:
    """log P(outcomes | active on a of the reproduced and b of the clean trials), the manifest rate integrated out."""

    def __init__(self, failed: int, passed: int) -> None:
        self.failed, self.passed = failed, passed
        shape = (failed + 1, passed + 1)
        self.log, self.rate, self.always = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for a in range(failed + 1):
            for b in range(passed + 1):
                always = ALWAYS * (b == 0)
                some = (1 - ALWAYS) * _beta(a + 1, b + 1)
                self.always[a, b] = always / (always + some)
                self.rate[a, b] = (always + (1 - ALWAYS) * _beta(a + 2, b + 1)) / (always + some)
                self.log[a, b] = log(always + some) + (failed - a) * log(SPURIOUS) + (passed - b) * log(1 - SPURIOUS)

    def of(self, active: Words, reproduced: Words, clean: Words) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Log likelihood, expected rate, probability of showing always, per row of activity."""
        a, b = count(active & reproduced), count(active & clean)
        return self.log[a, b], self.rate[a, b], self.always[a, b]


def _beta(a: int, b: int) -> float:
    return float(np.exp(lgamma(a) + lgamma(b) - lgamma(a + b)))


class _Found:
    """Collects hypotheses with their log posterior, and drops at once those that cannot matter."""

    def __init__(self, likelihood: _Likelihood, reproduced: Words, clean: Words) -> None:
        self.likelihood, self.reproduced, self.clean = likelihood, reproduced, clean
        self.best = -np.inf
        self.parts: list[tuple[IntArray, FloatArray, FloatArray, FloatArray]] = []

    def weigh(self, active: Words, prior: FloatArray, members: Callable[[IntArray], IntArray]) -> None:
        """Add hypotheses by their activity and log prior; `members` gives the literals, shape (n, 2, 3), of some."""
        if len(prior):
            logl, rate, always = self.likelihood.of(active, self.reproduced, self.clean)
            self.add(logl + prior, rate, always, members)

    def add(
        self, logp: FloatArray, rate: FloatArray, always: FloatArray, members: Callable[[IntArray], IntArray]
    ) -> None:
        """Add hypotheses by their log posterior."""
        self.best = max(self.best, float(logp.max()))
        keep = np.flatnonzero(logp > self.best + log(NEGLIGIBLE))
        self.parts.append((members(keep), logp[keep], rate[keep], always[keep]))

    def all(self) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """What is left of them."""
        members, logp, rate, always = (np.concatenate(column) for column in zip(*self.parts, strict=True))
        keep = np.flatnonzero(logp > self.best + log(NEGLIGIBLE))
        return members[keep], logp[keep], rate[keep], always[keep]

    def promise(self, active: Words, logw: FloatArray) -> FloatArray:
        """How worthwhile it is to build on conjunctions, where not all can be: those that explain the trials best."""
        wrong = count(active & self.clean)
        return np.asarray(logw - 3.0 * wrong + 0.3 * count(active & self.reproduced), dtype=np.float64)


def _alone(space: Space, table: Literals, found: _Found) -> None:
    """One cause of up to three factors."""
    n = len(space.suspects)
    # Alone, a conjunction must be active wherever the target showed (a spurious showing is not worth a hypothesis).
    order = np.flatnonzero(table.covers)
    members, active, logw = order[:, None], table.active[order], table.weight[order]
    for size in range(1, min(3, n) + 1):
        found.weigh(active, logw + log(PRIOR_ORDER[size - 1] / comb(n, size)), partial(_selected, members))
        if size < 3:
            members, active, logw = _extend(table, order, members, active, logw, found)


def _extend(
    table: Literals, order: IntArray, base: IntArray, active: Words, logw: FloatArray, found: _Found
) -> tuple[IntArray, Words, FloatArray]:
    """Every conjunction with one more literal, of a later factor; of too many, the more promising ones."""
    last = table.factor[base[:, -1]]
    first = np.searchsorted(table.factor[order], last, side="right")
    repeat = len(order) - first
    if repeat.sum() > MAX_GROWN:
        ranked = np.argsort(-found.promise(active, logw), kind="stable")
        ranked = np.sort(ranked[np.cumsum(repeat[ranked]) <= MAX_GROWN])
        base, active, logw, first, repeat = base[ranked], active[ranked], logw[ranked], first[ranked], repeat[ranked]
    left = np.repeat(np.arange(len(base)), repeat)
    within = np.arange(len(left)) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    right = order[np.repeat(first, repeat) + within]
    grown = np.concatenate([base[left], right[:, None]], axis=1)
    return grown, active[left] & table.active[right], logw[left] + table.weight[right]


def _pairs(space: Space, table: Literals, found: _Found) -> None:
    """Two independent causes of up to two factors each."""
    n = len(space.suspects)
    if n < 2:
        return
    everything = np.arange(len(table))
    ones = everything[:, None]
    twos, twos_active, twos_weight = _extend(table, everything, ones, table.active, table.weight, found)
    members = np.concatenate([np.pad(ones, ((0, 0), (0, 1)), constant_values=-1), twos])
    active = np.concatenate([table.active, twos_active])
    # A conjunction of one factor is as likely in a pair as one of two.
    logw = np.concatenate([table.weight - log(n), twos_weight - log(comb(n, 2))])
    if len(members) > MAX_CONJUNCTIONS:
        best = np.sort(np.argsort(-found.promise(active, logw), kind="stable")[:MAX_CONJUNCTIONS])
        members, active, logw = members[best], active[best], logw[best]
    factors = np.where(members >= 0, table.factor[members], -1)
    full = int(count(found.reproduced))
    for start in range(0, len(members), 256):
        i, j = np.meshgrid(np.arange(start, min(start + 256, len(members))), np.arange(len(members)), indexing="ij")
        i, j = i[j > i], j[j > i]
        fits = count((active[i] | active[j]) & found.reproduced) == full
        i, j = i[fits], j[fits]
        apart = np.ones(len(i), dtype=np.bool_)
        for x in (0, 1):
            for y in (0, 1):
                apart &= (factors[i, x] != factors[j, y]) | (factors[i, x] < 0)
        i, j = i[apart], j[apart]
        found.weigh(
            active[i] | active[j],
            logw[i] + logw[j] + log(PRIOR_PAIR / 2),
            partial(_selected, members[i], members[j]),
        )


def _slots(first: IntArray, second: IntArray | None = None) -> IntArray:
    """The literals of one or two causes of each hypothesis, in their places."""
    index = np.full((len(first), 2, 3), -1, dtype=np.int64)
    index[:, 0, : first.shape[1]] = first
    if second is not None:
        index[:, 1, : second.shape[1]] = second
    return index


def _selected(first: IntArray, *second_and_keep: IntArray) -> IntArray:
    """The slots of some of the hypotheses: the last argument says of which."""
    *second, keep = second_and_keep
    return _slots(first[keep], *(members[keep] for members in second))


def _without_factors(seen: Observations, found: _Found) -> None:
    """Elsewhere, then another shape: each configuration fails at a rate of its own."""
    likelihood = found.likelihood
    failed, passed = likelihood.failed, likelihood.passed
    odd = 0.0
    rows = seen.rows[seen.informative]
    outcome = seen.reproduced[seen.informative]
    for row in np.unique(rows, axis=0) if len(rows) else rows:
        here = (rows == row).all(axis=1)
        odd += log(_beta(int(outcome[here].sum()) + 1, int((~outcome[here]).sum()) + 1))
    places = np.stack([_slots(np.empty((1, 0), np.int64))[0], np.full((2, 3), ANOTHER)])
    found.add(
        np.array([log(PRIOR_ELSEWHERE) + likelihood.log[failed, passed], log(PRIOR_OTHER_SHAPE) + odd]),
        np.array([likelihood.rate[failed, passed], 1.0]),
        np.array([likelihood.always[failed, passed], 0.0]),
        places.__getitem__,
    )


def _grouped(table: Literals, conjunctions: IntArray) -> tuple[tuple[Group, ...], IntArray]:
    """The groups, and the group of each hypothesis. Two causes come in either order."""
    factors = conjunctions
    if len(table):
        factors = np.where(conjunctions >= 0, table.factor[np.maximum(conjunctions, 0)], conjunctions)
    unique, inverse = np.unique(factors.reshape(len(factors), -1), axis=0, return_inverse=True)
    index: dict[Group, int] = {}
    number = [index.setdefault(_group(row), len(index)) for row in unique]
    return tuple(index), np.array(number, dtype=np.int64)[np.asarray(inverse).reshape(-1)]


def _group(factors: IntArray) -> Group:
    if factors[0] == ANOTHER:
        return OTHER_SHAPE
    causes = (tuple(int(f) for f in half if f >= 0) for half in (factors[:3], factors[3:]))
    return tuple(sorted(c for c in causes if c))
