"""What a changed configuration changes, against the one that the weights were made with: per library, and why.

A key that a library does not read changes nothing, however important it looks; one that shapes the weights makes them
unloadable. All else that is read changes the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ruleout.audit.folder import quoted
from ruleout.audit.layers import feed_forward
from ruleout.audit.rope.comparing import compared
from ruleout.audit.rope.families import family
from ruleout.audit.rope.transformers import read
from ruleout.model.audit import Departure, RopeOutcome

SHAPES = frozenset(
    {"hidden_size", "intermediate_size", "moe_intermediate_size", "vocab_size", "num_hidden_layers"}
    | {"num_attention_heads", "num_key_value_heads", "head_dim", "num_local_experts", "n_routed_experts"}
    | {"n_shared_experts", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"}
    | {"index_head_dim", "index_n_heads"}
)
"""Keys that tell the shapes of tensors: with another value, those of the checkpoint do not fit."""
_ELSEWHERE = frozenset(
    {"rope_parameters", "rope_scaling", "rope_theta", "max_position_embeddings", "mlp_layer_types", "layer_types"}
    | {"initializer_range", "attention_dropout", "pretraining_tp"}
)
"""Keys whose effect is worked out apart, or that have none when a model serves."""


def departure(config: Mapping[str, Any], original: Mapping[str, Any], release: str) -> Departure:
    """What a release of transformers makes of a configuration, where it did well with the original one."""
    reading, before = read(config, release), read(original, release)
    told = compared(reading, before)
    if told.outcome in (RopeOutcome.FAILS, RopeOutcome.UNKNOWN):
        return Departure(told.outcome, (told.why,))
    known = family(release, config.get("model_type"))
    reads = frozenset(known.reads.split()) if known else frozenset()
    changed = sorted(key for key in reads - _ELSEWHERE if _value(config, key, known) != _value(original, key, known))
    unfit = [key for key in changed if key in SHAPES and not (key == "head_dim" and known and known.head)]
    if unfit:
        return Departure(RopeOutcome.FAILS, tuple(_change(config, original, key) for key in unfit))
    if told.outcome is RopeOutcome.NAN:
        return Departure(RopeOutcome.NAN, (told.why,))
    if _selects_nothing(config, release) and "index_topk" in reads:
        return Departure(RopeOutcome.NAN, ("index_topk: no token is attended to, a softmax over nothing is NaN",))
    why = [_change(config, original, key) for key in changed if key not in SHAPES]
    why += _layers(config, original, release)
    if told.outcome is RopeOutcome.DIFFERENT:
        why.append("rotary positions")
    return Departure(RopeOutcome.DIFFERENT if why else RopeOutcome.SAME, tuple(why))


def _value(config: Mapping[str, Any], key: str, known: Any) -> Any:
    return config.get(key, known.sizes.get(key) if known else None)


def _change(config: Mapping[str, Any], original: Mapping[str, Any], key: str) -> str:
    return f"{key}: {quoted(original.get(key))} → {quoted(config.get(key))}"


def _selects_nothing(config: Mapping[str, Any], release: str) -> bool:
    """5.2 masks all that its indexer did not choose; 5.24 leaves each token itself."""
    chosen = config.get("index_topk")
    return release == "5.2" and isinstance(chosen, int) and chosen <= 0


def _layers(config: Mapping[str, Any], original: Mapping[str, Any], release: str) -> Iterator[str]:
    if feed_forward(config, release) != feed_forward(original, release):
        yield "mlp_layer_types: layers are taken for dense that have experts, or the other way round"
