"""How often the right component comes first, and whether what is given 70 % is right in 70 of a hundred cases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from ruleout.diagnosis.infer import LEAST, MOST
from ruleout.model import Component

EDGES = (0.02, 0.2, 0.4, 0.6, 0.8, 1.0)
Z = 1.645
"""Of a 90 % interval."""

Told = tuple[Mapping[Component, float], Component]
"""What was given to each component, and which one it was."""


@dataclass(frozen=True)
class Ranked:
    """The share of cases in which the right one is first, and among the first three."""

    first: float
    three: float

    def __str__(self) -> str:
        return f"first {self.first:.2f}  in three {self.three:.2f}"


@dataclass(frozen=True)
class Bin:
    """The suspects that were given a probability between two edges. `weight` is what one of them counts.

    Attributes:
        low, high: of a 90 % interval (Wilson) of the share that is right.
    """

    begin: float
    end: float
    number: float
    stated: float
    right: float
    low: float
    high: float


def ranked(told: Iterable[Told]) -> Ranked:
    """Over all cases; one of which nothing was read counts as wrong."""
    first = three = n = 0
    for likely, right in told:
        order = sorted(likely, key=lambda c: -likely[c])
        n += 1
        first += order[:1] == [right]
        three += right in order[:3]
    return Ranked(first / n, three / n) if n else Ranked(0.0, 0.0)


def bins(told: Iterable[Told], repeats: int = 1) -> list[Bin]:
    """Of the suspects that a diagnosis names. With `repeats`, each case comes so often and counts once altogether."""
    rows: list[tuple[float, bool]] = []
    for likely, right in told:
        kept = sorted(likely.items(), key=lambda item: -item[1])[:MOST]
        rows += [(p, c is right) for c, p in kept if p >= LEAST]
    found = []
    for begin, end in pairwise(EDGES):
        inside = [(p, right) for p, right in rows if begin <= p < end or p == end == EDGES[-1]]
        if inside:
            number = len(inside) / repeats
            share = sum(right for _, right in inside) / len(inside)
            low, high = _wilson(share, number)
            found.append(Bin(begin, end, number, sum(p for p, _ in inside) / len(inside), share, low, high))
    return found


def log_loss(told: Iterable[Told]) -> float:
    """The mean of -ln of what the right one was given."""
    losses = [-math.log(max(1e-3, likely.get(right, 0.0))) for likely, right in told]
    return sum(losses) / len(losses)


def _wilson(share: float, number: float) -> tuple[float, float]:
    """Wilson's interval: https://doi.org/10.1080/01621459.1927.10502953"""
    spread = Z * math.sqrt(share * (1 - share) / number + Z * Z / (4 * number * number))
    middle, scale = share + Z * Z / (2 * number), 1 + Z * Z / number
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)
