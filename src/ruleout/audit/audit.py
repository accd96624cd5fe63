"""An audit is a table of checks over one subject: each knows one kind of trouble, and none needs another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ruleout.audit import deep as numbers
from ruleout.audit.against import changes, departure
from ruleout.audit.architecture import architecture
from ruleout.audit.checkpoint import checkpoint
from ruleout.audit.checkpoint_shapes import counted, shapes
from ruleout.audit.command import command
from ruleout.audit.folder import ModelFolder, Unreadable
from ruleout.audit.hardware import hardware
from ruleout.audit.memory import memory
from ruleout.audit.memory_dividing import dividing
from ruleout.audit.quantised_fused import fused
from ruleout.audit.rope.checks import findings as rope_findings
from ruleout.audit.rope.checks import readings as rope_readings
from ruleout.audit.rope.families import RELEASES
from ruleout.audit.subject import Check, Progress, Subject, subject, unreadable
from ruleout.audit.template import template
from ruleout.audit.tokens import tokens
from ruleout.audit.values import values
from ruleout.model import Component
from ruleout.model.audit import (
    Audit,
    AuditFinding,
    Departure,
    Host,
    Launch,
    ModelFacts,
    Severity,
    TensorStatistics,
)

_ORDER = tuple(Severity)


_ALSO = ("special_tokens_map.json", "added_tokens.json", "preprocessor_config.json", "processor_config.json")
"""Small files that engines read, and that nothing else is asked of here."""


def files(subject: Subject) -> Iterator[AuditFinding]:
    """The small files that could not be read."""
    yield from subject.problems
    for name in _ALSO:
        try:
            if subject.folder.has(name):
                subject.folder.mapping(name)
        except Unreadable as problem:
            yield unreadable(problem, Severity.ERROR, Component.TOKENIZER_TEMPLATE)


CHECKS: tuple[Check, ...] = (
    files, command, architecture, values, rope_findings, tokens, template, checkpoint, shapes, fused, dividing,
    hardware,
)  # fmt: skip


def audit(
    folder: ModelFolder,
    launch: Launch | None = None,
    host: Host | None = None,
    deep: Progress | None = None,
    original: Mapping[str, Any] | None = None,
) -> Audit:
    """All that can be known before the launch.

    Args:
        launch: what the command asks for; None where there is none.
        host: what it is to run on; None where that is not known.
        deep: also read the tensors, and tell this how far it is.
        original: the configuration that the weights were made with, to say what is changed.
    """
    it = subject(folder, launch, host)
    found = [finding for check in CHECKS for finding in check(it)]
    need, fits = memory(it)
    found += fits
    tensors: tuple[TensorStatistics, ...] = ()
    if deep is not None:
        tensors, unread = numbers.read(it, deep)
        found += [*unread, *numbers.judge(tensors)]
    changed = _against(it, original)
    found = list(dict.fromkeys([*found, *changes(it, changed)]))
    ordered = tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))
    return Audit(facts(it), ordered, need, rope_readings(it), changed, tensors)


def _against(subject: Subject, original: Mapping[str, Any] | None) -> dict[str, Departure]:
    if original is None or not subject.config:
        return {}
    text = original.get("text_config")
    before = {**original, **text} if isinstance(text, dict) else original
    return {f"transformers-{release}": departure(subject.config, before, release) for release in RELEASES}


def facts(subject: Subject) -> ModelFacts:
    """The model, as its folder describes it."""
    told = subject.quantization or {}
    method = told.get("quant_algo") or told.get("quant_method")
    return ModelFacts(
        str(subject.folder.path), subject.model_type, counted(subject), method if isinstance(method, str) else None
    )
