"""What fits is a subtraction: what the engine sets aside, less the weights of the fullest rank, over bytes a token.

Each of the three can be wrong by a little, and the rest is a difference of large numbers: what was assumed is part of
the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ruleout.audit.checkpoint_families import NotDescribed, Parameter, Part, Sizes
from ruleout.audit.checkpoint_shapes import speculates
from ruleout.audit.memory_cache import Cache, cache, tokens
from ruleout.audit.memory_deployment import Deployment, deployment, plain_text
from ruleout.audit.memory_reserve import GIB, batched, budget
from ruleout.audit.memory_weights import Span, Weight, by_configuration, loaded, per_rank, stored
from ruleout.audit.quantised_reading import NotKnown, declared
from ruleout.audit.subject import Subject
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Host, Launch, MemoryNeed, Severity

_SGLANG = "https://docs.sglang.ai/advanced_features/hyperparameter_tuning.html"
_VLLM = "https://docs.vllm.ai/en/latest/configuration/conserving_memory/"


FITTED = ("auto", "-1")
"""How vLLM is told to make the context as long as fits."""
COUNTED = ("sglang", "vllm")
"""The engines whose way of setting memory aside is known here."""


@dataclass(frozen=True)
class Fit:
    """How a model lies in the memory of one rank.

    Attributes:
        weights: bytes that loading takes.
        pool: bytes that are left for the cache; None where command or host are not known, below 0 where nothing is.
        tokens: that the pool keeps.
        between: the same at either end of what is measured and not computed.
        context: tokens of the longest request; 0 where the engine makes it as long as fits.
    """

    deployed: Deployment
    cache: Cache
    weights: float
    pool: Span | None
    tokens: int | None
    between: tuple[int, int] | None
    context: int
    assumed: Mapping[str, Any]


def fit(
    config: Mapping[str, Any],
    quantization: Mapping[str, Any] | None,
    weights: list[Weight],
    launch: Launch,
    host: Host | None,
) -> Fit:
    """Lays a model out over the ranks of a deployment. Raises NotDescribed where the configuration lacks a size."""
    sizes = Sizes(config)
    deployed = deployment(launch, host, config, quantization)
    held = cache(config, deployed)
    drafting = bool(speculates(launch))
    heads = 1 if sizes.latent else sizes.kv_heads
    each = per_rank(weights, deployed, kv_heads=heads, layers=sizes("num_hidden_layers"), drafting=drafting)
    taken = loaded(each, deployed, cpu=launch.value("device") == "cpu")
    context = launch.number("context_length", "max_model_len") or _positions(config)
    assumed = {**deployed.assumed, "loading_takes_gib": round((taken.likely - each) / GIB, 2)}
    pool, explicit = None, _cpu_cache(launch)
    if explicit is not None:
        pool = Span.of(explicit)
    elif launch.engine in COUNTED and host is not None and host.memory:
        left = budget(launch, host, deployed, config)
        pool = left.bytes - taken
        assumed |= left.assumed
    if pool is None:
        return Fit(deployed, held, taken.likely, None, None, None, context, assumed)
    step, limit = batched(launch, host), launch.number("max_total_tokens")
    kept = (tokens(held, size, launch.engine, context=context, batched=step) for size in pool)
    found, low, high = kept if limit is None else (min(one, limit) for one in kept)
    context = 0 if launch.value("max_model_len") in FITTED else context
    return Fit(deployed, held, taken.likely, pool, found, (low, high), context, assumed)


def memory(subject: Subject) -> tuple[MemoryNeed | None, list[AuditFinding]]:
    """What the model takes, and what will not fit or not divide."""
    try:
        asked = subject.parameters
        here = subject.checkpoint.whole
        weights = stored(asked, subject.tensors) if here else _by_configuration(subject, asked)
        it = fit(subject.config, subject.quantization, weights, subject.launch, subject.host)
    except (NotDescribed, NotKnown):
        return None, []
    assumed = dict(it.assumed) if here else {**it.assumed, "weights": "by the configuration"}
    need = MemoryNeed(round(it.weights / GIB, 2), round(it.cache.counted()), it.tokens, assumed, it.between)
    return need, [*_room(it, subject.host), *_layout(it)]


def _positions(config: Mapping[str, Any]) -> int:
    """The longest context that the model says it has."""
    told = config.get("max_position_embeddings")
    return told if type(told) is int and told > 0 else 1 << 17


def _by_configuration(subject: Subject, asked: tuple[Parameter, ...]) -> list[Weight]:
    """The weights of a checkpoint whose files are not here."""
    element = (
        4 if plain_text(subject.config.get("dtype") or subject.config.get("torch_dtype")).endswith("float32") else 2
    )
    needed = [parameter for parameter in asked if not parameter.optional or parameter.part is not Part.VOCABULARY]
    return by_configuration(needed, declared(subject.quantization), element)


def _cpu_cache(launch: Launch) -> float | None:
    """vLLM on CPUs takes what it is told, in GiB."""
    told = launch.env.get("VLLM_CPU_KVCACHE_SPACE")
    return float(told) * GIB if launch.engine == "vllm" and told is not None and told.isdecimal() else None


def _room(it: Fit, host: Host | None) -> Iterator[AuditFinding]:
    engine = it.deployed.engine
    ranks = it.deployed.tp * it.deployed.pp * (it.deployed.dp if it.deployed.attention_tp == it.deployed.tp else 1)
    if host is not None and host.gpus and ranks > host.gpus:
        what = f"the command asks for {ranks} ranks, and the host has {host.gpus} GPU{'s' * (host.gpus > 1)}"
        yield _finding("memory-too-few-gpus", Severity.ERROR, what, "--tp", "Lower the parallel sizes.", engine)
    weights = it.weights / GIB
    if it.pool is None and engine and host is not None and 0 < host.memory < it.weights:
        what = f"weights of {weights:.1f} GiB a rank are more than the {host.memory / GIB:.1f} GiB of a GPU"
        remedy = "Use more ranks or a smaller format."
        yield _finding("memory-does-not-fit", Severity.ERROR, what, "memory", remedy, engine)
    if it.pool is None or it.tokens is None or it.between is None or not it.weights:
        return
    most = it.between[1]
    if it.pool.likely <= 0:
        lacking = -it.pool.likely / GIB
        what = f"weights of {weights:.1f} GiB a rank leave nothing for the KV cache: {lacking:.1f} GiB are lacking"
        remedy = "Use more ranks or a smaller format, or raise the fraction of memory."
        severity = Severity.WARNING if most else Severity.ERROR
        what += f", or {most:,} tokens fit at best" if most else ""
        yield _finding("memory-does-not-fit", severity, what, "memory", remedy, engine)
    elif it.tokens < it.context:
        what = f"the KV cache keeps about {it.tokens:,} tokens ({it.pool.likely / GIB:.1f} GiB), "
        what += f"one request may take {it.context:,}"
        flag = "--context-length" if engine == "sglang" else "--max-model-len"
        severity = Severity.ERROR if engine == "vllm" and most < it.context else Severity.WARNING
        remedy = f"Lower {flag}, use an FP8 KV cache where it works, or give it more memory."
        yield _finding("memory-kv-too-small", severity, what, flag, remedy, engine)


def _layout(it: Fit) -> Iterator[AuditFinding]:
    extra = it.cache.allocated() - it.cache.counted()
    if extra > 0 and not it.cache.sliding:
        told = f", {it.tokens * extra / GIB:.1f} GiB for {it.tokens:,} tokens" if it.tokens else ""
        what = (
            f"SGLang before 0.5.12 counts {it.cache.entry:.0f} bytes a token and layer for this cache and allocates "
            f"{it.cache.stored:.0f}{told}: the pool is larger than planned, and graphs may not find room"
        )
        remedy = "Lower --mem-fraction-static by the difference, or use --kv-cache-dtype bf16."
        source = "https://github.com/sgl-project/sglang/blob/v0.5.9/python/sglang/srt/mem_cache/memory_pool.py"
        yield AuditFinding(
            "memory-cache-uncounted", Severity.WARNING, what, "--kv-cache-dtype", remedy, source, Component.MEMORY
        )


def _finding(name: str, severity: Severity, what: str, where: str, remedy: str, engine: str) -> AuditFinding:
    return AuditFinding(name, severity, what, where, remedy, _SGLANG if engine == "sglang" else _VLLM, Component.MEMORY)
