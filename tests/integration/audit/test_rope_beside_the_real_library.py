"""The audit's rotary positions beside those of the real library, for configurations at random."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.random_rope import config

from ruleout.audit.rope.reading import Reading
from ruleout.audit.rope.transformers import read
from ruleout.engines.environments import installed
from ruleout.engines.recipes import recipe

SCRIPT = Path(__file__).parent / "real_rope.py"
HOW_MANY = int(os.environ.get("RULEOUT_ROPE_VARIANTS", "150"))
DEADLINE_S = 280


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("release", ["5.2.0", "5.24.0"])
def test_it_turns_positions_as_the_real_library_does(release: str) -> None:
    there = installed(recipe(f"transformers-{release}"))
    if there is None:
        pytest.skip(f"transformers {release} is not installed; `ruleout lab engine transformers-{release}` does it")
    configs = [config(seed) for seed in range(HOW_MANY)]
    asked = subprocess.run(
        [there.python, SCRIPT],
        input="\n".join(json.dumps(one) for one in configs),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    real = [json.loads(line) for line in asked.stdout.splitlines()]
    assert len(real) == HOW_MANY, asked.stderr[-2000:]
    told = [read(one, release.rpartition(".")[0]) for one in configs]
    wrong = [
        (seed, configs[seed], one, why)
        for seed, (one, reading) in enumerate(zip(real, told, strict=True))
        if not reading.untold and (why := _departs(one, reading))
    ]
    assert not wrong, f"{len(wrong)} of {HOW_MANY}: {wrong[:3]}"
    assert sum(not reading.untold for reading in told) > HOW_MANY / 2


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
