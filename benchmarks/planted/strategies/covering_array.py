"""A covering array of strength 2: every pair of levels in some run, and then the rows are read.

The rows come from covertable (https://pypi.org/project/covertable/, https://github.com/walkframe/covertable).
"""

from __future__ import annotations

from benchmarks.planted.bench import Answer, Bench, SpentError, factors_only
from benchmarks.planted.strategies.version_space import consistent

STRENGTH = 2


def covering_array(bench: Bench) -> Answer:
    """All rows of the array; the one conjunction that explains them. Raises ImportError without covertable."""
    from covertable import make

    levels = {factor.name: list(factor.levels) for factor in bench.scenario.factors}
    bench.run(bench.scenario.baseline)
    try:
        for row in make(levels, strength=STRENGTH, salt=str(bench.scenario.seed)):
            bench.run(row)
    except SpentError:
        pass
    left = consistent(bench.launches, list(levels))
    smallest = [one for one in left if len(one) == len(left[0])]
    if len(smallest) == 1:
        return Answer(factors_only(smallest[0]) if smallest[0] else ())
    return Answer(status="undecided", note=f"{len(smallest)} conjunctions explain the rows")
