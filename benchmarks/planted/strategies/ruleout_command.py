"""ruleout as a person runs it: `ruleout investigate case.yaml --json` in a process of its own.

It launches the simulated deployment like any other command, reads its logs, and is scored by the deployment's ledger.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from benchmarks.planted.bench import Answer, Bench
from benchmarks.planted.failures import STAGES
from benchmarks.planted.scenario import FULL_TRIAL, Scenario, dumps
from benchmarks.planted.serve import launched

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 1800.0
"""Until an investigation counts as never ending."""


def ruleout_command(bench: Bench) -> Answer:
    """The verdict of the public command."""
    with tempfile.TemporaryDirectory(prefix="ruleout-planted-") as name:
        folder = Path(name)
        (folder / "scenario.json").write_text(dumps(bench.scenario))
        (folder / "case.yaml").write_text(yaml.safe_dump(case(bench.scenario, folder, bench.budget), sort_keys=False))
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
        environment.pop("PYTHONHASHSEED", None)  # a person has none
        command = [sys.executable, "-m", "ruleout", "investigate", "case.yaml", "--json"]
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
            )
            told, complaint = done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            told, complaint = "", f"no verdict after {SECONDS:g} s"
        bench.launches.extend(launched(folder / "ledger.jsonl"))
    try:
        return answer(json.loads(told))
    except (ValueError, KeyError, TypeError) as problem:
        return Answer(status="broken", note=f"{problem!r}: {complaint[-300:]}")


def case(scenario: Scenario, folder: Path, budget: int) -> dict[str, Any]:
    """The case file: what a person knows of the deployment, and nothing of its truth."""
    command = [sys.executable, "-m", "benchmarks.planted.serve", "--scenario", str(folder / "scenario.json")]
    factors: dict[str, dict[str, Any]] = {}
    for factor in scenario.factors:
        factors[factor.name] = {"flag": factor.flag, "levels": list(factor.levels), "baseline": factor.baseline}
        if factor.ordered:
            factors[factor.name]["ordered"] = True
    return {
        "name": f"planted-{scenario.family}-{scenario.seed}",
        "engine": "command",
        "mode": "job",
        "command": [*command, "--ledger", str(folder / "ledger.jsonl")],
        "stages": {stage: re.escape(line.partition("{")[0].partition(",")[0]) for stage, line in STAGES.items()},
        "factors": factors,
        "cost": {"trial": f"{FULL_TRIAL:g}m"},
        "budget": {"trials": budget},
    }


def answer(verdict: Mapping[str, Any]) -> Answer:
    """What a document `ruleout.verdict/1` claims. Raises KeyError and TypeError for anything else."""
    groups = verdict["causes"] if "causes" in verdict else [verdict["cause"]] if verdict["cause"] else []
    elsewhere = verdict["status"] == "elsewhere"
    return Answer(
        causes=() if elsewhere else tuple({c["factor"]: frozenset(c["levels"]) for c in group} for group in groups),
        levels=True,
        workarounds=tuple(found["set"] for found in verdict.get("workarounds", ())),
        probability=verdict["elsewhere"]["probability"] if elsewhere else verdict["probability"],
        status=verdict["status"],
        refuted=tuple(one["text"] for one in verdict.get("assumptions", ()) if one["status"] == "refuted"),
    )
