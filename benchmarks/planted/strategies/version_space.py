"""Which conjunctions are consistent with a set of runs: the analysis of rows that were not chosen one after the other.

A conjunction of factors is consistent if no clean run has of each factor a level that a failing run had. Only the
smallest are of interest: each larger one that contains them is consistent too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from benchmarks.planted.scenario import CLEAN, REPRODUCED, Launch

LARGEST = 3
"""Factors of a conjunction at most."""


def consistent(launches: Sequence[Launch], names: Sequence[str]) -> list[frozenset[str]]:
    """The smallest consistent conjunctions, of up to three factors; masked runs say nothing.

    Empty when no conjunction explains the runs. The empty conjunction means that nothing was ever clean.
    """
    failing = [launch.config for launch in launches if launch.outcome == REPRODUCED]
    clean = [launch.config for launch in launches if launch.outcome == CLEAN]
    carrying = {name: {config[name] for config in failing} for name in names}
    clears = {name: frozenset(i for i, c in enumerate(clean) if c[name] not in carrying[name]) for name in names}
    found: list[frozenset[str]] = []
    for size in range(LARGEST + 1):
        for chosen in map(frozenset, combinations(names, size)):
            if any(smaller <= chosen for smaller in found):
                continue
            if len(frozenset[int]().union(*(clears[name] for name in chosen))) == len(clean):
                found.append(chosen)
    return found
