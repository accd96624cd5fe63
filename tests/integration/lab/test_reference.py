"""Wrong answers that no log tells of: a release serves a GLM, and only a reference of another one shows it.

The releases agree on this model where they compute attention right (`glm-plain` says how it was made so).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from ruleout.engines.environments import Environment

pytestmark = [pytest.mark.engine, pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1200)]

GONE_S = 10.0


def ruleout(*words: str | Path, cwd: Path) -> dict[str, Any]:
    """A ruleout command with --json, as a person runs it; its document. Nothing of it may be left."""
    command = [sys.executable, "-m", "ruleout", *map(str, words)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=1000, check=False)
    assert done.returncode == 0, done.stderr
    until = time.monotonic() + GONE_S
    while (left := _of_trials(cwd)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


def _of_trials(folder: Path) -> list[str]:
    """Processes of trials whose records are in a folder."""
    tokens = {json.loads(path.read_text())["token"] for path in folder.glob("ruleout/*/trials/*/trial.json")}
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("RULEOUT_TRIAL") in tokens:
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


@pytest.fixture(scope="module")
def reference(
    transformers: Environment, practice: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """What the newer release answers."""
    path = tmp_path_factory.mktemp("reference") / "reference.json"
    serve = [str(transformers.script("transformers")), "serve", str(practice("glm-plain")), "--dtype", "float32"]
    made = ruleout("probe", "--json", "--save", path, "--", *serve, cwd=path.parent)
    assert made["versions"]["transformers"] == "5.24.0"
    assert json.loads(path.read_text()) == made
    return path


def served(environment: Environment, model: Path) -> list[str]:
    """The older release, with its default attention."""
    return [str(environment.script("transformers")), "serve", "--force-model", str(model), "--dtype", "float32"]


def test_the_default_attention_is_found_from_the_command_alone(
    engine_environment: Environment, reference: Path, practice: Callable[[str], Path], tmp_path: Path
) -> None:
    command = served(engine_environment, practice("glm-plain"))
    verdict = ruleout("investigate", "--json", "--reference", reference, "--", *command, cwd=tmp_path)
    assert verdict["status"] == "isolated"
    assert [carrier["factor"] for carrier in verdict["cause"]] == ["attn_implementation"]
    assert verdict["failure"]["class"] == "wrong_output"
    assert verdict["failure"]["message"] == "another text than the reference"
    assert not any(line["line"] for line in verdict["failure"]["evidence"]), "no log tells of it"
    assert {"attn_implementation": "eager"} in [found["set"] for found in verdict["workarounds"]]


def test_the_newer_release_clears_it_too_as_a_level_of_a_factor(
    engine_environment: Environment,
    transformers: Environment,
    reference: Path,
    practice: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    releases = {"5.2.0": str(engine_environment.python), "5.24.0": str(transformers.python)}
    case = {
        "name": "glm-answers",
        "engine": "transformers",
        "command": served(engine_environment, practice("glm-plain")),
        "probes": [{"kind": "compare", "reference": os.fspath(reference)}],
        "factors": {
            "attn_implementation": {
                "flag": "--attn-implementation",
                "levels": ["absent", "eager"],
                "baseline": "absent",
            },
            "transformers": {"python": releases, "baseline": "5.2.0"},
            "omp_threads": {"env": "OMP_NUM_THREADS", "levels": ["unset", "1"], "baseline": "unset"},
        },
    }
    (tmp_path / "case.yaml").write_text(yaml.safe_dump(case))
    verdict = ruleout("investigate", "--json", "case.yaml", cwd=tmp_path)
    assert verdict["status"] == "isolated"
    assert {carrier["factor"] for carrier in verdict["cause"]} == {"attn_implementation", "transformers"}
    ways_out = [found["set"] for found in verdict["workarounds"]]
    assert {"attn_implementation": "eager"} in ways_out
    assert {"transformers": "5.24.0"} in ways_out
