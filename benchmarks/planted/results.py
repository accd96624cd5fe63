"""Results survive an interruption: a line of JSON for each, and what is there already is not run again.

A result counts only for the scenario and the code that it is from, so a change of either runs it anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

from benchmarks.planted import bench as benches
from benchmarks.planted.bench import Answer, Bench, SpentError
from benchmarks.planted.contenders import CONTENDERS, Contender
from benchmarks.planted.families import make
from benchmarks.planted.histories import HISTORIES
from benchmarks.planted.scenario import MASKED, fingerprint
from benchmarks.planted.scoring import wrong

HISTORY_BUDGET = 150
"""Launches on a linear history; a walk over 128 revisions takes up to 128."""

HASH_SEED = "0"
"""BugDoc goes through sets of text, whose order would otherwise be another in each process."""


@dataclass(frozen=True)
class Result:
    """One strategy on one scenario.

    Attributes:
        wrong: why the answer is wrong; empty when it is right.
        trials, minutes, masked: what the deployment recorded: launches, their simulated minutes, how many were masked.
        seconds: what it took on this machine.
        code, scenario: fingerprints.
    """

    strategy: str
    family: str
    seed: int
    wrong: str
    status: str
    probability: float | None
    trials: int
    minutes: float
    masked: int
    seconds: float
    causes: tuple[dict[str, list[str]], ...]
    refuted: tuple[str, ...]
    code: str
    scenario: str

    @property
    def right(self) -> bool:
        """Whether the answer is right."""
        return not self.wrong

    @property
    def falsely_isolated(self) -> bool:
        """Called isolated, and wrong: the one thing that must not be."""
        return self.status == "isolated" and bool(self.wrong)


Task = tuple[str, str, int, str]
"""Strategy, family, seed, fingerprint of the strategy's code."""


def measure(task: Task) -> Result:
    """Run one strategy on one scenario."""
    name, family, seed, code = task
    contender = next(one for one in CONTENDERS if one.name == name)
    scenario = make(family, seed)
    bench = Bench(scenario, HISTORY_BUDGET if family in HISTORIES else benches.BUDGET)
    began = time.monotonic()
    try:
        answer = contender.strategy(bench)
    except SpentError:
        answer = Answer(status="spent")
    except Exception:  # a peer's own defect is its result, not the end of the benchmark
        answer = Answer(status="broken", note=traceback.format_exc(limit=-1).strip().splitlines()[-1])
    return Result(
        strategy=name,
        family=family,
        seed=seed,
        wrong=wrong(scenario, answer, bench.launches),
        status=answer.status,
        probability=answer.probability,
        trials=len(bench.launches),
        minutes=round(sum(launch.minutes for launch in bench.launches), 3),
        masked=sum(launch.outcome == MASKED for launch in bench.launches),
        seconds=round(time.monotonic() - began, 2),
        causes=tuple({name: sorted(levels) for name, levels in cause.items()} for cause in answer.causes),
        refuted=answer.refuted,
        code=code,
        scenario=fingerprint(scenario),
    )


def read(path: Path) -> Iterator[Result]:
    """The results of a file; a line that was cut short, or is of an older shape, is left out."""
    for line in path.read_text().splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError, KeyError, TypeError):
            plain = json.loads(line)
            yield Result(**{**plain, "causes": tuple(plain["causes"]), "refuted": tuple(plain["refuted"])})


def tasks(contenders: Sequence[Contender], families: Sequence[str], seeds: Sequence[int]) -> list[Task]:
    """All that is to be run: seed by seed, so that an early look sees all families."""
    able = [(one, one.fingerprint()) for one in contenders if not one.missing()]
    return [(one.name, f, seed, code) for seed in seeds for f in families for one, code in able if one.takes_part(f)]


def collect(wanted: Sequence[Task], path: Path, jobs: int) -> Iterator[tuple[Result, int | None]]:
    """Each result that is wanted: first those of the file, then new ones with how many are left, added to the file."""
    known = {(one.strategy, one.family, one.seed, one.code, one.scenario): one for one in read(path)}
    left: list[Task] = []
    scenarios = {(family, seed): fingerprint(make(family, seed)) for _, family, seed, _ in wanted}
    for task in wanted:
        found = known.get((*task, scenarios[task[1], task[2]]))
        if found is None:
            left.append(task)
        else:
            yield found, None
    path.parent.mkdir(parents=True, exist_ok=True)
    os.environ["PYTHONHASHSEED"] = HASH_SEED  # of the processes that are started
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    with path.open("a") as stream, pool:
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            stream.write("\n")  # an interruption cut the last line short
        try:
            running = [pool.submit(measure, task) for task in left]
            for number, done in enumerate(as_completed(running), 1):
                result = done.result()
                if result.status == "interrupted":  # by whoever interrupts the benchmark; not its answer
                    continue
                stream.write(json.dumps(asdict(result)) + "\n")
                stream.flush()
                yield result, len(left) - number
        finally:
            pool.shutdown(cancel_futures=True)
