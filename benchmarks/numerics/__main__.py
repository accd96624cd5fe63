"""Where a bad number was born: ruleout's tracer and its peers on planted faults and healthy runs, and what they cost.

python -m benchmarks.numerics [--seed 0] [--cases 60] [--jobs 2] [--peers NAME…] [--page docs/numerics-measured.md]
"""

from __future__ import annotations

import argparse
import datetime
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.numerics import engines
from benchmarks.numerics.cases import ENVIRONMENTS, Case, draw
from benchmarks.numerics.engines import BenchmarkError, Ran
from benchmarks.numerics.page import OURS, Run, page
from benchmarks.numerics.scoring import Score, by_peer, by_ruleout, score
from benchmarks.numerics.slowdown import MODES, SIZES, Ratio, measured

from ruleout.model import MissingError

PEERS = ("DebugUnderflowOverflow", "DebugMode", "dispatch mode", "dispatch mode, NaN only", "msprobe")
_NOT_THERE = "it cannot be installed here"
JUDGE = "judge"


class Bench:
    """One run: cases by environment, with one instrument after the other."""

    def __init__(self, cases: Sequence[Case], folder: Path, jobs: int) -> None:
        self.cases, self.folder, self.jobs = list(cases), folder, jobs

    def all(self, instrument: str) -> dict[str, Ran] | None:
        """What came of all cases with an instrument, by environment; None when it is not to be had."""
        began = time.monotonic()

        def one(environment: str) -> Ran | None:
            mine = [case for case in self.cases if case.environment == environment]
            folder = self.folder / f"{instrument}-{environment}".replace(" ", "-")
            return engines.run(environment, instrument, mine, folder)

        with ThreadPoolExecutor(self.jobs) as pool:
            ran = dict(zip(ENVIRONMENTS, pool.map(one, ENVIRONMENTS), strict=True))
        print(f"  {instrument}: {len(self.cases)} cases in {time.monotonic() - began:.0f} s", file=sys.stderr)
        there = {environment: answer for environment, answer in ran.items() if answer is not None}
        return there if len(there) == len(ran) else None

    def judge(self) -> tuple[dict[str, Mapping[str, Any]], int, Mapping[str, Ran]]:
        """Proves every case. Returns the truths, how many places were refused, and what ran.

        Raises BenchmarkError where a case is not what it should be.
        """
        ran = self.all(JUDGE)
        assert ran is not None
        truths: dict[str, Mapping[str, Any]] = {}
        refused = 0
        for number, case in enumerate(self.cases):
            first, *_ = ranks = ran[case.environment].ranks[case.name]
            for rank in ranks:
                if rank.get("error"):
                    raise BenchmarkError(f"{case.name} ({case.kind}, {case.family}): {rank['error']}")
            refused += len(first["refused"])
            if case.faulty:
                truths[case.name] = first["truth"]
            self.cases[number] = replace(case, chosen={"attempt": first["attempt"]})
        return truths, refused, ran

    def scored(self, instrument: str, truths: Mapping[str, Mapping[str, Any]]) -> dict[str, Score] | None:
        """Scores by name of case; None when the instrument is not to be had.

        Raises BenchmarkError where a case broke with it.
        """
        ran = self.all(instrument)
        if ran is None:
            return None
        scores = {}
        for case in self.cases:
            mine = ran[case.environment]
            ranks = mine.ranks[case.name]
            broken = [rank["error"] for rank in ranks if rank.get("error")]
            if broken and instrument == OURS:
                raise BenchmarkError(f"{case.name} broke with {instrument}: {broken[0]}")
            answer = by_ruleout(ranks, mine.records) if instrument == OURS else by_peer(ranks)
            scores[case.name] = score(truths.get(case.name), answer)
        return scores


def main() -> None:
    """Measures, prints, and writes the page if one is asked for."""
    given = _given()
    folder = Path(given.keep or tempfile.mkdtemp(prefix="bench-numerics-"))
    try:
        text = measure(given, folder)
    except BenchmarkError as error:
        raise SystemExit(f"bench-numerics: {error}\n  What ran is in {folder}.") from error
    except MissingError as error:
        raise SystemExit(f"bench-numerics: {error}") from error
    print(text)
    if given.page is not None:
        given.page.write_text(text)
    if not given.keep:
        shutil.rmtree(folder)


def measure(given: argparse.Namespace, folder: Path) -> str:
    """The page of one run."""
    bench = Bench(draw(given.seed, given.cases, given.cases), folder, given.jobs)
    truths, refused, ran = bench.judge()
    scores, without, ratios = {}, {}, []
    for instrument in (OURS, *given.peers):
        scored = bench.scored(instrument, truths)
        if scored is None:
            without[instrument] = _NOT_THERE
        else:
            scores[instrument] = scored
    if given.rounds:
        ratios = _ratios([*MODES, *(name for name in given.peers if name in scores)], given.rounds, folder)
    setting = [
        f"{datetime.date.today()}, seed {given.seed}, {given.cases} faults and {given.cases} healthy runs,"
        f" {os.cpu_count()} cores with a load of {os.getloadavg()[0]:.0f}",
        *(f"{name}: torch {each.versions['torch']}" for name, each in ran.items()),
    ]
    return page(Run(bench.cases, truths, scores, ratios, setting, without, refused))


def _ratios(labels: Sequence[str], rounds: int, folder: Path) -> list[Ratio]:
    found: list[Ratio] = []
    for label in labels:
        for size in SIZES:
            found += measured(label, ENVIRONMENTS[-1], size, rounds, folder)
        print(f"  cost of {label} measured", file=sys.stderr)
    return found


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of the cases")
    parser.add_argument("--cases", type=int, default=60, help="faults, and as many healthy runs")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="environments at the same time")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each pair for the slowdown; 0: not measured")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS, metavar="NAME", help=", ".join(PEERS))
    parser.add_argument("--page", type=Path, help="write the page there")
    parser.add_argument("--keep", type=Path, help="keep what ran, ruleout's records among it, in this folder")
    return parser.parse_args()


if __name__ == "__main__":
    main()
