"""Records of traced processes, as the tracer would have left them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HELLO = {"kind": "hello", "argv": ["python", "-m", "engine"], "python": "3.11.2", "ppid": 1, "wall": 9.0}
HOOKS = {"kind": "hooks", "torch": "2.13.0", "cuda": None}
MODEL = {"kind": "model", "root": "", "class": "LlamaForCausalLM", "modules": 40, "parameters": 574336}
BAD = {"shape": [2, 4], "dtype": "float32", "nan": 1, "inf": 0, "first": [0, 3], "min": -1.5, "max": 2.0}
GOOD = {"shape": [2, 4], "dtype": "float32", "nan": 0, "inf": 0, "min": -1.0, "max": 1.0}
DOWN = "model.layers.2.mlp.down_proj"


def born(module: str = DOWN, **more: Any) -> dict[str, Any]:
    """A module whose output is not finite, though its inputs were."""
    return {
        "kind": "born",
        "module": module,
        "class": "Linear",
        "non_finite": "nan",
        "phase": "prefill",
        "step": 0,
        "call": 1,
        "rank": None,
        "t": 5.0,
        "inputs": [{"place": "in0", **GOOD}],
        "outputs": [{"place": "out0", **BAD}],
        **more,
    }


def operation(module: str = DOWN, op: str = "aten.mm.default", **more: Any) -> dict[str, Any]:
    """The operation that made it."""
    return {
        "kind": "operation",
        "module": module,
        "class": "Linear",
        "op": op,
        "non_finite": "nan",
        "phase": "decode",
        "step": 1,
        "call": 2,
        "rank": None,
        "t": 6.0,
        "args": [{"place": "arg0", **GOOD}],
        "out": [{"place": "out", **BAD}],
        "frames": [{"file": "/venv/lib/models/llama.py", "line": 90, "function": "forward"}],
        **more,
    }


def checkpoint(tensor: str = f"{DOWN}.weight", **more: Any) -> dict[str, Any]:
    """A tensor that was not finite when it was read."""
    return {"kind": "checkpoint", "file": "model-00003-of-00003.safetensors", "tensor": tensor, **BAD, **more}


def weight(module: str = DOWN, parameter: str = "weight", **more: Any) -> dict[str, Any]:
    """A parameter or buffer that was not finite at the first call."""
    return {"kind": "weight", "module": module, "parameter": parameter, **BAD, **more}


def coverage(**more: Any) -> dict[str, Any]:
    """What was looked at."""
    return {"kind": "coverage", "modules": {"": 3, DOWN: 3}, "steps": {"prefill": 1, "decode": 2}, **more}


def write(folder: Path, *records: dict[str, Any], pid: int = 41) -> Path:
    """Appends to the file of one process; a `t` that is given stays."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{pid}-7.jsonl"
    with path.open("a") as file:
        file.write("".join(json.dumps({"t": 1.0, "pid": pid, **record}) + "\n" for record in records))
    return folder


def model_process(folder: Path, *records: dict[str, Any], pid: int = 41) -> Path:
    """The file of a process with a model in it."""
    return write(folder, HELLO, HOOKS, MODEL, *records, coverage(), pid=pid)
