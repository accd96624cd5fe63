"""What an investigation gives to a rule: lines that failed and lines that did not, its cause, and the way out."""

from __future__ import annotations

from collections.abc import Iterator

from ruleout.diagnosis.factors import component_of
from ruleout.diagnosis.scaffold import Traced
from ruleout.investigation.excerpting import excerpt, length
from ruleout.investigation.folder import Folder
from ruleout.investigation.settings import setting_name
from ruleout.investigation.sharing import Sharer
from ruleout.model import (
    Case,
    Component,
    Factor,
    Failure,
    Mechanism,
    OutcomeKind,
    Suspicion,
    Trial,
    UsageError,
    Verdict,
)
from ruleout.model.codec import from_json, to_json

EXAMPLES = 2
BEFORE, AFTER = 8, 3
"""Lines of an example around the line that tells of the failure."""
_TYPED = (Mechanism.FLAG, Mechanism.ENV)


def traced(folder: Folder, case: Case, verdict: Verdict, found: Suspicion, sharer: Sharer) -> Traced:
    """All of that, without secrets. Raises UsageError when nothing failed."""
    if verdict.failure is None:
        raise UsageError(f"{case.name}: it has not failed yet", "A rule is made from a failure that was seen.")
    causes = verdict.causes[:1]
    factors = [case.factor(carrier.factor) for cause in causes for carrier in cause if carrier.factor in case.baseline]
    way_out = verdict.workarounds[0].set if verdict.workarounds else {}
    change = {f.target: way_out[f.name] for f in case.factors if f.name in way_out and f.mechanism in _TYPED}
    likeliest = found.suspects[0].component if found.suspects else Component.OTHER
    told = " together with ".join(f"{f.name}={f.baseline}" for f in factors)
    failure = from_json(Failure, sharer.value(to_json(verdict.failure)))
    return Traced(
        case.engine,
        failure,
        _component(factors) or likeliest,
        sharer.text(f"it needs {told}" if told else f"not traced to a setting: {verdict.elsewhere.claim}"),
        sharer.value(change),
        sharer.value({setting_name(f): f.baseline for f in factors if f.mechanism is Mechanism.FLAG}),
        tuple(_unique(_around(folder, t, sharer) for t in _of(verdict, OutcomeKind.REPRODUCED))),
        (
            *_unique(_around(folder, t, sharer) for t in _of(verdict, OutcomeKind.OTHER)),
            *_unique(_healthy(folder, t, sharer) for t in _of(verdict, OutcomeKind.CLEAN)),
        ),
    )


def _component(factors: list[Factor]) -> Component | None:
    return next((component for f in factors if (component := component_of(f)) is not None), None)


def _of(verdict: Verdict, kind: OutcomeKind) -> list[Trial]:
    return [t for t in verdict.trials if t.outcome and t.outcome.kind is kind and not t.instruments]


def _around(folder: Folder, trial: Trial, sharer: Sharer) -> str:
    """The line that tells of a trial's failure, with those around it."""
    failure = trial.outcome.failure if trial.outcome else None
    line = next((e for e in failure.evidence if e.line), None) if failure else None
    if line is None or line.source.startswith("evidence/"):
        return failure.message if failure and trial.outcome and trial.outcome.kind is OutcomeKind.OTHER else ""
    found = excerpt(folder.path, f"{trial.log.rpartition('/')[0]}/{line.source}", line.line, sharer.text)
    if found is None:
        return ""
    at = found.marked - found.first
    return "\n".join(text.rstrip() for text in found.lines[max(0, at - BEFORE) : at + AFTER + 1])


def _healthy(folder: Folder, trial: Trial, sharer: Sharer) -> str:
    """The end of a healthy log: what engines print when they are stopped looks like a failure to a loose pattern."""
    last = length(folder.path, trial.log)
    found = excerpt(folder.path, trial.log, last, sharer.text)
    return "\n".join(text.rstrip() for text in found.lines[-BEFORE - AFTER :]) if found else ""


def _unique(texts: Iterator[str]) -> list[str]:
    """The first few that differ."""
    return list(dict.fromkeys(text for text in texts if text.strip()))[:EXAMPLES]
