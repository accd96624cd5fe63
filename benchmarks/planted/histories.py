"""Linear histories: one ordered factor whose revisions are clean up to a change, and fail from there on."""

from __future__ import annotations

import random
from dataclasses import dataclass

from benchmarks.planted.scenario import MASKED, Factor, Mask, Scenario

UNTESTABLE_SHARE = 0.2
STRETCH_SHARE = 0.25


@dataclass(frozen=True)
class Kind:
    """Of how many revisions, how often the fault shows, and which share cannot be tested: scattered, or in a row."""

    length: int
    rate: float
    about: str
    gaps: float = 0.0
    stretch: float = 0.0


HISTORIES: dict[str, Kind] = {
    f"history-{length}{suffix}": Kind(length, rate, f"{length} revisions{words}", gaps, stretch)
    for length in (20, 128)
    for suffix, rate, gaps, stretch, words in (
        ("", 1.0, 0.0, 0.0, ""),
        ("-flaky", 0.5, 0.0, 0.0, ", shows in half of the runs"),
        ("-often", 0.8, 0.0, 0.0, ", shows in four of five runs"),
        ("-gaps", 1.0, UNTESTABLE_SHARE, 0.0, ", a fifth untestable"),
        ("-stretch", 1.0, 0.0, STRETCH_SHARE, ", a quarter in a row untestable"),
    )
}


def history(family: str, seed: int) -> Scenario:
    """The newest revision fails, the oldest does not. The revisions that cannot be tested do not build."""
    kind, luck = HISTORIES[family], random.Random(f"{family}/{seed}")
    width = len(str(kind.length - 1))
    revisions = tuple(f"r{number:0{width}d}" for number in range(kind.length))
    first_bad = luck.randrange(1, kind.length)
    factor = Factor("revision", "--revision", revisions, revisions[-1], ordered=True)
    broken = luck.sample(revisions[1:-1], round(kind.gaps * kind.length))
    if kind.stretch:
        long = round(kind.stretch * kind.length)
        start = luck.randrange(1, kind.length - long)
        broken = list(revisions[start : start + long])
    masks = (Mask({factor.name: frozenset(broken)}, "does-not-build"),) if broken else ()
    cause = {factor.name: frozenset(revisions[first_bad:])}
    return Scenario(family, seed, (factor,), (cause,), "assert-in-decode", masks, kind.rate)


def first_bad(scenario: Scenario) -> str:
    """The oldest revision that can be seen to fail: what a bisection can find."""
    factor = scenario.ordered
    assert factor is not None
    carrying = scenario.causes[0][factor.name]
    return next(r for r in factor.levels if r in carrying and scenario.outcome({factor.name: r}, 0) != MASKED)
