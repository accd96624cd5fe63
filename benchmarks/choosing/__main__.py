"""How long it takes to choose the next trial, and how much memory, at every point of an investigation.

`make bench-choosing` prints CPU seconds of one choice and the peak of a process of its own, by the number of trials
before it; it exits with 1 where a limit is passed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks.choosing.measure import Choice, Shape, choices

AT = (1, 5, 15, 30)
"""Trials after which the choice is shown."""
MOST_MB = 500
SHAPES = (
    Shape("20, one cause", 20, (1,), 6, 1.0),
    Shape("20, two causes", 20, (1, 2), 6, 1.0),
    Shape("20, flaky", 20, (2,), 6, 1.0, rate=0.5),
    Shape("20, and 128 versions", 20, (1,), 6, 2.0, versions=128),
    Shape("60, one cause", 60, (1,), 12, 10.0),
    Shape("60, two causes", 60, (1, 2), 12, 10.0),
    Shape("60, flaky", 60, (2,), 12, 10.0, rate=0.5),
    Shape("60, and 128 versions", 60, (1,), 12, 10.0, versions=128),
)


def line(shape: Shape, made: Sequence[Choice]) -> str:
    """A row of the table."""
    after = {choice.trials: choice for choice in made}
    cells = [f"{after[n].seconds:.2f} s · {after[n].peak:.0f} MB" if n in after else "done" for n in AT]
    worst = max(made, key=lambda choice: choice.seconds)
    cells.append(f"{worst.seconds:.2f} s after {worst.trials}")
    cells.append(f"{made[-1].peak:.0f} MB after {made[-1].trials}, {made[-1].masked} masked")
    return f"| {shape.name} | {' | '.join(cells)} |"


def main() -> int:
    """Measure all shapes."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks.choosing", description=__doc__)
    asked.add_argument("--trials", type=int, default=40, help="how far an investigation is followed [40]")
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    print(f"| factors | {' | '.join(f'after {n}' for n in AT)} | longest | peak |\n{'|---' * (len(AT) + 3)}|")
    passed = []
    for shape in SHAPES:
        # A process for each, so that the peak is its own.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            made = pool.submit(choices, shape, given.seed, given.trials).result()
        print(line(shape, made), flush=True)
        if max(choice.seconds for choice in made) > shape.seconds or made[-1].peak > MOST_MB:
            passed.append(shape.name)
    if passed:
        print(f"a limit was passed: {'; '.join(passed)}", file=sys.stderr)
    return 1 if passed else 0


if __name__ == "__main__":
    sys.exit(main())
