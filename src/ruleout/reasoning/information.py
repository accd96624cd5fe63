"""What a trial is expected to tell: the information between its outcome and the causes, less the risk of a mask.

Information is about which factors are the causes; which of their levels carry the fault counts a tenth, enough to
settle it when nothing else is left to ask. That tenth is measured by squares instead of logarithms: it needs no
logarithm per hypothesis, which lets thousands of configurations be compared. Where a level has an order, the change
point is asked for in any case, so what a trial tells about it counts in full: which makes a search halve, and the more
cautiously the less often the failure shows.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from math import log
from typing import TypeVar

import numpy as np

from ruleout.reasoning.beliefs import ELSEWHERE, OTHER_SHAPE, Beliefs
from ruleout.reasoning.likelihood import SPURIOUS
from ruleout.reasoning.space import BoolArray, FloatArray, IntArray

_Float = TypeVar("_Float", np.float32, np.float64)
FloatArray32 = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
MAX_HYPOTHESES = 2000
LEVELS_SHARE = 0.1
TELLS_APART = 0.25
"""Difference in the chance of a failure, of the chance of the surest one, by which a trial tells two groups apart."""
CHUNK = 4_000_000
"""Entries (hypotheses times rows) that are worked on at once."""


@dataclass(frozen=True)
class Forecast:
    """For each row: the chance that the target shows if nothing masks it, and the expected information in bits.

    `by_group` is that chance for each group that was looked at, shape (groups, rows); `mass` is their probability and
    `groups` their numbers.
    """

    shows: FloatArray
    bits: FloatArray
    by_group: FloatArray
    mass: FloatArray
    groups: IntArray

    def rivals(self, leading: int, runnable: BoolArray) -> tuple[float, float]:
        """The probability, beside the leader's, of what these rows can tell apart from it, and of what they cannot."""
        here = self.groups == leading
        if not here.any() or not runnable.any():
            return 0.0, float(self.mass[~here].sum())
        leader = self.by_group[here][:, runnable]
        apart = np.abs(self.by_group[:, runnable] - leader).max(axis=1) > TELLS_APART * leader.max()
        return float(self.mass[apart & ~here].sum()), float(self.mass[~apart & ~here].sum())

    def refuted(self, leading: int) -> FloatArray:
        """The probability of what a failure of each row would refute: expected by the leader, and less so by it."""
        here = self.groups == leading
        if not here.any():
            return np.zeros(len(self.shows))
        expected = np.maximum(self.by_group[here], 1e-9)
        return np.asarray(self.mass @ np.maximum(1 - self.by_group / expected, 0.0), dtype=np.float64)


class Outlook:
    """The likeliest hypotheses, laid out so that many rows can be asked about at once."""

    def __init__(self, beliefs: Beliefs) -> None:
        keep = np.argsort(-beliefs.probability, kind="stable")[:MAX_HYPOTHESES]
        keep = keep[np.argsort(beliefs.group[keep], kind="stable")]
        self.beliefs, self.keep = beliefs, keep
        self.weight = (beliefs.probability[keep] / beliefs.probability[keep].sum()).astype(np.float32)
        self.rate = beliefs.rate[keep].astype(np.float32)
        kind = beliefs.group[keep]
        self.groups, self.starts = np.unique(kind, return_index=True)
        self.mass = np.add.reduceat(self.weight.astype(np.float64), self.starts)
        index = beliefs.conjunctions[keep]
        self.literals = np.unique(index[index >= 0])
        self.carry = beliefs.table.carry[self.literals].astype(np.float32)
        self.factor = beliefs.table.factor[self.literals]
        # Per cause and place in it: which hypotheses have a literal there, and which one.
        place = np.searchsorted(self.literals, index)
        self.causes = []
        for cause in range(index.shape[1]):
            has = [np.flatnonzero(index[:, cause, slot] >= 0) for slot in range(index.shape[2])]
            if len(has[0]):
                self.causes.append([(h, place[h, cause, slot]) for slot, h in enumerate(has) if len(h)])
        self.searched = _searched(beliefs, self.groups)
        self.elsewhere = np.flatnonzero([beliefs.groups[g] == ELSEWHERE for g in kind])
        self.other_shape = np.flatnonzero([beliefs.groups[g] == OTHER_SHAPE for g in kind])

    def forecast(self, rows: IntArray) -> Forecast:
        """What these trials are expected to tell, each by itself."""
        size = max(1, CHUNK // max(1, len(self.weight)))
        parts = [self._some(rows[start : start + size]) for start in range(0, max(1, len(rows)), size)]
        shows, bits, by_group = (np.concatenate(column, axis=-1) for column in zip(*parts, strict=True))
        return Forecast(shows, bits, by_group, self.mass, self.groups)

    def shows(self, rows: IntArray) -> FloatArray32:
        """The chance of a failure of each row by each hypothesis, shape (hypotheses, rows)."""
        holds_at = self.carry[np.arange(len(self.literals))[:, None], rows[:, self.factor].T]
        inactive = np.ones((len(self.weight), len(rows)), dtype=np.float32)
        for places in self.causes:
            first, literal = places[0]
            holds = holds_at[literal]
            for here, literal in places[1:]:
                holds[np.searchsorted(first, here)] *= holds_at[literal]
            if len(first) == len(inactive):
                inactive *= 1 - holds
            else:
                inactive[first] *= 1 - holds
        inactive[self.elsewhere] = 0.0
        if len(self.other_shape):
            inactive[self.other_shape] = 1 - self.beliefs.own_rate(rows)
        p = self.rate[:, None] * (1 - inactive)
        p += np.float32(SPURIOUS) * inactive
        return p

    def removed(self, row: IntArray) -> float:
        """The probability of causes that are not active on a row."""
        active = self.beliefs.activity(row[None, :], self.keep)[:, 0]
        return float(self.weight @ (1 - active))

    def given(self, likelihood: FloatArray32) -> Outlook:
        """The same hypotheses after an outcome of this likelihood, one number a hypothesis."""
        after = copy(self)
        weight = self.weight * likelihood
        after.weight = (weight / weight.sum()).astype(np.float32)
        after.mass = np.maximum(np.add.reduceat(after.weight.astype(np.float64), self.starts), 1e-30)
        return after

    def _some(self, rows: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        p = self.shows(rows)
        joint = self.weight[:, None] * p
        by_group = np.add.reduceat(joint, self.starts, axis=0)
        shows = by_group.sum(axis=0, dtype=np.float64)
        squares = np.einsum("hr,hr->r", joint, p).astype(np.float64)
        by_group /= self.mass.astype(np.float32)[:, None]
        about_causes = entropy(shows) - self._open_after(p, by_group)
        about_all = 4 * (squares - shows**2)
        bits = (1 - LEVELS_SHARE) * about_causes + LEVELS_SHARE * about_all
        return shows, np.maximum(bits, 0.0), by_group

    def _open_after(self, p: FloatArray32, by_group: FloatArray32) -> FloatArray:
        """What chance remains of each outcome once the truth is known: bits that no trial of the row tells.

        The truth is a group; of one with a change point also where that is, so that a level is known to carry or not.
        """
        sought = self.searched
        after = self.mass[~sought] @ entropy(by_group[~sought])
        if sought.any():
            here = np.repeat(sought, np.diff(np.append(self.starts, len(self.weight))))
            weight, rate, quiet = self.weight[here], self.rate[here], np.float32(SPURIOUS)
            rest = entropy(np.array([quiet]))
            per_showing = weight * (entropy(rate) - rest) / np.maximum(rate - quiet, quiet)
            after = after + weight.sum() * rest + per_showing @ (p[here] - quiet)
        return np.asarray(after, dtype=np.float64)


def _searched(beliefs: Beliefs, groups: IntArray) -> BoolArray:
    """Which groups have a factor whose levels have an order."""
    ordered = {f for f, place in enumerate(beliefs.space.place) if place is not None}
    return np.array([any(ordered & set(cause) for cause in beliefs.groups[g]) for g in groups], dtype=np.bool_)


def entropy(p: np.ndarray[tuple[int, ...], np.dtype[_Float]]) -> np.ndarray[tuple[int, ...], np.dtype[_Float]]:
    """Bits of a coin that falls with probability p."""
    p = np.clip(p, 1e-7, 1 - 1e-7)
    q = 1 - p
    return -(p * np.log(p) + q * np.log(q)) / p.dtype.type(log(2))
