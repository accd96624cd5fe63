"""How much longer the CPU works with an instrument: pairs of processes asked in turns, with and without it.

The ratio is taken within each turn, so that what else the machine does meets both; the median of the ratios is told,
and the quartiles beside it. A pair of two without any instrument tells what the measurement itself is worth.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.numerics.engines import ROOT, BenchmarkError, python, variables

PHASES = ("prefill", "decode")
SIZES = ("large", "tiny")
MODES = {
    "nothing": ("nothing", "watch", ""),
    "ruleout, watching": ("ruleout", "watch", ""),
    "ruleout, every operation": ("ruleout", "watch", "*"),
    "ruleout, recording": ("ruleout", "record", ""),
}
"""ruleout's ways of working: the instrument, its mode, and what it is armed for."""


@dataclass(frozen=True)
class Ratio:
    """Of the CPU time of a phase; quartiles of the turns. `parameters`: of the model."""

    label: str
    size: str
    phase: str
    median: float
    low: float
    high: float
    parameters: int


class Side:
    """One process that answers."""

    def __init__(self, process: subprocess.Popen[str], label: str) -> None:
        self.process, self.label = process, label
        self.parameters = int(self._line())

    def seconds(self, phase: str) -> float:
        """Of the CPU, for one block."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{phase}\n")
        self.process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise BenchmarkError(f"the process with {self.label} ended instead of answering")
        return line


def measured(label: str, environment: str, size: str, rounds: int, folder: Path) -> list[Ratio]:
    """The ratios of an instrument, or of one of ruleout's ways; empty when it is not to be had."""
    instrument, mode, arm = MODES.get(label, (label, "watch", ""))
    traced = variables(instrument, folder / f"{label}-{size}".replace(" ", "-"), mode, arm)
    plain, own = variables("nothing", folder), python(environment)
    if traced is None or plain is None:
        return []
    with _side(own, instrument, size, traced) as one, _side(own, "nothing", size, plain) as other:
        for side in (one, other):
            for phase in PHASES:
                side.seconds(phase)
        found = {phase: [_turn(one, other, phase, turn % 2 == 0) for turn in range(rounds)] for phase in PHASES}
        parameters = one.parameters
    ratios = []
    for phase, values in found.items():
        low, middle, high = statistics.quantiles(values, n=4)
        ratios.append(Ratio(label, size, phase, middle, low, high, parameters))
    return ratios


def _turn(one: Side, other: Side, phase: str, first: bool) -> float:
    """The ratio of one turn. Who is asked first finds the caches as the other left them, so they change places."""
    if first:
        with_it, without = one.seconds(phase), other.seconds(phase)
    else:
        without, with_it = other.seconds(phase), one.seconds(phase)
    return with_it / without


@contextlib.contextmanager
def _side(python: Path, instrument: str, size: str, env: dict[str, str]) -> Iterator[Side]:
    argv = [str(python), "-m", "benchmarks.numerics.inside.costs", instrument, size]
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT, env=env
    )
    try:
        yield Side(process, instrument)
    finally:
        process.kill()
        process.communicate()
