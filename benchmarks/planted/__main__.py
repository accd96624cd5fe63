"""Planted faults: ruleout beside its peers in one run. `make bench-planted SEEDS=10`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.planted.contenders import CONTENDERS
from benchmarks.planted.families import FAMILIES
from benchmarks.planted.page import ROOT, page
from benchmarks.planted.plots import draw
from benchmarks.planted.results import Result, collect, tasks
from benchmarks.planted.tables import tables

FOLDER = ROOT / "benchmarks" / "planted" / "results"
RUNS, TABLE = "runs.jsonl", "table.md"


def main() -> None:
    """Run what is missing, then write tables, plots and page."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks.planted", description=__doc__)
    asked.add_argument("--seeds", type=int, default=10, help="how many a family [10]")
    asked.add_argument("--first", type=int, default=0, help="the first seed [0]")
    asked.add_argument("--families", type=_names(FAMILIES), default=list(FAMILIES), metavar="A,B", help="only these")
    names = [one.name for one in CONTENDERS]
    asked.add_argument("--strategies", type=_names(names), default=names, metavar="A,B", help="only these")
    asked.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="so many at once [the number of CPUs]")
    asked.add_argument("--out", type=Path, default=FOLDER, help="folder of the results")
    asked.add_argument("--page", type=Path, help="also write this page")
    given = asked.parse_args()
    chosen = [one for one in CONTENDERS if one.name in given.strategies]
    for one in chosen:
        if one.missing():
            print(f"{one.name} does not take part: {one.missing()}", file=sys.stderr)
    wanted = tasks(chosen, given.families, range(given.first, given.first + given.seeds))
    results: list[Result] = []
    try:
        for result, left in collect(wanted, given.out / RUNS, given.jobs):
            results.append(result)
            if left is not None:
                print(f"{left:5} left  {_line(result)}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command goes on where it stopped")
    _write(given.out / TABLE, tables(results) + "\n")
    draw(results, given.out)
    if given.page is not None:
        command = f"make bench-planted SEEDS={given.seeds}"
        _write(given.page, page(results, command, given.out.resolve(), given.page.resolve().parent))
    print(tables(results))


def _names(known: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = text.split(",")
        if unknown := sorted(set(names) - set(known)):
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
        return names

    return parse


def _line(result: Result) -> str:
    verdict = "right" if result.right else f"WRONG {result.status}: {result.wrong}"[:110]
    trials = f"{result.trials} trials {result.minutes:.0f} min {result.seconds:.0f} s"
    return f"{result.family}/{result.seed} {result.strategy}: {verdict} ({trials})"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    main()
