"""Runs cases inside the engines' environments, with one instrument at a time.

ruleout's tracer gets in as it gets into any engine: by a folder that goes first on PYTHONPATH. msprobe has its own
requirements, so they lie in a folder that only stands in front of the engine's environment; that stays as it is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.numerics.cases import ENVIRONMENTS, Case

from ruleout.engines.environments import environment
from ruleout.engines.making import cache_folder
from ruleout.engines.recipes import recipe
from ruleout.numerics import starting

ROOT = Path(__file__).resolve().parents[2]
PROBE = "mindstudio-probe"


class BenchmarkError(Exception):
    """What was run did not answer: what, and what it said."""


@dataclass(frozen=True)
class Ran:
    """What the worker answered, by name of case, and where ruleout's records are."""

    ranks: Mapping[str, list[dict[str, Any]]]
    records: Path
    versions: Mapping[str, str]


def python(name: str) -> Path:
    """The interpreter of an engine's environment, which is made if it is not there."""
    return environment(recipe(name)).python


def probe_packages(name: str) -> Path | None:
    """A folder with msprobe and what an engine's environment lacks for it; None when that cannot be installed."""
    folder = cache_folder() / "bench" / "msprobe"
    own, done = folder / "bin" / "python", folder / "installed"
    if done.exists():
        return _packages(folder)
    made = [
        [str(python(name)), "-m", "venv", "--without-pip", "--clear", str(folder)],
        [sys.executable, "-m", "pip", "--python", str(own), "install", "-q", "--only-binary", ":all:", PROBE],
    ]
    for number, argv in enumerate(made):
        ran = subprocess.run(argv, capture_output=True, text=True, env=_clean())
        if ran.returncode:
            print(f"{PROBE} cannot be installed: {ran.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            return None
        if number == 0:
            (_packages(folder) / "engine.pth").write_text(f"{_packages(python(name).parent.parent)}\n")
    done.touch()
    return _packages(folder)


def _packages(environment: Path) -> Path:
    return next((environment / "lib").glob("python3*")) / "site-packages"


def variables(instrument: str, folder: Path, mode: str = "watch", arm: str = "") -> dict[str, str] | None:
    """The environment of a process with that instrument in it; None when the instrument is not to be had."""
    if instrument == "ruleout":
        return {**_clean(), **starting.carry(folder, starting.TraceMode(mode), arm, path="")}
    if instrument == "msprobe":
        packages = probe_packages(ENVIRONMENTS[0])
        return None if packages is None else {**_clean(), "PYTHONPATH": str(packages)}
    return _clean()


def run(name: str, instrument: str, cases: Sequence[Case], folder: Path, tell: Any = None) -> Ran | None:
    """The cases of one environment; None when the instrument is not to be had.

    Raises BenchmarkError when the worker does not answer all of them.
    """
    env = variables(instrument, folder)
    if env is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    asked, said = folder / "cases.jsonl", folder / "stderr.txt"
    asked.write_text("".join(json.dumps(case.document()) + "\n" for case in cases))
    ranks: dict[str, list[dict[str, Any]]] = {}
    versions: dict[str, str] = {}
    argv = [str(python(name)), "-m", "benchmarks.numerics.inside.worker", instrument]
    with asked.open() as stdin, said.open("w") as stderr:
        process = subprocess.Popen(
            argv, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=ROOT, env=env
        )
        for document in _documents(process):
            if "ranks" in document:
                ranks[document["name"]] = document["ranks"]
                if tell is not None:
                    tell(len(ranks))
            else:
                versions = document
    if process.wait() or len(ranks) != len(cases):
        raise BenchmarkError(f"{name} with {instrument} answered {len(ranks)} of {len(cases)} cases; see {said}")
    return Ran(ranks, starting.records_folder(folder), versions)


def _documents(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    try:
        for line in process.stdout:
            yield json.loads(line)
    finally:
        if process.poll() is None and sys.exc_info()[0] is not None:
            process.kill()


def _clean() -> dict[str, str]:
    left = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "RULEOUT_TRACE", "PIP_"))}
    return {**left, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
