"""What holds of a deployment, as far as its log, its command, the model's folder and this machine tell.

It decides which settings can matter at all: nobody wants to vary the experts' kernels of a model without experts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
_MOE = re.compile(
    r"(?i)moe|mixtral|\d+x\d+b|a\d+(?:\.\d+)?b(?![a-z])|deepseek[-_]?(?:v[2-9]|r1(?!-distill))|dsa|gpt[-_]?oss|kimi[-_]?(?:k|linear)"
    r"|llama[-_]?4|minimax[-_]?m|glm[-_]?(?:4\.?[5-9]|[5-9])(?!\d)"
)
_MLA = re.compile(r"(?i)deepseek[-_]?(?:v[2-9]|r1(?!-distill))|dsa|kimi[-_]?k|glm[-_]?[5-9](?!\d)")
_SPARSE = re.compile(r"(?i)dsa|deepseek[-_]?v3[._-]?2|glm[-_]?[5-9](?!\d)")
"""By a model's type, its architecture, or the name that it is published under, which tells as much to who knows it."""
_SETS = {
    "sparse": re.compile(r"--(?:dsa|nsa)-.*"),
    "moe": re.compile(
        r"--(?:moe-.*|enable-expert-parallel|ep(?:-size)?|all2all-backend|enable-eplb|cpu-moe|n-cpu-moe)"
    ),
}
"""Flags that only deployments with such a model have."""
_FORMATS = {"fp4": re.compile(r"(?i)fp4|gpt[-_]?oss"), "fp8": re.compile(r"(?i)fp8|float8|e4m3")}
_STORED = re.compile(r"(?i)fp[48]|(?:^|[^a-z])(?:awq|gptq|int[48]|w\d+a\d+|bnb)(?![a-z])|gpt[-_]?oss")
"""What the name of a checkpoint says of how its weights are stored."""
_PUBLISHED_IN_FP8 = re.compile(r"(?i)deepseek[-_]?(?:v3|r1)(?![\w.]*-distill)(?!.*bf16)")
"""Its name does not say it: https://huggingface.co/deepseek-ai/DeepSeek-V3"""
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_ASKS_FOR_GPU = re.compile(r"--(?:gpus|nv|rocm|gpus-per-.*|runtime=nvidia|gres=gpu.*|device=(?:nvidia|cuda).*)(?:=.*)?")
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts")


def traits(
    diagnosis: Diagnosis | None,
    command: Sequence[str],
    model: Path | None = None,
    env: Mapping[str, str] | None = None,
    *,
    here: bool = True,
) -> frozenset[str]:
    """Which conditions of the catalogue hold: gpu or cpu, ranks, moe, mla, sparse, quantized, fp4, fp8.

    Args:
        model: its folder, or its name, which may tell what no folder is here for.
        env: the variables that the deployment sets.
        here: the engine is installed on this machine, so that its devices are those of the deployment.
    """
    config = config_of(model)
    ran = diagnosis.environment if diagnosis else None
    kind = " ".join(str(text) for text in (config.get("model_type"), ran and ran.model_type, ran and ran.architecture))
    name = "" if config or model is None else model.name
    stored = f"{config.get('quantization_config') or ''} {(ran and ran.quantization) or ''}"
    asked = arguments.value_of(command, "--quantization") or arguments.value_of(command, "-q") or ""
    named = name if _STORED.search(name) else "fp8" if _PUBLISHED_IN_FP8.match(name) else ""
    weights = f"{stored} {asked} {named}".strip()
    set_ = {trait for trait, flag in _SETS.items() for word in command if flag.fullmatch(word.partition("=")[0])}
    found = {
        "moe": "moe" in set_ or any(config.get(key) for key in _EXPERTS) or bool(_MOE.search(f"{kind} {name}")),
        "mla": bool(config.get("kv_lora_rank") or _MLA.search(f"{kind} {name}") or "sparse" in set_),
        "sparse": bool(config.get("index_topk") or _SPARSE.search(f"{kind} {name}") or "sparse" in set_),
        "quantized": weights not in ("", "None", "none"),
        "ranks": bool((ran and (ran.tp or 0) > 1) or any(_above_one(command, flag) for flag in _RANKS)),
        **{format_: bool(pattern.search(weights)) for format_, pattern in _FORMATS.items()},
        ("cpu" if _without_gpu(diagnosis, command, env or {}, here) else "gpu"): True,
    }
    return frozenset(name for name, holds in found.items() if holds)


def _above_one(command: Sequence[str], flag: str) -> bool:
    value = arguments.value_of(command, flag) or ""
    return value.isdecimal() and int(value) > 1


def _without_gpu(diagnosis: Diagnosis | None, command: Sequence[str], env: Mapping[str, str], here: bool) -> bool:
    if arguments.value_of(command, "--device") == "cpu" or (diagnosis is not None and on_cpu(diagnosis)):
        return True
    if diagnosis is not None and (diagnosis.environment.gpu or _on_a_device(diagnosis)):
        return False
    if not here or any(env.get(name, "-1") not in ("", "-1", "void", "none") for name in _VISIBLE):
        return False
    if any(_ASKS_FOR_GPU.fullmatch(word) for word in command):
        return False
    return not any(Path("/dev", name).exists() for name in _DEVICES)


def _on_a_device(diagnosis: Diagnosis) -> bool:
    said = [s.resolved or s.requested or "" for s in diagnosis.settings if s.name in ("device", "device_config")]
    return any(value.lower().partition(":")[0] in ("cuda", "rocm", "hip", "xpu", "npu") for value in said)
