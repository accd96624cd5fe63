"""The demo's case: a real engine, a real failure of it, and nothing about its cause.

It goes the way of any user's case: the text is a case file like theirs, read by the same reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from ruleout.engines.environments import Environment
from ruleout.model import ABSENT, PRESENT, UNSET, Case, Factor, Mechanism, Probe, Ready

NAME = "glm-demo"
_PROBES = (Probe(repeat=2, timeout=60.0),)
_READY = Ready(timeout=180.0)


def demo_factors() -> tuple[Factor, ...]:
    """What the demo may vary: flags of `transformers serve`, in the order of its help, and an environment variable."""
    return (
        Factor("continuous_batching", Mechanism.FLAG, "--continuous-batching", (ABSENT, PRESENT), PRESENT),
        Factor("dtype", Mechanism.FLAG, "--dtype", ("float32", "bfloat16"), "float32"),
        Factor("attn_implementation", Mechanism.FLAG, "--attn-implementation", (ABSENT, "eager"), ABSENT),
        Factor("default_seed", Mechanism.FLAG, "--default-seed", (ABSENT, "7"), ABSENT),
        Factor("model", Mechanism.FLAG, "--force-model", ("glm-tiny", "llama-tiny"), "glm-tiny"),
        Factor("omp_threads", Mechanism.ENV, "OMP_NUM_THREADS", (UNSET, "1"), UNSET),
    )


def demo_case(environment: Environment, models: Path, factors: Sequence[Factor] | None = None) -> Case:
    """The demo's case. The model is named by its folder's name, since the command runs in the folder of the models."""
    return Case(
        name=NAME,
        engine="transformers",
        command=(
            str(environment.script("transformers")),
            "serve",
            "--continuous-batching",
            "--force-model",
            "glm-tiny",
            "--dtype",
            "float32",
        ),
        factors=tuple(demo_factors() if factors is None else factors),
        cwd=str(models),
        ready=_READY,
        probes=_PROBES,
    )


def demo_case_yaml(environment: Environment, models: Path, factors: Sequence[Factor] | None = None) -> str:
    """The demo's case as the text of a case file."""
    case = demo_case(environment, models, factors)
    document: dict[str, Any] = {
        "name": case.name,
        "engine": case.engine,
        "command": list(case.command),
        "cwd": case.cwd,
        "ready": {"timeout": f"{case.ready.timeout:.0f}s"},
        "probes": [
            {
                "kind": probe.kind,
                "prompt": probe.prompt,
                "max_tokens": probe.max_tokens,
                "repeat": probe.repeat,
                "timeout": f"{probe.timeout:.0f}s",
            }
            for probe in case.probes
        ],
        "factors": {factor.name: _factor(factor) for factor in case.factors},
    }
    return yaml.safe_dump(document, sort_keys=False, default_flow_style=None, allow_unicode=True, width=120)


def _factor(factor: Factor) -> dict[str, Any]:
    return {
        factor.mechanism.value: factor.target,
        "levels": list(factor.levels),
        "baseline": factor.baseline,
    }
