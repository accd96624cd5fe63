"""What a checkpoint lacks or has too much of, by its configuration and by the format that it declares.

An engine finds out one tensor at a time, after minutes, or not at all: what is missing may stay as it was initialised.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ruleout.audit.checkpoint_families import NotDescribed, Parameter, Part, experts_as_one
from ruleout.audit.checkpoint_stored import Difference, compare
from ruleout.audit.folder import quoted
from ruleout.audit.quantised_reading import NotKnown, Quantisation, declared
from ruleout.audit.subject import Subject
from ruleout.audit.tensors import Tensor, few
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Launch, Severity

CONFIG = "config.json"
MODELS = "https://github.com/huggingface/transformers/tree/v5.2.0/src/transformers/models"
FORMATS = "https://docs.vllm.ai/en/stable/features/quantization/"
_PREDICTORS = ("NEXTN", "EAGLE")
_OF_THE_MODEL = (".embed_tokens", ".shared_head.head")
"""What a layer for multi-token prediction may share with the model itself."""


def shapes(subject: Subject) -> Iterator[AuditFinding]:
    """The tensors held against the configuration and the declared quantisation."""
    if not subject.checkpoint.headers:
        return
    try:
        asked = subject.parameters
        quantisation = declared(subject.quantization)
    except NotDescribed as problem:
        what = f"which tensors there have to be is not known here ({problem}): names and shapes are not checked"
        yield _note("checkpoint-not-described", what, CONFIG, MODELS)
        return
    except NotKnown as problem:
        what = f"how {problem} stores its layers is not known here: names and shapes are not checked"
        yield _note("quantised-not-described", what, f"{CONFIG}: quantization_config", FORMATS)
        return
    held = subject.tensors
    difference = compare(asked, experts_as_one(asked), quantisation, held, subject.config["num_hidden_layers"])
    yield from _weights(subject, difference, complete=subject.checkpoint.complete)
    yield from _formats(difference, quantisation)
    yield from _prediction(subject, asked, held)
    if quantisation is None:
        joined = [name for name in experts_as_one(asked) if name in held]
        if joined and subject.launch.engine in ("vllm", "sglang"):
            what = (
                f"the experts of {len(joined) // 2} layers are stored as one tensor each, as Transformers 5 does: "
                f"{subject.launch.engine} looks for one tensor an expert"
            )
            remedy = "Serve the release as published, or split the experts' tensors."
            yield _finding("checkpoint-joined-experts", Severity.WARNING, what, joined[0], remedy, MODELS)


def counted(subject: Subject) -> int | None:
    """How many parameters the checkpoint holds, however they are packed; None where that cannot be told."""
    if not subject.tensors:
        return None
    try:
        asked = subject.parameters
    except NotDescribed:
        return None
    joined = {name.partition(".experts.")[0] for name in experts_as_one(asked) if name in subject.tensors}
    modules = {name.rpartition(".")[0] for name in subject.tensors}
    return sum(
        parameter.count
        for parameter in asked
        if parameter.module in modules
        or (parameter.part is Part.EXPERT and parameter.name.partition(".experts.")[0] in joined)
    )


def _weights(subject: Subject, found: Difference, *, complete: bool) -> Iterator[AuditFinding]:
    if found.missing and complete:
        what = f"{len(found.missing)} tensors that the configuration asks for are in no file: {few(found.missing)}; "
        what += "Transformers fills them with random numbers, vLLM and SGLang fail or leave them as they are"
        remedy = "Fetch the checkpoint again, or the config.json that belongs to it."
        yield _finding("checkpoint-missing-weight", Severity.ERROR, what, found.missing[0], remedy, MODELS)
    if found.extra:
        what = f"{len(found.extra)} tensors are of no parameter of this configuration: {few(found.extra)}; "
        what += "they are ignored, or stop the load"
        remedy = "Look whether config.json belongs to these weights."
        yield _finding("checkpoint-unexpected-weight", Severity.WARNING, what, found.extra[0], remedy, MODELS)
    for told, names in found.shapes.items():
        what = f"{len(names)} tensors have the shape {told}: {few(names)}; the load stops at them"
        remedy = "Make config.json and weights belong together (hidden, head and expert sizes, ranks, vocabulary)."
        yield _finding("checkpoint-shape", Severity.ERROR, what, names[0], remedy, MODELS)
    for dtype, names in found.dtypes.items():
        what = f"{len(names)} tensors are {dtype}, which is no dtype for weights that are not quantised: {few(names)}"
        remedy = "Fetch the release again, or its quantization_config."
        yield _finding("checkpoint-dtype", Severity.ERROR, what, names[0], remedy, MODELS)


def _formats(found: Difference, quantisation: Quantisation | None) -> Iterator[AuditFinding]:
    method = quantisation.method if quantisation is not None else "none"
    for suffix, modules in found.lacking.items():
        what = f"{len(modules)} layers are quantised without their {suffix}: {few(modules)}; they cannot be read back"
        yield _format("quantised-missing", what, f"{modules[0]}.{suffix}", "Fetch the release again.")
    for kind, modules in found.formats.items():
        what = f"{len(modules)} layers have their {kind}: {few(modules)}"
        yield _format(
            "quantised-dtype", what, modules[0], "Use the release whose quantization_config says what it holds."
        )
    for kind, modules in found.scales.items():
        what = (
            f"{len(modules)} layers have their {kind}: {few(modules)}. e4m3 and ue8m0 are both one byte: read as the "
            "other, scales are wrong by powers of two and no error is printed"
        )
        remedy = "Convert the scales, or declare the format that they are in."
        yield _format("quantised-scale-format", what, modules[0], remedy)
    for told, modules in found.impossible.items():
        what = f"{told}; {len(modules)} layers cannot be stored so: {few(modules)}"
        yield _format("quantised-impossible", what, modules[0], "Leave these layers out of the quantisation.")
    if found.plain:
        what = f"{len(found.plain)} layers are not quantised, and {CONFIG} does not leave them out: {few(found.plain)}"
        key = quantisation.key if quantisation is not None else "ignore"
        yield _format("quantised-not-left-out", what, found.plain[0], f"Add them to quantization_config.{key}.")
    if found.quantised:
        told = f"{CONFIG} leaves them out" if quantisation is not None else f"{CONFIG} has no quantization_config"
        what = f"{len(found.quantised)} layers are quantised, and {told}: {few(found.quantised)} (declared: {method})"
        remedy = "Use the config.json of this very release."
        yield _format("quantised-not-declared", what, found.quantised[0], remedy)


def _prediction(subject: Subject, asked: Sequence[Parameter], held: Mapping[str, Tensor]) -> Iterator[AuditFinding]:
    """The layers for multi-token prediction: complete, or not there at all; and there when they are asked for."""
    layers = subject.config.get("num_hidden_layers", 0)
    predicting = [p for p in asked if p.layer >= layers]
    joined = {name.partition(".experts.")[0] for name in experts_as_one(predicting) if name in held}
    modules = {name.rpartition(".")[0] for name in held}
    absent = [
        parameter.name
        for parameter in predicting
        if parameter.module not in modules
        and not parameter.module.endswith(_OF_THE_MODEL)
        and not (parameter.part is Part.EXPERT and parameter.name.partition(".experts.")[0] in joined)
    ]
    there = any(parameter.name in held for parameter in predicting)
    asks = speculates(subject.launch)
    if there and absent:
        what = f"{len(absent)} tensors of the layers for multi-token prediction are in no file: {few(absent)}"
        yield _finding("checkpoint-mtp-incomplete", Severity.ERROR, what, absent[0], "Fetch the release again.", MODELS)
    elif asks and not there:
        told = f"layer {layers} is in no file" if predicting else f"{CONFIG} has no num_nextn_predict_layers"
        what = f"{asks} drafts with the model's own layers for multi-token prediction, and there are none: {told}"
        remedy = "Use a release that has them, give a draft model, or leave speculation off."
        source = "https://github.com/voipmonitor/rtx6kpro/blob/07e8898/models/glm5.md"
        yield AuditFinding("checkpoint-mtp-missing", Severity.ERROR, what, asks, remedy, source, Component.SPEC_DECODE)


def speculates(launch: Launch) -> str:
    """The flag that asks for speculation with the model's own layers; empty where none does."""
    algorithm = launch.value("speculative_algorithm")
    draft = launch.value("speculative_draft_model_path", "speculative_draft_model")
    if (
        algorithm is not None
        and algorithm.upper() in _PREDICTORS
        and draft in (None, launch.value("model_path", "model"))
    ):
        return f"--speculative-algorithm {algorithm}"
    try:
        told: Any = json.loads(launch.value("speculative_config") or "null")
    except (ValueError, RecursionError):
        return ""
    method = str(told.get("method", "")) if isinstance(told, dict) else ""
    return f"--speculative-config method {method}" if method.endswith("mtp") and not told.get("model") else ""


def _note(name: str, what: str, where: str, source: str) -> AuditFinding:
    return AuditFinding(name, Severity.NOTE, what, where, "", source, Component.WEIGHTS_CHECKPOINT)


def _finding(name: str, severity: Severity, what: str, where: str, remedy: str, source: str) -> AuditFinding:
    return AuditFinding(name, severity, what, quoted(where), remedy, source, Component.WEIGHTS_CHECKPOINT)


def _format(name: str, what: str, where: str, remedy: str) -> AuditFinding:
    return AuditFinding(name, Severity.ERROR, what, quoted(where), remedy, FORMATS, Component.QUANTIZATION)
