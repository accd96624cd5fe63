"""A run's facts with what may be concluded from them: suspects, what is left unexplained, what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ruleout.diagnosis.components import COMPONENTS
from ruleout.diagnosis.infer import suspects
from ruleout.diagnosis.view import view
from ruleout.model import Evidence
from ruleout.model.diagnosis import Diagnosis, ProposedStep, StepKind, Suspect

STEPS = 3


def diagnosed(diagnosis: Diagnosis, near: Sequence[Evidence] = (), lines: Sequence[Evidence] = ()) -> Diagnosis:
    """The diagnosis with its suspects; as it is when nothing failed.

    Args:
        near: the lines around the failure.
        lines: those and all others that were kept of the logs.
    """
    if diagnosis.failure is None:
        return replace(diagnosis, unexplained=0.0)
    found = suspects(view(diagnosis, near, lines))
    left = round(1.0 - sum(suspect.probability for suspect in found), 4)
    return replace(diagnosis, suspects=tuple(found), unexplained=left, next=_next(diagnosis, found))


def _next(diagnosis: Diagnosis, found: Sequence[Suspect]) -> tuple[ProposedStep, ...]:
    """For each of the first suspects, the trial or the look that would refute it; none twice."""
    steps: list[ProposedStep] = []
    engine = diagnosis.engine.name
    for suspect in found:
        about = COMPONENTS[suspect.component]
        change = about.change.get(engine, {})
        change = {flag: level for flag, level in change.items() if not _given(diagnosis, flag, level)}
        why = f"refutes {suspect.component} if {about.test}"
        if change:
            flags = " ".join(f"{flag} {level}".strip() for flag, level in change.items())
            command = f"{diagnosis.command} {flags}" if diagnosis.command else ""
            step = ProposedStep(StepKind.TRIAL, why, change, command)
        else:
            step = ProposedStep(StepKind.READ, why)
        if not any(step.change and step.change == other.change for other in steps):
            steps.append(step)
        if len(steps) == STEPS:
            break
    return tuple(steps)


def _given(diagnosis: Diagnosis, flag: str, level: str) -> bool:
    """The run has that level already, so trying it would tell nothing."""
    name = flag.lstrip("-").replace("-", "_")
    return any(
        s.name == name and level in ((s.resolved or ""), (s.requested or "")) for s in diagnosis.settings if level
    )
