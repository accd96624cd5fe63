"""The settings that a launch will have: what the command asks for, and what the engine chooses where it does not.

A flag that is not given is no free choice: on a DSA model SGLang picks cache type and backends by the GPU, and most of
what fails on a new GPU was picked, not asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ruleout.audit.checkpoint_families import EXPERTS, Sizes
from ruleout.audit.memory_deployment import deployment, plain_text
from ruleout.audit.subject import Subject
from ruleout.model.audit import Launch

_ATTENTION = ("attention_backend", "prefill_attention_backend", "decode_attention_backend")
_CHOSEN_NEW = (0, 5, 16)
"""From this release on SGLang chooses trtllm for FP8 caches of DSA models on Blackwell; before, FlashMLA."""


def settings(subject: Subject) -> dict[str, set[str]]:
    """The values that each setting has; several where prefill and decode differ."""
    launch, config = subject.launch, subject.config
    deployed = deployment(launch, subject.host, config, subject.quantization)
    attention = {launch.arguments[name].lower() for name in _ATTENTION if name in launch.arguments}
    if "VLLM_ATTENTION_BACKEND" in launch.env:
        attention.add(launch.env["VLLM_ATTENTION_BACKEND"].lower())
    told = subject.quantization or {}
    found = {
        "attention_backend": attention or {"auto"},
        "kv_cache_dtype": {"bfloat16" if deployed.cache_dtype == "bf16" else deployed.cache_dtype},
        "kv_cache_requested": {(launch.value("kv_cache_dtype") or "auto").lower()},
        "moe_backend": _value(launch, "moe_runner_backend", "moe_backend"),
        "fp4_gemm_backend": _value(launch, "fp4_gemm_runner_backend", "fp4_gemm_backend"),
        "quantization": _value(launch, "quantization"),
        "dtype": _value(launch, "dtype"),
        "model_impl": _value(launch, "model_impl"),
        "scale_fmt": {fmt} if isinstance(fmt := told.get("scale_fmt"), str) else set(),
    }
    if Sizes(config).indexed and launch.engine == "sglang":
        found["dsa_backend"] = _dsa(subject, next(iter(found["kv_cache_dtype"])))
    return found


def traits(config: Mapping[str, Any]) -> set[str]:
    """What kind of model it is, in the words of the table."""
    sizes = Sizes(config)
    found = set()
    if sizes.latent or "kv_lora_rank" in config:
        found.add("latent")
    if "index_topk" in config or "index_head_dim" in config:
        found.add("sparse")
    if any(isinstance(config.get(key), int) for key in EXPERTS):
        found.add("experts")
    return found


def stored_as(quantization: Mapping[str, Any] | None, launch: Launch) -> str:
    """How weights are stored, in the words of the table."""
    told = plain_text(quantization)
    asked = (launch.value("quantization") or "").lower()
    for word, name in (("nvfp4", "nvfp4"), ("modelopt_fp4", "nvfp4"), ("mxfp4", "mxfp4")):
        if word in told or word == asked:
            return name
    if quantization is None:
        return "none"
    if quantization.get("weight_block_size") is not None:
        return "fp8_blocks"
    return "fp8" if "fp8" in told or "float-quantized" in told else "int4"


def _value(launch: Launch, *names: str) -> set[str]:
    return {(launch.value(*names) or "auto").lower()}


def _dsa(subject: Subject, cache_dtype: str) -> set[str]:
    """The backends of prefill and decode.

    Source: `_set_default_nsa_backends` in SGLang 0.5.9 (python/sglang/srt/server_args.py),
    `_dsa_split_backend_resolution` in 0.5.23 (arg_groups/overrides.py).
    """
    launch, sm = subject.launch, subject.host.sm if subject.host is not None and subject.host.sm else ""
    deployed = deployment(launch, subject.host, subject.config, subject.quantization)
    major = int(sm[:-1]) if sm[:-1].isdecimal() else 0
    if cache_dtype == "fp8_e4m3" and deployed.version < _CHOSEN_NEW:
        prefill, decode = "flashmla_auto", "flashmla_kv"
    elif cache_dtype == "fp8_e4m3" and major == 12 and subject.model_type == "glm_moe_dsa":
        prefill = decode = "flashinfer_sparse_mla"
    elif cache_dtype == "fp8_e4m3":
        prefill = decode = "trtllm" if major >= 10 else "flashmla_kv"
    else:
        prefill, decode = "flashmla_sparse", "trtllm" if major >= 10 else "fa3"
    return {
        (launch.value("dsa_prefill_backend", "nsa_prefill_backend", "nsa_prefill") or prefill).lower(),
        (launch.value("dsa_decode_backend", "nsa_decode_backend", "nsa_decode") or decode).lower(),
    }
