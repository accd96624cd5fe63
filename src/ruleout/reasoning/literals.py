"""A literal: "factor f is at one of the levels that carry the fault". Which levels do is part of the hypothesis.

Only levels that were tried can be told apart by evidence, so literals are subsets of the tried levels; what an untried
level does is predicted. The prior is a mixture of two carrying rates: mostly few levels carry besides the baseline's
own, sometimes most do. That all levels of a factor carry is excluded: then it would not take part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log

import numpy as np

from ruleout.reasoning.orders import LEAK, change_points
from ruleout.reasoning.space import FloatArray, IntArray, Observations, Space

RATES: tuple[tuple[float, float], ...] = ((0.9, 0.2), (0.1, 0.6))
"""(weight, carrying rate of each level besides the baseline's): the prior of a literal's levels."""

MAX_FREE_LEVELS = 8
"""Tried levels of one factor that are told apart; of more, only the first to be seen clean keep both readings."""
MAX_FREE_IN_ORDER = 4
"""The same where levels have an order: a scatter is the last resort there, and the changes tell the others apart."""

Words = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]


@dataclass(frozen=True)
class Literals:
    """All literals of all factors, one row each.

    Attributes:
        factor: which factor.
        weight: log prior of this set of levels, given that the factor takes part.
        active: on which informative trials the literal holds: a bit per trial, packed in 64-bit words.
        carry: probability that a level carries, shape (literals, most levels of a factor); 0 or 1 for tried levels.
        covers: the literal holds on every reproducing trial.
    """

    factor: IntArray
    weight: FloatArray
    active: Words
    carry: FloatArray
    covers: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

    def __len__(self) -> int:
        return len(self.factor)


def pack(bits: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Words:
    """Booleans, shape (n, trials), as words of 64 bits, shape (n, words)."""
    n, trials = bits.shape
    words = max(1, -(-trials // 64))
    padded = np.zeros((n, words * 64), dtype=np.uint8)
    padded[:, :trials] = bits
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def count(words: Words) -> IntArray:
    """The number of set bits of each row."""
    return np.asarray(np.bitwise_count(words).sum(axis=-1), dtype=np.int64)


def literals(space: Space, seen: Observations) -> Literals:
    """The literals that evidence can tell apart, given what was seen."""
    rows = seen.rows[seen.informative]
    reproduced = seen.reproduced[seen.informative]
    widest = int(space.sizes.max()) if len(space) else 1
    factor: list[int] = []
    weight: list[float] = []
    active: list[np.ndarray[tuple[int, ...], np.dtype[np.bool_]]] = []
    carry: list[FloatArray] = []
    for f in space.suspects:
        possible = space.possible(f)
        tried = [i for i, level in enumerate(possible) if i and (rows[:, f] == level).any()]
        failed = [i for i in tried if (rows[reproduced, f] == possible[i]).any()]
        doubt = [space.doubtful(f, int(possible[i])) for i in range(1, len(possible)) if i not in tried]
        place = space.place[f]
        most = MAX_FREE_LEVELS if place is None else MAX_FREE_IN_ORDER
        sets = _scattered(len(possible), tried, failed, doubt, most)
        if not sets:
            continue
        if place is not None:
            order = np.argsort(np.argsort(np.array(place)[possible]))
            at = rows[:, f][:, None] == possible
            sets = _merged(sets, change_points(order, at[reproduced].sum(axis=0), at[~reproduced].sum(axis=0)), tried)
        for chance, table in sets:
            factor.append(f)
            weight.append(log(chance))
            carry.append(np.ones(widest))
            carry[-1][possible] = table
            active.append(carry[-1][rows[:, f]] > 0.5)
    held = np.array(active, dtype=np.bool_).reshape(len(factor), len(rows))
    return Literals(
        np.array(factor, dtype=np.int64),
        np.array(weight, dtype=np.float64),
        pack(held),
        np.array(carry, dtype=np.float64).reshape(len(factor), widest),
        np.asarray(held[:, reproduced].all(axis=1), dtype=np.bool_),
    )


def _scattered(
    size: int, tried: list[int], failed: list[int], doubt: list[float], most: int
) -> list[tuple[float, FloatArray]]:
    """Sets of levels in no order: (prior, chance to carry of each level), 0 or 1 for tried ones.

    `doubt` has, of each untried level, the chance that nobody can go there. Of the tried, `most` are told apart.
    """
    runnable = _number_of([1 - d for d in doubt])
    free = [level for level in tried if level not in failed]
    # Past the limit a tried level keeps only the reading that its own trials suggest.
    spare = max(0, len(tried) - most)
    always, failed = failed[:spare], failed[spare:]
    never = free[len(free) - max(0, spare - len(always)) :] if spare > len(always) else []
    open_levels = [level for level in tried if level not in always and level not in never]
    sets = []
    for subset in range(2 ** len(open_levels)):
        carrying = {0, *always} | {level for i, level in enumerate(open_levels) if subset >> i & 1}
        if len(carrying) == size:
            continue
        logw, untried = _prior(len(carrying) - 1, len(tried), runnable)
        table = np.full(size, untried)
        table[[0, *tried]] = 0.0
        table[sorted(carrying)] = 1.0
        sets.append((exp(logw), table))
    return sets


def _merged(
    scattered: list[tuple[float, FloatArray]], ordered: Iterable[tuple[float, FloatArray]], tried: list[int]
) -> list[tuple[float, FloatArray]]:
    """Both kinds of sets, those that the tried levels cannot tell apart as one."""
    found: dict[tuple[float, ...], tuple[float, FloatArray]] = {}
    weighed = [(LEAK * p, table) for p, table in scattered] + [((1 - LEAK) * p, table) for p, table in ordered]
    for p, table in weighed:
        key = tuple(table[tried])
        total, mean = found.get(key, (0.0, np.zeros(len(table))))
        found[key] = (total + p, mean + (table - mean) * (p / (total + p)))
    return list(found.values())


def _prior(carrying: int, tried: int, runnable: FloatArray) -> tuple[float, float]:
    """Log prior that just these of the tried levels carry, and the chance that an untried one does.

    Where nobody can go there, a level is no way out: that all the others carry then means that the factor takes no
    part. So the number of untried levels that can be run is summed over.

    Args:
        carrying: tried levels that carry, the baseline not counted.
        tried: tried levels, the baseline not counted.
        runnable: the probability of each number of untried levels that can be run, from 0.
    """
    total = among = 0.0
    for untried, chance in enumerate(runnable):
        if not (others := tried + untried):
            continue
        norm = sum(w * (1 - q**others) for w, q in RATES)
        for w, q in RATES:
            here = chance / norm * w * q**carrying * (1 - q) ** (tried - carrying)
            if carrying == tried:  # not all levels can carry
                total += here * (1 - q**untried)
                among += here * (q - q**untried) if untried else 0.0
            else:
                total += here
                among += here * q
    return float(np.log(total)), among / total


def _number_of(chances: list[float]) -> FloatArray:
    """The distribution of how many of independent events happen, from none to all."""
    number = np.ones(1)
    for chance in chances:
        number = np.convolve(number, (1 - chance, chance))
    return number
