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
from ruleout.audit.rope.departing import severity_for
from ruleout.audit.rope.families import family
from ruleout.audit.rope.telling import SOURCES
from ruleout.audit.rope.transformers import STRANGER, read
from ruleout.audit.subject import Subject
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Departure, RopeOutcome, Severity

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
    if reading.refused.startswith(STRANGER):
        return Departure(RopeOutcome.UNKNOWN, (reading.refused,))
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


def changes(subject: Subject, found: Mapping[str, Departure]) -> Iterator[AuditFinding]:
    """What the releases make of the changed configuration: each way of departing once."""
    groups: dict[tuple[RopeOutcome, tuple[str, ...]], list[str]] = {}
    for name, one in found.items():
        if one.outcome in _WHAT:
            groups.setdefault((one.outcome, one.why), []).append(name)
    known = [one.outcome for one in found.values() if one.outcome is not RopeOutcome.UNKNOWN]
    hopeless = all(outcome in (RopeOutcome.FAILS, RopeOutcome.NAN) for outcome in known)
    for (outcome, why), names in groups.items():
        severity = Severity.ERROR if hopeless else severity_for(subject, names)
        if outcome is RopeOutcome.DIFFERENT and severity is Severity.ERROR:
            severity = Severity.WARNING  # it may be what is wanted
        yield AuditFinding(
            f"changed-{outcome.value}", severity, f"{', '.join(names)}: {_WHAT[outcome]} ({'; '.join(why)})",
            "config.json", "Take back what was changed, or serve weights that were made so.",
            SOURCES["transformers"], Component.USER_CONFIG,
        )  # fmt: skip


_WHAT = {
    RopeOutcome.DIFFERENT: "computes something else than with the original config.json",
    RopeOutcome.NAN: "all logits become NaN, unlike with the original config.json",
    RopeOutcome.FAILS: "it fails, unlike with the original config.json",
}


def _value(config: Mapping[str, Any], key: str, known: Any) -> Any:
    return config.get(key, known.sizes.get(key) if known else None)


def _change(config: Mapping[str, Any], original: Mapping[str, Any], key: str) -> str:
    return f"{key}: {_written(original.get(key))} → {_written(config.get(key))}"


def _written(value: Any) -> str:
    """A value as it is written: a number in quotes is text."""
    return f'"{quoted(value)}"' if isinstance(value, str) else quoted(value)


def _selects_nothing(config: Mapping[str, Any], release: str) -> bool:
    """5.2 masks all that its indexer did not choose; 5.24 leaves each token itself."""
    chosen = config.get("index_topk")
    return release == "5.2" and isinstance(chosen, int) and chosen <= 0


def _layers(config: Mapping[str, Any], original: Mapping[str, Any], release: str) -> Iterator[str]:
    if feed_forward(config, release) != feed_forward(original, release):
        yield "mlp_layer_types: layers are taken for dense that have experts, or the other way round"
