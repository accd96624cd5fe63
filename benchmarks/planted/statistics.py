"""What many results say: shares, means, and how far they can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

from benchmarks.planted.results import Result

EDGES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
"""Of the bins of stated probability; the last one includes 1."""
Z = 1.96
"""Of the normal distribution for 95 %."""


@dataclass(frozen=True)
class Cell:
    """A strategy on a family: how many, the share that is right, mean trials and minutes."""

    count: int
    right: float
    trials: float
    minutes: float
    seconds: float
    isolated: int
    falsely_isolated: int


def cell(results: Iterable[Result]) -> Cell | None:
    """What these results come to; None without any."""
    found = list(results)
    if not found:
        return None

    def mean(of: Callable[[Result], float]) -> float:
        return sum(of(one) for one in found) / len(found)

    return Cell(
        len(found),
        mean(lambda one: one.right),
        mean(lambda one: one.trials),
        mean(lambda one: one.minutes),
        mean(lambda one: one.seconds),
        sum(one.status == "isolated" for one in found),
        sum(one.falsely_isolated for one in found),
    )


@dataclass(frozen=True)
class Bin:
    """Verdicts whose stated probability lies in a range: how many, and how many of them are right."""

    low: float
    high: float
    count: int
    right: int
    stated: float

    @property
    def interval(self) -> tuple[float, float]:
        """Of the share that is right, with 95 % confidence."""
        return wilson(self.right, self.count)


def wilson(right: int, count: int) -> tuple[float, float]:
    """The score interval of a binomial share at 95 %.

    E. B. Wilson: Probable Inference, the Law of Succession, and Statistical Inference, JASA 22(158), 1927,
    https://doi.org/10.1080/01621459.1927.10502953.
    """
    share, scale = right / count, Z * Z / count
    centre = (share + scale / 2) / (1 + scale)
    half = Z * sqrt(share * (1 - share) / count + scale / (4 * count)) / (1 + scale)
    return max(0.0, centre - half), min(1.0, centre + half)


def calibration(results: Sequence[Result]) -> list[Bin]:
    """The bins that are not empty. Only results that state a probability count."""
    told = [(one.probability, one.right) for one in results if one.probability is not None]
    bins = []
    for low, high in pairwise(EDGES):
        inside = [(p, right) for p, right in told if low <= p < high or p == high == EDGES[-1]]
        if inside:
            stated = sum(p for p, _ in inside) / len(inside)
            bins.append(Bin(low, high, len(inside), sum(right for _, right in inside), stated))
    return bins


def minutes_ratio(results: Sequence[Result], one: str, other: str, families: Sequence[str]) -> float | None:
    """Minutes of one strategy in those of another, over the scenarios of these families that both have met."""
    spent: dict[str, dict[tuple[str, int], float]] = {one: {}, other: {}}
    for result in results:
        if result.strategy in spent and result.family in families:
            spent[result.strategy][result.family, result.seed] = result.minutes
    both = spent[one].keys() & spent[other].keys()
    below = sum(spent[other][key] for key in both)
    return sum(spent[one][key] for key in both) / below if below else None
