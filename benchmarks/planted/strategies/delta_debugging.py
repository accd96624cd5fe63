"""Delta debugging between a clean run and the failing one: `ddmin` over the factors in which they differ.

A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing Input, IEEE TSE 28(2), 2002,
https://doi.org/10.1109/32.988498. A masked run is their unresolved outcome. The clean run is found at random, as a
person would who has none. Written here because it is short: picire (https://pypi.org/project/picire/), the library for
it, had its last release in 2021.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from benchmarks.planted.bench import Answer, Bench, factors_only
from benchmarks.planted.scenario import CLEAN, REPRODUCED

TRIES = 60
"""Random configurations until it gives up having found no clean one."""


def delta_debugging(bench: Bench) -> Answer:
    """The factors that have to be at the baseline's level for it to fail, all others as in the clean run."""
    luck = random.Random(bench.scenario.seed)
    baseline = bench.scenario.baseline
    bench.run(baseline)
    for _ in range(TRIES):
        good = {factor.name: luck.choice(factor.levels) for factor in bench.scenario.factors}
        if bench.run(good) == CLEAN:
            break
    else:
        return Answer(status="undecided", note="no clean run")
    differing = [name for name in baseline if baseline[name] != good[name]]
    needed = ddmin(differing, lambda some: bench.run({**good, **{name: baseline[name] for name in some}}) == REPRODUCED)
    return Answer(factors_only(needed), workarounds=({name: good[name] for name in differing},))


def ddmin(items: Sequence[str], fails: Callable[[Sequence[str]], bool]) -> list[str]:
    """A part of the items that fails and of which none can be left out.

    Args:
        fails: whether a part fails; the whole does.
    """
    kept, pieces = list(items), 2
    while len(kept) > 1:
        size = -(-len(kept) // pieces)
        parts = [kept[at : at + size] for at in range(0, len(kept), size)]
        failing = next((part for part in parts if fails(part)), None)
        if failing is not None:
            kept, pieces = failing, 2
            continue
        rests = [[item for item in kept if item not in part] for part in parts] if len(parts) > 2 else []
        failing = next((rest for rest in rests if fails(rest)), None)
        if failing is not None:
            kept, pieces = failing, max(2, len(parts) - 1)
        elif size == 1:
            break
        else:
            pieces = min(len(kept), 2 * len(parts))
    return kept
