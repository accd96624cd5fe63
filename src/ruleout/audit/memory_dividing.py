"""Ranks cut heads, experts, inner sizes and groups of scales: what does not divide stops a load after minutes.

Sources: `QKVParallelLinear` and `Fp8LinearMethod.create_weights` in vLLM 0.11; the asserts of the same names in
SGLang 0.5.9 (python/sglang/srt/layers/linear.py, layers/moe/ep_moe/layer.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from ruleout.audit.checkpoint_families import EXPERTS, NotDescribed, Sizes
from ruleout.audit.memory_deployment import Deployment, deployment, plain_text
from ruleout.audit.subject import Subject
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Severity

_SOURCE = "https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/model_executor/layers/linear.py"


def dividing(subject: Subject) -> Iterator[AuditFinding]:
    """What the parallel sizes do not divide."""
    if not subject.launch.engine:
        return
    sizes = Sizes(subject.config)
    deployed = deployment(subject.launch, subject.host, subject.config, subject.quantization)
    try:
        yield from _heads(sizes, deployed)
        yield from _layers(sizes, deployed)
        yield from _experts(sizes, deployed)
        yield from _groups(sizes, deployed, subject)
    except NotDescribed:
        return


def _heads(sizes: Sizes, deployed: Deployment) -> Iterator[AuditFinding]:
    ranks, heads = deployed.attention_tp, sizes.heads
    if deployed.tp % ranks or (deployed.attention_tp != deployed.tp and deployed.tp % deployed.dp):
        yield _error(
            "memory-ranks", f"{deployed.tp} ranks do not divide into {deployed.dp} attention groups", "--dp-size"
        )
    if heads % ranks:
        yield _error("memory-heads", f"{heads} attention heads do not divide over {ranks} ranks", "--tp")
    if sizes.latent:
        return
    keys = sizes.kv_heads
    if max(keys, ranks) % min(keys, ranks):
        yield _error("memory-kv-heads", f"{keys} KV heads and {ranks} ranks: neither divides the other", "--tp")
    elif ranks > keys:
        what = f"{keys} KV heads on {ranks} ranks: each is kept {ranks // keys} times"
        remedy = "With SGLang --enable-dp-attention keeps each once."
        yield AuditFinding("memory-kv-heads-repeated", Severity.NOTE, what, "--tp", remedy, _SOURCE, Component.MEMORY)


def _layers(sizes: Sizes, deployed: Deployment) -> Iterator[AuditFinding]:
    layers, vocabulary = sizes("num_hidden_layers"), sizes("vocab_size")
    if deployed.pp > layers:
        yield _error("memory-layers", f"{layers} layers cannot be put on {deployed.pp} stages", "--pp")
    if vocabulary % deployed.tp:
        what = (
            f"a vocabulary of {vocabulary} does not divide over {deployed.tp} ranks: engines pad it to a multiple of 64"
        )
        yield AuditFinding("memory-vocabulary", Severity.NOTE, what, "--tp", "", _SOURCE, Component.MEMORY)


def _experts(sizes: Sizes, deployed: Deployment) -> Iterator[AuditFinding]:
    if sizes.config.keys().isdisjoint(EXPERTS):
        return
    experts = sizes.experts
    if deployed.ep > 1 and experts % deployed.ep:
        what = f"{experts} experts do not divide over {deployed.ep} ranks"
        severity = Severity.WARNING if deployed.engine == "vllm" else Severity.ERROR
        yield AuditFinding(
            "memory-experts", severity, what, "--ep", "Use a size that divides.", _SOURCE, Component.USER_CONFIG
        )
    if deployed.engine == "sglang" and deployed.tp % deployed.ep:
        yield _error(
            "memory-expert-ranks", f"{deployed.tp} ranks do not divide over {deployed.ep} expert groups", "--ep"
        )


def _groups(sizes: Sizes, deployed: Deployment, subject: Subject) -> Iterator[AuditFinding]:
    """The slice of an inner size that one rank gets has to be whole groups of scales."""
    told = subject.quantization or {}
    block = told.get("weight_block_size")
    group = block[0] if isinstance(block, list) and block and type(block[0]) is int else told.get("group_size")
    if "fp4" in plain_text(told):
        group = 16
    inner = {"intermediate_size": deployed.tp}
    if "moe_intermediate_size" in sizes.config:
        moe = 1 if deployed.engine == "vllm" and deployed.ep > 1 else max(1, deployed.tp // deployed.ep)
        inner["moe_intermediate_size"] = moe
    for key, ranks in inner.items():
        size = sizes(key, 0)
        if size % ranks:
            yield _error("memory-inner", f"{key} {size} does not divide over {ranks} ranks", "--tp")
        elif type(group) is int and group > 1 and ranks > 1 and size // ranks % group:
            what = f"{key} {size} over {ranks} ranks is {size // ranks} each, no whole groups of {group} to a scale"
            yield _error("memory-groups", what, "--tp")


def _error(name: str, what: str, where: str) -> AuditFinding:
    remedy = "Use parallel sizes that divide."
    return AuditFinding(name, Severity.ERROR, what, where, remedy, _SOURCE, Component.USER_CONFIG)
