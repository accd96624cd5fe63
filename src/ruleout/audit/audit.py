"""An audit is a table of checks over one subject: each knows one kind of trouble, and none needs another."""

from __future__ import annotations

from collections.abc import Iterator

from ruleout.audit.architecture import architecture
from ruleout.audit.folder import ModelFolder
from ruleout.audit.rope.checks import findings as rope_findings
from ruleout.audit.rope.checks import readings as rope_readings
from ruleout.audit.subject import Check, DeepCheck, Progress, Subject, subject
from ruleout.audit.template import template
from ruleout.audit.tokens import tokens
from ruleout.model.audit import Audit, AuditFinding, Host, Launch, ModelFacts, Severity

_ORDER = tuple(Severity)


def files(subject: Subject) -> Iterator[AuditFinding]:
    """The small files that could not be read."""
    yield from subject.problems


CHECKS: tuple[Check, ...] = (files, architecture, rope_findings, tokens, template)
DEEP: tuple[DeepCheck, ...] = ()


def audit(
    folder: ModelFolder, launch: Launch | None = None, host: Host | None = None, deep: Progress | None = None
) -> Audit:
    """All that can be known before the launch.

    Args:
        launch: what the command asks for; None where there is none.
        host: what it is to run on; None where that is not known.
        deep: also read the tensors, and tell this how far it is.
    """
    it = subject(folder, launch, host)
    found = [finding for check in CHECKS for finding in check(it)]
    if deep is not None:
        found += [finding for check in DEEP for finding in check(it, deep)]
    found = list(dict.fromkeys(found))
    ordered = tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))
    return Audit(facts(it), ordered, rope=rope_readings(it))


def facts(subject: Subject) -> ModelFacts:
    """The model, as its folder describes it."""
    told = subject.quantization or {}
    method = told.get("quant_algo") or told.get("quant_method")
    return ModelFacts(str(subject.folder.path), subject.model_type, None, method if isinstance(method, str) else None)
