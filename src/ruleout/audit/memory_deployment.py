"""What a launch command says about size: over how many ranks, with which cache dtype, for how long a context.

Flags have several spellings and defaults that depend on the GPU; what was not given is recorded as assumed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ruleout.audit.checkpoint_families import Sizes
from ruleout.audit.folder import quoted
from ruleout.model.audit import Host, Launch

_BYTES: Mapping[str, float] = {
    "float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2, "bf16": 2, "auto": 2,
    **dict.fromkeys(("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla", "mxfp8", "int8"), 1),
    **dict.fromkeys(("fp8_per_token_head", "int8_per_token_head"), 1),
    **dict.fromkeys(("fp4_e2m1", "fp4_mx_block16", "nvfp4", "nvfp4_4over6", "int4_per_token_head"), 0.5),
}  # fmt: skip
"""Bytes of a value in the cache; scales that lie beside are a few percent of them."""


def release(version: str | None) -> tuple[int, ...]:
    """A release as numbers that can be compared; an unknown one is newer than any."""
    found = re.match(r"v?(\d+(?:\.\d+){0,3})", version or "")
    return tuple(int(part) for part in found[1].split(".")) if found else (1 << 30,)


def plain_text(value: object) -> str:
    """A value from a configuration as small letters to look for words in; empty where it is nested too deeply."""
    if isinstance(value, str):
        return value.lower()
    try:
        return json.dumps(value).lower()
    except (RecursionError, ValueError):
        return ""


@dataclass(frozen=True)
class Deployment:
    """The sizes of a deployment.

    Attributes:
        engine: `sglang`, `vllm`, …; empty where it is not known.
        tp, pp, dp, ep: tensor, pipeline, data and expert parallel sizes.
        attention_tp: over how many ranks attention is cut.
        cache_dtype: of the KV cache, as it will be: `auto` is resolved.
        element: bytes of a value in the cache (0.5 for FP4).
        assumed: by name, what the command does not say.
    """

    engine: str
    version: tuple[int, ...]
    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    attention_tp: int = 1
    cache_dtype: str = "bfloat16"
    element: float = 2
    assumed: Mapping[str, Any] = field(default_factory=dict)


def deployment(
    launch: Launch, host: Host | None, config: Mapping[str, Any], quantization: Mapping[str, Any] | None
) -> Deployment:
    """The sizes that a command asks for, with the engine's defaults where it does not."""
    tp = launch.number("tensor_parallel_size", "tp_size", "tp") or 1
    pp = launch.number("pipeline_parallel_size", "pp_size", "pp") or 1
    dp = launch.number("data_parallel_size", "dp_size", "dp") or 1
    assumed: dict[str, Any] = {}
    if launch.engine == "vllm":
        ep = tp * dp if launch.value("enable_expert_parallel") not in (None, "false") else 1
        attention_tp = tp
    else:
        ep = launch.number("expert_parallel_size", "ep_size", "ep") or 1
        attention_tp = max(1, tp // dp) if launch.value("enable_dp_attention") not in (None, "false") else tp
    dtype = (launch.value("kv_cache_dtype") or "auto").lower()
    if dtype == "auto":
        dtype = _chosen(launch, host, config, quantization)
        assumed["kv_cache_dtype"] = dtype
    element = _BYTES.get(dtype)
    if element is None:
        assumed["kv_cache_value"] = f"2 bytes: how {quoted(dtype)} stores values is not known here"
    return Deployment(
        launch.engine, release(launch.version), tp, pp, dp, ep, attention_tp, dtype, element or 2, assumed
    )  # fmt: skip


def _chosen(
    launch: Launch, host: Host | None, config: Mapping[str, Any], quantization: Mapping[str, Any] | None
) -> str:
    """What `auto` becomes.

    Source: `_set_default_nsa_kv_cache_dtype` in SGLang's server_args.py (0.5.9) for sparse latent attention;
    `kv_cache_quant_algo` of modelopt and `kv_cache_scheme` of compressed-tensors are honoured by both engines.
    """
    told = quantization or {}
    scheme = told.get("kv_cache_scheme")
    if "fp8" in plain_text(told.get("kv_cache_quant_algo")) or (
        isinstance(scheme, dict) and scheme.get("num_bits") == 8
    ):
        return "fp8_e4m3"
    if launch.engine == "sglang" and Sizes(config).indexed and host is not None and host.sm is not None:
        major = int(host.sm[:-1]) if host.sm[:-1].isdecimal() else 0
        return "fp8_e4m3" if major >= 10 else "bfloat16"
    asked = (launch.value("dtype") or "auto").lower()
    if asked == "auto":
        stored = plain_text(config.get("dtype") or config.get("torch_dtype") or "bfloat16").removeprefix("torch.")
        return "bfloat16" if stored == "float32" else stored
    return asked
