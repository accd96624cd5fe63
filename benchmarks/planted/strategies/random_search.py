"""Random configurations until one conjunction is left that explains them all."""

from __future__ import annotations

import random

from benchmarks.planted.bench import Answer, Bench, SpentError, factors_only
from benchmarks.planted.strategies.version_space import consistent

LEAST = 12
"""Runs before it believes anything."""


def random_search(bench: Bench) -> Answer:
    """Each factor at a level drawn at random, run after run."""
    luck = random.Random(bench.scenario.seed)
    names = [factor.name for factor in bench.scenario.factors]
    bench.run(bench.scenario.baseline)
    left: list[frozenset[str]] = []
    try:
        while len(left) != 1 or len(bench.launches) < LEAST:
            bench.run({factor.name: luck.choice(factor.levels) for factor in bench.scenario.factors})
            left = consistent(bench.launches, names)
            if not left:
                return Answer(status="undecided", note="no conjunction explains the runs")
    except SpentError:
        pass
    if len(left) == 1:
        return Answer(factors_only(left[0]) if left[0] else ())
    return Answer(status="undecided", note=f"{len(left)} conjunctions explain the runs")
