"""What holds of a deployment, as far as its log, its command, the model's folder and this machine tell.

It decides which settings can matter at all: nobody wants to vary the experts' kernels of a model without experts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ruleout.diagnosis.ran import on_cpu
from ruleout.engines.modelfolder import config_of
from ruleout.model import Diagnosis, arguments

_DEVICES = ("nvidiactl", "kfd", "dxg", "accel", "davinci_manager", "xpu0")
"""Under /dev, what accelerators are reached through."""
_RANKS = (
    "--tensor-parallel-size",
    "--tp-size",
    "--tp",
    "-tp",
    "--tp_size",
    "--data-parallel-size",
    "--dp-size",
    "--dp",
)
_MOE = re.compile(r"(?i)moe|mixtral|deepseek_?v[2-9]|dsa|gpt_?oss|kimi|llama_?4")
_MLA = re.compile(r"(?i)deepseek_?v[2-9]|dsa|kimi")
_SPARSE = re.compile(r"(?i)dsa|deepseek_?v32")
_FORMATS = {"fp4": re.compile(r"(?i)fp4"), "fp8": re.compile(r"(?i)fp8|float8|e4m3")}
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts")


def traits(diagnosis: Diagnosis | None, command: Sequence[str], model: Path | None = None) -> frozenset[str]:
    """Which conditions of the catalogue hold: gpu or cpu, ranks, moe, mla, sparse, quantized, fp4, fp8."""
    config = config_of(model)
    ran = diagnosis.environment if diagnosis else None
    kind = " ".join(str(text) for text in (config.get("model_type"), ran and ran.model_type, ran and ran.architecture))
    weights = f"{config.get('quantization_config') or ''} {(ran and ran.quantization) or ''}".strip()
    found = {
        "moe": any(config.get(key) for key in _EXPERTS) or bool(_MOE.search(kind)),
        "mla": bool(config.get("kv_lora_rank")) or bool(_MLA.search(kind)),
        "sparse": bool(config.get("index_topk")) or bool(_SPARSE.search(kind)),
        "quantized": weights not in ("", "None", "none"),
        "ranks": bool((ran and (ran.tp or 0) > 1) or any(_above_one(command, flag) for flag in _RANKS)),
        **{name: bool(pattern.search(weights)) for name, pattern in _FORMATS.items()},
        ("cpu" if _without_gpu(diagnosis, command) else "gpu"): True,
    }
    return frozenset(name for name, holds in found.items() if holds)


def _above_one(command: Sequence[str], flag: str) -> bool:
    value = arguments.value_of(command, flag) or ""
    return value.isdecimal() and int(value) > 1


def _without_gpu(diagnosis: Diagnosis | None, command: Sequence[str]) -> bool:
    if arguments.value_of(command, "--device") == "cpu" or (diagnosis is not None and on_cpu(diagnosis)):
        return True
    if diagnosis is not None and (diagnosis.environment.gpu or _on_a_device(diagnosis)):
        return False
    return not any(Path("/dev", name).exists() for name in _DEVICES)


def _on_a_device(diagnosis: Diagnosis) -> bool:
    said = [s.resolved or s.requested or "" for s in diagnosis.settings if s.name in ("device", "device_config")]
    return any(value.lower().partition(":")[0] in ("cuda", "rocm", "hip", "xpu", "npu") for value in said)
