"""Which levels lead to another failure: learnt, so that trials that would say nothing are avoided.

A mask is taken to be one level or a pair of levels (the baseline's included). One that held in an informative trial is
no mask. Each kind of other failure has one such rule, or two: the posterior over both is enumerated, since it is sharp
where it matters: what all trials that failed alike have in common carries the blame, and what only one of them had is
acquitted. Where two rules cannot explain what failed alike, as where nearly every change ends in the same refusal, its
trials are parted by the levels that explain most of them. Where levels have an order a mask may also be a stretch of
them, as builds are that stay broken for a while.

A setting that the engine puts in the place of another hides what was asked for as a failure does, and is learnt alike:
from what was asked for, with one kind for each level that was overridden.
It chooses trials, and says how far a level that never ran counts as a way out of a cause.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ruleout.reasoning.space import BoolArray, FloatArray, IntArray, Observations, Space

PRIOR_LEVEL, PRIOR_PAIR = 0.025, 0.002
"""Chance that a level, or a pair of levels, masks, while nothing has been seen."""
STRENGTH = 0.5
"""How many masks that belief is worth: deployments differ, and each shows soon whether it is touchy or not."""
UNEXPLAINED = 0.03
"""Chance that a trial failed alike for a third reason."""
STRETCH = 0.5
"""How likely a mask is a stretch of levels in an order, for one that is just one of them."""
MAX_RULES = 800
"""Rules of one kind of failure that are paired with each other."""
SUREST = 1 - 1e-6
"""No number of failures makes it certain that a level can never be run."""
SURELY = 0.8
"""Blame from which a level counts as impossible by itself."""
CHUNK = 512
"""Rows that are worked on at once."""


@dataclass(frozen=True)
class Masks:
    """The chance of each pair of levels (on the diagonal: of single levels) to mask.

    Attributes:
        survive: log(1 - chance) of rules that no failure has spoken for, shape (all levels squared), upper triangle.
        blame: the same rules' chance of being the reason, shape (kinds, all levels squared).
        overriding: the same of what makes the engine put another level in the place of one.
    """

    offsets: IntArray
    width: int
    survive: FloatArray
    blame: FloatArray
    overriding: FloatArray

    @classmethod
    def of(cls, space: Space, seen: Observations) -> Masks:
        """What the observations say of masks."""
        offsets = (np.cumsum(space.sizes) - space.sizes).astype(np.int64)
        width = int(space.sizes.sum())
        possible = np.triu(np.ones((width, width), dtype=np.bool_))
        for row in seen.rows[seen.informative]:
            on = row + offsets
            possible[np.ix_(on, on)] = False
        labels = np.array(seen.label)
        kinds = [
            part
            for label in sorted(set(seen.label) - {""})
            for part in _parts(space, seen.rows + offsets, offsets, labels == label, np.diag(possible))
        ]
        prior = np.where(possible, _prior(possible, offsets, len(kinds)), 0.0)
        stretches = [_stretches(space, seen, offsets, alike) for alike in kinds]
        blame = [
            _blame(prior, seen.rows[alike] + offsets, reach) for alike, reach in zip(kinds, stretches, strict=True)
        ]
        overriding = _overriding(seen, offsets, width)
        return cls(offsets, width, np.log1p(-prior).ravel(), _stacked(blame, width), _stacked(overriding, width))

    def impossible(self, space: Space, seen: Observations) -> frozenset[tuple[int, int]]:
        """Levels that failed otherwise by themselves, and that alone are surely enough to do so.

        Of levels in an order also those between two such, if so many failed alike that they surely do."""
        found = set()
        for row in seen.rows[~seen.informative]:
            moved = np.flatnonzero(row)
            if len(moved) == 1:
                level = self.offsets[moved[0]] + row[moved[0]]
                if self.blame[:, level * (self.width + 1)].max(initial=0.0) > SURELY:
                    found.add((int(moved[0]), int(row[moved[0]])))
        for f, place in enumerate(space.place):
            if place is not None and (alone := sorted(place[level] for g, level in found if g == f)):
                at = self.offsets[f] + np.arange(len(place))
                surely = self.blame[:, at * (self.width + 1)].max(axis=0) > SURELY
                found |= {(f, int(v)) for v in np.flatnonzero(surely) if alone[0] < place[v] < alone[-1]}
        return frozenset(found)

    def doubt(self) -> dict[tuple[int, int], float]:
        """Of levels that failures speak against, the chance that they fail otherwise whatever else is set."""
        alone = np.minimum(1 - np.prod(1 - self.blame[:, :: self.width + 1], axis=0), SUREST)
        at = np.flatnonzero(alone > 0)
        factor = np.searchsorted(self.offsets, at, side="right") - 1
        return {(int(f), int(i - self.offsets[f])): float(alone[i]) for f, i in zip(factor, at, strict=True)}

    def risk(self, rows: IntArray) -> FloatArray:
        """The probability that each row is masked, or that the engine does not take it as it is."""
        risk = np.zeros(len(rows))
        # The lower triangle is 0, and levels of a row come in the order of their factors.
        for start in range(0, len(rows), CHUNK):
            on = rows[start : start + CHUNK] + self.offsets
            rules = (on[:, :, None] * self.width + on[:, None, :]).reshape(len(on), -1)
            runs = np.exp(self.survive[rules].sum(axis=1))
            for kind in (*self.blame, *self.overriding):
                runs *= 1 - np.minimum(kind[rules].sum(axis=1), 1.0)
            risk[start : start + CHUNK] = 1 - runs
        return risk


def _stacked(kinds: list[FloatArray], width: int) -> FloatArray:
    return np.array(kinds).reshape(len(kinds), width * width)


def _overriding(seen: Observations, offsets: IntArray, width: int) -> list[FloatArray]:
    """Of each level that was overridden, the blame of each rule; what a trial had that was not is acquitted."""
    replaced: BoolArray = seen.requested != seen.rows
    found = []
    for f in np.flatnonzero(replaced.any(axis=0)):
        possible = np.triu(np.ones((width, width), dtype=np.bool_))
        for row in seen.requested[~replaced[:, f]]:
            on = row + offsets
            possible[np.ix_(on, on)] = False
        prior = np.where(possible, _prior(possible, offsets, 1), 0.0)
        for level in np.unique(seen.requested[replaced[:, f], f]):
            alike = replaced[:, f] & (seen.requested[:, f] == level)
            found.append(_blame(prior, seen.requested[alike] + offsets, np.zeros((0, width))))
    return found


def _parts(space: Space, on: IntArray, offsets: IntArray, alike: BoolArray, possible: BoolArray) -> list[BoolArray]:
    """The trials that failed alike, whole where two rules explain them, else by the level that explains most of them.

    Args:
        on: the levels of all trials, shape (trials, factors).
        possible: the levels that may mask by themselves.
    """
    left, parts = alike.copy(), []
    moved = (on != offsets) & possible[on]
    # One stretch may explain all levels that have an order.
    on = np.where([place is not None for place in space.place], offsets, on)
    while left.any():
        levels = np.unique(on[left][moved[left]])
        if not len(levels):
            break
        covers = ((on[:, :, None] == levels) & moved[:, :, None]).any(axis=1) & left[:, None]
        alone = (covers & (moved.sum(axis=1) == 1)[:, None]).sum(axis=0)
        # Of equals the one with the earliest trials: neither names nor the order of factors may decide.
        best = max(range(len(levels)), key=lambda i: (alone[i] > 0, covers[:, i].sum(), covers[:, i].tolist()))
        parts.append(covers[:, best])
        left &= ~covers[:, best]
    if left.any():
        parts.append(left)
    return parts if len(parts) > 2 else [alike]


def _prior(possible: BoolArray, offsets: IntArray, kinds: int) -> FloatArray:
    """Chance of each rule: the mean of a beta distribution after what was acquitted and what was found."""
    baseline = np.zeros(len(possible), dtype=np.bool_)
    baseline[offsets] = True
    acquitted = ~possible & ~(baseline[:, None] & baseline[None, :])
    levels = int(np.diag(acquitted).sum())
    pairs = int(np.triu(acquitted, 1).sum())
    level, pair = (
        (STRENGTH + kinds / 2) / (STRENGTH / mean + kinds / 2 + n)
        for mean, n in ((PRIOR_LEVEL, levels), (PRIOR_PAIR, pairs))
    )
    return np.where(np.eye(len(possible), dtype=np.bool_), level, pair)


def _stretches(space: Space, seen: Observations, offsets: IntArray, alike: BoolArray) -> FloatArray:
    """Of each stretch of levels in an order in which these trials failed alike, the chance that it reaches a level.

    A stretch ends where a trial was informative, or anywhere before: outside of the levels that failed, a level is
    reached the less the farther it is. After n of them one in between fails by n / (n + 1) (rule of succession).

    Returns: shape (stretches, all levels).
    """
    width = int(space.sizes.sum())
    found = []
    for f, place in enumerate(space.place):
        if place is None:
            continue
        at = np.array(place)
        ran = np.unique(at[seen.ran(f)])
        failed = np.setdiff1d(at[seen.rows[alike, f]], ran)
        for gap in np.unique(np.searchsorted(ran, failed)):
            here = failed[np.searchsorted(ran, failed) == gap]
            first, last = here[0], here[-1]
            beyond = np.maximum(0, np.maximum(first - at, at - last))
            # Where it has to end is an informative level, or the end of the order.
            room = np.where(
                at < first, first - max(ran[ran < first], default=-1), min(ran[ran > last], default=len(at)) - last
            )
            chance = np.minimum(1 - beyond / room, (last - first + 1) / (last - first + 1 + beyond))
            chance[beyond == 0] = len(here) / (len(here) + 1)
            chance[np.isin(at, here)] = 1.0
            chance[(np.searchsorted(ran, at) != gap) | np.isin(at, ran)] = 0.0
            reach = np.zeros(width)
            reach[offsets[f] : offsets[f] + len(at)] = chance
            found.append(reach)
    return np.array(found).reshape(len(found), width)


def _blame(prior: FloatArray, masked: IntArray, stretches: FloatArray) -> FloatArray:
    """Of each rule, the chance that it is behind these trials, which failed alike; shape (all levels squared)."""
    width = len(prior)
    alike = np.zeros((len(masked), width), dtype=np.bool_)
    alike[np.arange(len(masked))[:, None], masked] = True
    i, j = np.nonzero((prior > 0) & (alike.T.astype(np.int64) @ alike > 0))
    covers: BoolArray = alike[:, i] & alike[:, j]
    weight = prior[i, j]
    order = np.argsort(-np.log(weight) + np.log(UNEXPLAINED) * covers.sum(axis=0), kind="stable")[:MAX_RULES]
    i, j, covers, weight = i[order], j[order], covers[:, order], weight[order]
    # Stretches come last: a stretch covers what is surely in it.
    sure = (stretches == 1).astype(np.int64)
    covers = np.concatenate([covers, alike @ sure.T > 0], axis=1).astype(np.int64)
    weight = np.concatenate([weight, STRETCH * (sure @ np.diag(prior)) / np.maximum(sure.sum(axis=1), 1)])
    one = weight * UNEXPLAINED ** (len(masked) - covers.sum(axis=0))
    either = covers.sum(axis=0)[:, None] + covers.sum(axis=0)[None, :] - covers.T @ covers
    two = np.triu(weight[:, None] * weight[None, :] * UNEXPLAINED ** (len(masked) - either), 1)
    total = UNEXPLAINED ** len(masked) + one.sum() + two.sum()
    chance = np.zeros((width, width))
    behind = (one + two.sum(axis=0) + two.sum(axis=1)) / total
    chance[i, j] = behind[: len(i)]
    chance[np.diag_indices(width)] += behind[len(i) :] @ stretches
    return np.minimum(chance, 1.0).ravel()
