"""What an engine keeps free besides weights and cache, by its own rules where it has rules, and by measure where not.

SGLang sets a fraction of the GPU aside for weights and cache, and takes it from a table of GPU sizes. vLLM sets a
fraction aside for everything, and measures what a step needs; that measure is estimated here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ruleout.audit.checkpoint_families import Sizes
from ruleout.audit.memory_deployment import Deployment
from ruleout.audit.memory_weights import Span
from ruleout.model.audit import Host, Launch

GIB, MIB = 1 << 30, 1 << 20
CONTEXT = Span(1.2, 0.6, 1.5) * GIB
"""What a process takes of a GPU before anything is loaded: 1.5 GiB of 95.6 on an RTX PRO 6000 with eight ranks."""
COMMUNICATION = 0.3 * GIB
SHARED = frozenset({"87", "110", "121"})
"""Capabilities of GPUs whose memory is that of the host: what other processes take of it changes by the minute."""
GRAPHS = Span(1.0, 0.4, 2.6) * GIB
"""Bytes of vLLM's CUDA graphs, which it estimated at 1.4 and 2.6 GiB in logs of one GPU."""
OTHER = Span(0.6, 0.3, 1.5) * GIB
"""Bytes that vLLM measures besides a step and its graphs: contexts, libraries, modules of kernels."""
_PIECEWISE = (0, 5, 10)


@dataclass(frozen=True)
class Budget:
    """Bytes of one GPU that weights and cache may take, and what was assumed on the way."""

    bytes: Span
    assumed: Mapping[str, Any]


def budget(launch: Launch, host: Host, deployed: Deployment, config: Mapping[str, Any]) -> Budget:
    """What is left for weights and KV cache on one GPU."""
    if launch.engine == "sglang":
        found = _sglang(launch, host, deployed, Sizes(config).latent)
    else:
        found = _vllm(launch, host, deployed, config)
    if launch.value("device") != "cpu" and host.sm not in SHARED:
        return found
    others = min(2.0 * GIB, 0.02 * host.memory)  # 0.1 to 0.6 GiB in logs, 2 while kernels were compiled
    return replace(found, bytes=found.bytes._replace(least=found.bytes.least - others))


def _sglang(launch: Launch, host: Host, deployed: Deployment, latent: bool) -> Budget:
    assumed: dict[str, Any] = {}
    taken = CONTEXT + Span.of(COMMUNICATION if deployed.tp > 1 else 0)
    if launch.value("device") == "cpu":
        taken *= 0
    else:
        assumed["cuda_context_gib"] = round(taken.likely / GIB, 2)
    given = launch.value("mem_fraction_static")
    fraction = _number(given)
    if fraction is None:
        fraction = fraction_static(launch, host.memory / MIB, deployed, latent=latent)
        assumed["mem_fraction_static"] = fraction
    return Budget((Span.of(host.memory) - taken) * fraction, assumed)


def fraction_static(launch: Launch, mib: float, deployed: Deployment, *, latent: bool) -> float:
    """SGLang's own choice of `--mem-fraction-static` for a GPU of so many MiB.

    Source: `_handle_gpu_memory_settings` in python/sglang/srt/server_args.py of 0.5.9, `reserve_for_graph_mb` in
    arg_groups/memory_hook.py of 0.5.23 for the graphs of prefill.
    """
    many = deployed.tp >= 4
    table = (
        (20, 2048, 8), (35, 2048, 80 if many else 24), (60, 4096, 160 if many else 32),
        (160, 8192, 512 if many else 256),
    )  # fmt: skip
    chunk, graphs = next(((c, g) for gib, c, g in table if mib < gib * 1024), (16384, 512))
    chunk = launch.number("chunked_prefill_size") or chunk
    graphs = launch.number("cuda_graph_max_bs") or graphs
    reserved = 512 + max(chunk, 2048) * 1.5 + graphs * 2 + deployed.tp * deployed.pp / 8 * 1024
    if deployed.attention_tp < deployed.tp:
        reserved += graphs * deployed.dp * (4.5 if graphs > 300 else 3)
    if deployed.version >= _PIECEWISE and launch.value("disable_piecewise_cuda_graph") is None:
        reserved += 1536 if latent else 8 * _buckets(chunk)
    if mib > 60 * 1024:
        reserved = max(reserved, 10 * 1024)
    algorithm = (launch.value("speculative_algorithm") or "").upper()
    if algorithm and algorithm != "NGRAM":
        reserved += 6 * 1024 if algorithm == "STANDALONE" else 2 * 1024
    return round(max(0.0, (mib - reserved) / mib), 3)


def _buckets(most: int) -> int:
    """How many sizes SGLang captures graphs of prefill for."""
    steps = ((4, 33, 4), (48, 257, 16), (288, 513, 32), (576, 1025, 64), (1280, 4097, 256), (4608, most + 1, 512))
    return sum(size <= most for first, last, step in steps for size in range(first, last, step))


def _vllm(launch: Launch, host: Host, deployed: Deployment, config: Mapping[str, Any]) -> Budget:
    assumed: dict[str, Any] = {}
    fraction = _number(launch.value("gpu_memory_utilization"))
    if fraction is None:
        fraction = 0.9
        assumed["gpu_memory_utilization"] = fraction
    widest = step(config, deployed, batched(launch, host))
    activation = Span(widest, widest / 2, widest * 2)
    graphs = GRAPHS * (0 if launch.value("enforce_eager") not in (None, "false") else 1)
    other = OTHER + Span(2, 1, 3) * (COMMUNICATION if deployed.tp > 1 else 0)
    for name, taken in (("activation_gib", activation), ("graphs_gib", graphs), ("other_gib", other)):
        assumed[name] = round(taken.likely / GIB, 2)
    return Budget(Span.of(host.memory * fraction) - (activation + graphs + other), assumed)


def batched(launch: Launch, host: Host | None) -> int:
    """Tokens of one step: `--max-num-batched-tokens`, or vLLM's default (`EngineArgs._set_default_args`, 0.11).

    The size of a memory that is the host's own is not told by the driver, and vLLM takes it for a small one.
    """
    large = host is not None and host.memory >= 70 * GIB and host.sm not in SHARED
    return launch.number("max_num_batched_tokens") or (8192 if large else 2048)


def step(config: Mapping[str, Any], deployed: Deployment, tokens: int) -> float:
    """Bytes that one step of so many tokens needs at its widest, estimated from the widest layer."""
    sizes = Sizes(config)
    hidden, vocabulary = sizes("hidden_size"), sizes("vocab_size")
    inner = sizes("intermediate_size", 4 * hidden) / deployed.tp
    widest = 3 * inner
    if "moe_intermediate_size" in config:
        chosen = sizes("num_experts_per_tok", 8)
        widest = max(widest, chosen * (3 * sizes("moe_intermediate_size") / deployed.tp + 2 * hidden))
    logits = min(tokens, 256) * vocabulary * 10
    return tokens * (6 * hidden + widest) * 2 + logits


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and 0 < value <= 1 else None
