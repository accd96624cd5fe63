"""Engines join layers that read the same input, and one kernel reads one format: a fused layer is quantised as a whole.

A checkpoint that leaves out `q_proj` and quantises `k_proj` is right layer by layer and cannot be served.
Source: `packed_modules_mapping` in https://github.com/vllm-project/vllm/tree/v0.11.0/vllm/model_executor/models
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from ruleout.audit.checkpoint_families import NotDescribed, Parameter, Part
from ruleout.audit.folder import quoted
from ruleout.audit.quantised_reading import NotKnown, Quantisation, declared
from ruleout.audit.subject import Subject
from ruleout.audit.tensors import Tensor, few
from ruleout.audit.tensors_dtypes import WIDE
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Severity

SOURCE = "https://docs.vllm.ai/en/stable/features/quantization/"


def fused(subject: Subject) -> Iterator[AuditFinding]:
    """Layers that engines fuse and that are not stored alike."""
    try:
        quantisation = declared(subject.quantization)
        asked = subject.parameters if quantisation is not None else ()
    except (NotDescribed, NotKnown):
        return
    if quantisation is None or not subject.checkpoint.headers:
        return
    held = subject.tensors
    stored = {parameter.module: _kind(parameter.module, held) for parameter in asked if parameter.linear}
    mixed = _mixed(asked, stored)
    if mixed:
        what = f"{len(mixed)} layers that engines join are quantised in part: {few(mixed)}; "
        what += "the load stops, or reads a part as what it is not"
        remedy = f"Leave out all of a joined layer or nothing of it (quantization_config.{quantisation.key})."
        yield _finding("quantised-fused", Severity.ERROR, what, mixed[0], remedy)
    yield from _declared_mixed(asked, quantisation, stored, mixed)
    yield from _shared(asked, stored)


def _kind(module: str, held: Mapping[str, Tensor]) -> str | None:
    """What a layer is stored as: `plain`, the dtype of its quantised weight, or None where it is not there."""
    for suffix in ("weight_packed", "qweight", "weight"):
        tensor = held.get(f"{module}.{suffix}")
        if tensor is not None:
            return "plain" if tensor.dtype in WIDE else tensor.dtype
    return None


def _mixed(asked: Iterable[Parameter], stored: Mapping[str, str | None]) -> list[str]:
    kinds: dict[str, set[str]] = defaultdict(set)
    for parameter in asked:
        kind = stored.get(parameter.module)
        if parameter.fused and kind is not None:
            kinds[parameter.fused].add(kind)
    return [name for name, found in kinds.items() if len(found) > 1]


def _declared_mixed(
    asked: Iterable[Parameter], quantisation: Quantisation, stored: Mapping[str, str | None], told: Iterable[str]
) -> Iterator[AuditFinding]:
    """Exclusions that name a part of a joined layer: engines ask for the joined one, and its parts disagree."""
    kinds: dict[str, set[bool]] = defaultdict(set)
    for parameter in asked:
        if parameter.fused and stored.get(parameter.module) is not None:
            kinds[parameter.fused].add(quantisation.scheme(parameter.module) is None)
    mixed = sorted({name for name, found in kinds.items() if len(found) > 1} - set(told))
    if mixed:
        what = f"the configuration leaves out a part of {len(mixed)} layers that engines join: {few(mixed)}"
        remedy = f"Name all parts in quantization_config.{quantisation.key}, or none."
        yield _finding("quantised-fused-declared", Severity.ERROR, what, f"config.json: {quantisation.key}", remedy)


def _shared(asked: Iterable[Parameter], stored: Mapping[str, str | None]) -> Iterator[AuditFinding]:
    """SGLang may put the shared expert among the routed ones, which only works where they are stored alike."""
    shared: dict[int, set[str]] = defaultdict(set)
    routed: dict[int, set[str]] = defaultdict(set)
    for parameter in asked:
        kind = stored.get(parameter.module)
        if kind is not None and parameter.linear and parameter.part in (Part.SHARED, Part.EXPERT):
            (shared if parameter.part is Part.SHARED else routed)[parameter.layer].add(kind)
    apart = [layer for layer, kinds in shared.items() if routed.get(layer) and kinds != routed[layer]]
    if apart:
        what = (
            f"the shared experts of {len(apart)} layers are stored otherwise than the routed ones: they cannot be fused"
        )
        remedy = "With SGLang add --disable-shared-experts-fusion if the load complains of shared experts."
        yield _finding(
            "quantised-shared-experts", Severity.NOTE, what, f"model.layers.{apart[0]}.mlp.shared_experts", remedy
        )


def _finding(name: str, severity: Severity, what: str, where: str, remedy: str) -> AuditFinding:
    return AuditFinding(name, severity, what, quoted(where), remedy, SOURCE, Component.QUANTIZATION)
