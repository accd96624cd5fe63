"""All hypotheses that matter, weighed at once.

Exact over one cause of up to three factors, and over two of up to two factors each, which may have one in common; where
those are too many, the ones that explain the trials worst are left out. Beyond (up to four causes of up to four
factors) a beam: the likeliest hypotheses are grown by a literal in every way, and so again. A story that fits only
because the truth was not in the space is thereby measured against the truth's neighbours.
"""

from __future__ import annotations

from math import comb, lgamma, log

import numpy as np

from ruleout.reasoning.likelihood import Likelihood
from ruleout.reasoning.literals import Literals, Words, count
from ruleout.reasoning.space import BoolArray, FloatArray, IntArray, Observations, Space

CAUSES, FACTORS = 4, 4
"""The most causes of a hypothesis, and the most factors of a cause."""
PRIOR_OTHER_SHAPE = 0.01
PRIOR_CAUSES = (0.76, 0.10, 0.03, 0.02)
"""Prior of one, two, three, four independent causes."""
ALONE = (0.53, 0.34, 0.12, 0.01)
"""Prior of the number of factors of a cause that is the only one. Four are hardly ever needed; that they may be guards
against taking three of them for all."""
IN_COMPANY = (0.50, 0.38, 0.10, 0.02)
"""The same where there are several: they are rarely all complicated."""
SAME_LEVELS = 0.5
"""Chance that a factor that two causes have in common carries both with the same levels."""
MAX_CONJUNCTIONS = 2000
"""Conjunctions that are paired with each other."""
MAX_GROWN = 600_000
"""Conjunctions that are looked at at once."""
NEGLIGIBLE = 1e-7
"""Hypotheses this much less likely than the likeliest are dropped."""
MAX_KEPT = 60_000
"""Of each kind of hypotheses the likeliest are kept; there are more only while little has been seen."""
EXACT = 32
BEAM = 120
ROUNDS = 3
BEAM_LITERALS = 300
UNEXPLAINED, WRONG = 1.2, 1.5
"""What a failure without a cause, and a clean trial with one, cost a hypothesis that is still growing (nats)."""
_ODD = np.int64(0x1E3779B97F4A7C15)
"""With the shift in `set_key` it makes matter which literal belongs to which cause; any odd number does."""
ANOTHER = -2
"""Stands in the places of the literals of "another shape"; -1 is an empty place."""


class Found:
    """Collects hypotheses with their log posterior, and drops at once those that cannot matter."""

    def __init__(self, likelihood: Likelihood, reproduced: Words, clean: Words) -> None:
        self.likelihood, self.reproduced, self.clean = likelihood, reproduced, clean
        self.best = -np.inf
        self.parts: list[tuple[IntArray, FloatArray, FloatArray, FloatArray]] = []
        self.frontier: list[IntArray] = []

    def weigh(self, active: Words, prior: FloatArray, members: _Selection, grow: bool = True) -> None:
        """Add hypotheses by their activity and log prior; `members` gives the literals of some of them; `grow`: larger
        ones may be grown from them."""
        if not len(prior):
            return
        logl, rate, always = self.likelihood.of(active, self.reproduced, self.clean)
        logp = logl + prior
        if grow:
            self.frontier.append(members(_top(logp, BEAM)))
        self.add(logp, rate, always, members)

    def add(self, logp: FloatArray, rate: FloatArray, always: FloatArray, members: _Selection) -> None:
        """Add hypotheses by their log posterior."""
        self.best = max(self.best, float(logp.max()))
        keep = _likeliest(logp, np.flatnonzero(logp > self.best + log(NEGLIGIBLE)))
        self.parts.append((members(keep), logp[keep], rate[keep], always[keep]))

    def all(self) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """What is left of them: literals, log posterior, expected rate, probability of showing always."""
        members, logp, rate, always = (np.concatenate(column) for column in zip(*self.parts, strict=True))
        keep = _likeliest(logp, np.flatnonzero(logp > self.best + log(NEGLIGIBLE)))
        return members[keep], logp[keep], rate[keep], always[keep]

    def promise(self, active: Words, logw: FloatArray) -> FloatArray:
        """How worthwhile it is to build on conjunctions, where not all can be: those that explain the trials best."""
        wrong = count(active & self.clean)
        return np.asarray(logw - 3.0 * wrong + 0.3 * count(active & self.reproduced), dtype=np.float64)


def _likeliest(logp: FloatArray, these: IntArray) -> IntArray:
    """Of these hypotheses the MAX_KEPT likeliest, in their order."""
    if len(these) <= MAX_KEPT:
        return these
    return np.sort(these[np.argsort(-logp[these], kind="stable")[:MAX_KEPT]])


def _top(score: FloatArray, n: int) -> IntArray:
    """The n highest, and those that are level with the last of them: the order of the factors must not decide."""
    if len(score) <= n:
        return np.arange(len(score))
    least = np.partition(score, len(score) - n)[len(score) - n] - 1e-9
    return np.flatnonzero(score >= least)[: 4 * n]


class _Selection:
    """The literals of some of many hypotheses, put in their places only for those that are kept."""

    def __init__(self, *members: IntArray) -> None:
        self.members = members

    def __call__(self, keep: IntArray) -> IntArray:
        index = np.full((len(keep), CAUSES, FACTORS), -1, dtype=np.int64)
        for cause, members in enumerate(self.members):
            index[:, cause, : members.shape[1]] = members[keep]
        return index


class _Whole(_Selection):
    """Hypotheses whose literals are in their places already."""

    def __call__(self, keep: IntArray) -> IntArray:
        return self.members[0][keep]


def enumerate_all(
    space: Space, table: Literals, seen: Observations, reproduced: Words, clean: Words, elsewhere: float
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Literals, shape (hypotheses, CAUSES, FACTORS), log posterior, rate, probability of showing always.

    `elsewhere`: the log prior of the hypothesis that no factor takes part.
    """
    found = Found(Likelihood(int(count(reproduced)), int(count(clean))), reproduced, clean)
    _without_factors(space, seen, elsewhere, found)
    _alone(space, table, found)
    _pairs(space, table, found)
    _beyond(space, table, found)
    return found.all()


def _exact(table: Literals) -> bool:
    """Whether there are so few literals that hypotheses by which a failure was a coincidence are weighed as well."""
    return len(table) <= EXACT


def log_prior(sizes: IntArray, factors: int) -> FloatArray:
    """Log prior of sets of causes by the number of factors of each, shape (n, CAUSES), 0 for no cause.

    The density of one set: P(number of causes) * P(sizes) / number of such sets; literals' own weights not included.
    """
    causes = np.count_nonzero(sizes, axis=1)
    share = np.log(np.array([(1.0, *ALONE), (1.0, *IN_COMPANY)]))
    ways = np.array([0.0] + [log(comb(factors, k)) if k <= factors else np.inf for k in range(1, FACTORS + 1)])
    company = (causes > 1).astype(np.int64)
    orders = np.array([lgamma(k + 1) for k in range(CAUSES + 1)])
    each = share[company[:, None], sizes] - ways[sizes]
    return np.asarray(np.log(PRIOR_CAUSES)[causes - 1] + orders[causes] + each.sum(axis=1), dtype=np.float64)


def _size_prior(sizes: tuple[int, ...], factors: int) -> float:
    return float(log_prior(np.array([sizes + (0,) * (CAUSES - len(sizes))]), factors)[0])


def _alone(space: Space, table: Literals, found: Found) -> None:
    """One cause of up to three factors."""
    n = len(space.suspects)
    # Alone, a conjunction must be active wherever the target showed (a spurious showing is not worth a hypothesis).
    order = np.flatnonzero(table.covers | _exact(table))
    members, active, logw = order[:, None], table.active[order], table.weight[order]
    for size in range(1, min(3, n) + 1):
        found.weigh(active, logw + _size_prior((size,), n), _Selection(members))
        if size < 3:
            members, active, logw = _extend(table, order, members, active, logw, found)


def _extend(
    table: Literals, order: IntArray, base: IntArray, active: Words, logw: FloatArray, found: Found
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


def _pairs(space: Space, table: Literals, found: Found) -> None:
    """Two independent causes of up to two factors each."""
    n = len(space.suspects)
    if n < 2:
        return
    everything = np.arange(len(table))
    ones = everything[:, None]
    twos, twos_active, twos_weight = _extend(table, everything, ones, table.active, table.weight, found)
    members = np.concatenate([np.pad(ones, ((0, 0), (0, 1)), constant_values=-1), twos])
    active = np.concatenate([table.active, twos_active])
    sizes = np.repeat([1, 2], [len(ones), len(twos)])
    logw = np.concatenate([table.weight, twos_weight])
    if len(members) > MAX_CONJUNCTIONS:
        promise = found.promise(active, logw - np.log(n) * sizes)
        best = np.sort(np.argsort(-promise, kind="stable")[:MAX_CONJUNCTIONS])
        members, active, logw, sizes = members[best], active[best], logw[best], sizes[best]
    prior = np.array([[0.0] * 3] + [[0.0] + [_size_prior((a, b), n) for b in (1, 2)] for a in (1, 2)])
    full = int(count(found.reproduced))
    for start in range(0, len(members), 256):
        i, j = np.meshgrid(np.arange(start, min(start + 256, len(members))), np.arange(len(members)), indexing="ij")
        i, j = i[j > i], j[j > i]
        fits = (count((active[i] | active[j]) & found.reproduced) == full) | _exact(table)
        i, j = i[fits], j[fits]
        may, common, more = _side_by_side(table, members[i], members[j])
        # Those that share a factor are not grown: they would crowd out what has more causes.
        for these in (may & ~common, may & common):
            one, other = i[these], j[these]
            found.weigh(
                active[one] | active[other],
                logw[one] + logw[other] + prior[sizes[one], sizes[other]] + more[these],
                _Selection(members[one], members[other]),
                grow=not common[these].any(),
            )


def _side_by_side(table: Literals, one: IntArray, other: IntArray) -> tuple[BoolArray, BoolArray, FloatArray]:
    """Which conjunctions, of one or two literals each, are two causes, which share a factor, and the log of what that
    does to their weight.

    They may have one factor in common. Mostly it carries both with the same levels, which then count once. If it is all
    of one, the other is to have those levels and more: else it says nothing new, or is the same as without that factor.

    Args:
        one, other: their literals, shape (n, 2), -1 where none; the smaller ones in `one`.
    """
    factors = [np.where(members >= 0, table.factor[members], -1 - k) for k, members in enumerate((one, other))]
    both = factors[0][:, :, None] == factors[1][:, None, :]
    at, x, y = np.nonzero(both)
    first, second = one[at, x], other[at, y]
    may = both.sum(axis=(1, 2)) <= (other[:, 1] >= 0)
    beyond = count(table.active[second] & ~table.active[first]) > 0
    within = count(table.active[first] & ~table.active[second]) == 0
    may[at[(one[at, 1] < 0) & ~(beyond & within)]] = False
    more = np.zeros(len(one))
    alike = (first == second) * SAME_LEVELS / np.exp(table.weight[first])
    more[at] = np.log(alike + 1 - SAME_LEVELS)
    return may, both.any(axis=(1, 2)), more


def _beyond(space: Space, table: Literals, found: Found) -> None:
    """Grown literal by literal from the likeliest hypotheses and from single ones, for some rounds."""
    literals = _top(table.weight, BEAM_LITERALS)
    if not len(literals):
        return
    frontier = [_Selection(literals[:, None])(np.arange(len(literals))), *found.frontier]
    weighed = np.zeros(0, dtype=np.int64)
    full = int(count(found.reproduced))
    for _ in range(ROUNDS):
        best = _most_promising(space, table, found, _each_once(np.concatenate(frontier)))
        grown = _each_once(_grown(table, best, literals))
        keys = set_key(grown)
        new = ~np.isin(keys, weighed)
        grown, weighed = grown[new], np.concatenate([weighed, keys[new]])
        if not len(grown):
            return
        frontier = [best, grown]
        outside = grown[_not_enumerated(grown)]
        active = _activity(table, outside)
        fits = (count(active & found.reproduced) == full) | _exact(table)
        outside, active = outside[fits], active[fits]
        found.weigh(active, _prior_of(space, table, outside), _Whole(outside))


def _most_promising(space: Space, table: Literals, found: Found, members: IntArray) -> IntArray:
    """What to grow from. A failure that is not explained yet asks for another cause, a clean trial that should have
    failed for another factor: growing mends either, so neither counts as heavily as in the likelihood."""
    active = _activity(table, members)
    unexplained = count(~active & found.reproduced)
    wrong = count(active & found.clean)
    score = _prior_of(space, table, members) - UNEXPLAINED * unexplained - WRONG * wrong
    return members[_top(score, BEAM)]


def _prior_of(space: Space, table: Literals, members: IntArray) -> FloatArray:
    sizes = np.count_nonzero(members >= 0, axis=2)
    weight = np.where(members >= 0, table.weight[members], 0.0).sum(axis=(1, 2))
    return log_prior(sizes, len(space.suspects)) + np.asarray(weight, dtype=np.float64)


def _not_enumerated(members: IntArray) -> BoolArray:
    """Outside of one cause of up to three factors and two of up to two."""
    sizes = np.count_nonzero(members >= 0, axis=2)
    causes = np.count_nonzero(sizes, axis=1)
    return np.asarray((causes > 2) | (sizes.max(axis=1) > np.where(causes == 1, 3, 2)), dtype=np.bool_)


def _grown(table: Literals, members: IntArray, literals: IntArray) -> IntArray:
    """Each hypothesis with each literal added to each of its causes, and as a cause of its own."""
    sizes = np.count_nonzero(members >= 0, axis=2)
    causes = np.count_nonzero(sizes, axis=1)
    factors = np.where(members >= 0, table.factor[members], -1).reshape(len(members), -1)
    h = np.repeat(np.arange(len(members)), len(literals))
    x = np.tile(literals, len(members))
    free = ~(factors[h] == table.factor[x][:, None]).any(axis=1)
    h, x = h[free], x[free]
    parts = []
    for cause in range(CAUSES):
        size = sizes[h, cause]
        # Grown in place if the cause is there; or the next cause is begun.
        take = np.flatnonzero(np.where(size > 0, size < FACTORS, causes[h] == cause))
        grown = members[h[take]].copy()
        grown[np.arange(len(take)), cause, size[take]] = x[take]
        parts.append(grown)
    return np.concatenate(parts)


def _each_once(members: IntArray) -> IntArray:
    """Each set of causes once."""
    return np.asarray(members[np.unique(set_key(members), return_index=True)[1]])


def set_key(members: IntArray) -> IntArray:
    """A number per set of causes, whatever their order and that of their literals.

    Two sets share one with a chance of about 2^-64.
    """
    if not len(members):
        return np.zeros(0, dtype=np.int64)
    # However many are drawn, the first ones are the same.
    number = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, int(members.max()) + 4, dtype=np.int64)
    with np.errstate(over="ignore"):
        cause = number[members.reshape(len(members), CAUSES, FACTORS) + 3].sum(axis=2)
        return np.asarray(((cause ^ (cause >> 32)) * _ODD).sum(axis=1))


def _activity(table: Literals, members: IntArray) -> Words:
    """On which trials each hypothesis is active, as bits."""
    total = np.zeros((len(members), table.active.shape[1]), dtype=np.uint64)
    for cause in range(CAUSES):
        exists = members[:, cause, 0] >= 0
        holds = np.full_like(total, np.uint64(2**64 - 1))
        for slot in range(FACTORS):
            has = members[:, cause, slot] >= 0
            holds[has] &= table.active[members[has, cause, slot]]
        total[exists] |= holds[exists]
    return total


def _without_factors(space: Space, seen: Observations, elsewhere: float, found: Found) -> None:
    """Elsewhere, then another shape: each configuration fails at a rate of its own."""
    likelihood = found.likelihood
    failed, passed = likelihood.failed, likelihood.passed
    odd = 0.0
    rows = seen.rows[seen.informative]
    outcome: BoolArray = seen.reproduced[seen.informative]
    for row in np.unique(rows, axis=0) if len(rows) else rows:
        here = (rows == row).all(axis=1)
        odd += likelihood.own(int(outcome[here].sum()), int((~outcome[here]).sum()))
    # Few factors leave no room for other shapes: with one or two, every shape is among the hypotheses.
    prior = PRIOR_OTHER_SHAPE * min(1.0, (len(space.suspects) / 8) ** 2)
    places = np.full((2, CAUSES, FACTORS), -1, dtype=np.int64)
    places[1] = ANOTHER
    found.add(
        np.array([elsewhere + likelihood.log[failed, passed], log(max(prior, 1e-9)) + odd]),
        np.array([likelihood.rate[failed, passed], 1.0]),
        np.array([likelihood.always[failed, passed], 0.0]),
        _Whole(places),
    )
