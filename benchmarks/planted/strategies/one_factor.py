"""One factor at a time: today's habit, done thoroughly.

From the failing baseline each factor is moved alone, through its levels, until one of them is clean; the factors that
have such a level are called the cause. An ordered factor is walked from the baseline to its neighbours.
"""

from __future__ import annotations

from benchmarks.planted.bench import Answer, Bench, factors_only
from benchmarks.planted.scenario import CLEAN, REPRODUCED, Factor


def one_factor_at_a_time(bench: Bench) -> Answer:
    """All single changes, each factor until it is judged."""
    bench.run(bench.scenario.baseline)
    found: dict[str, str] = {}
    carrying: dict[str, frozenset[str]] = {}
    for factor in bench.scenario.factors:
        failed = {factor.baseline}
        for level in _walk(factor):
            outcome = bench.run(bench.moved(**{factor.name: level}))
            if outcome == CLEAN:
                found[factor.name] = level
                break
            if outcome == REPRODUCED:
                failed.add(level)
        carrying[factor.name] = frozenset(failed)
    workarounds = tuple({name: level} for name, level in found.items())
    if not found:
        return Answer()
    if bench.scenario.ordered:
        return Answer(({name: carrying[name] for name in found},), workarounds=workarounds)
    return Answer(factors_only(found), workarounds=workarounds)


def _walk(factor: Factor) -> tuple[str, ...]:
    """The other levels; of an ordered factor the nearest first."""
    if not factor.ordered:
        return factor.others
    place = factor.levels.index
    return tuple(sorted(factor.others, key=lambda level: abs(place(level) - place(factor.baseline))))
