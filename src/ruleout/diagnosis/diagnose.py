"""A run's facts with what may be concluded from them: suspects, what is left unexplained, what to do next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ruleout.diagnosis.catalogue import catalogue
from ruleout.diagnosis.components import COMPONENTS
from ruleout.diagnosis.infer import named, suspects
from ruleout.diagnosis.remedies import possible, remedied
from ruleout.diagnosis.sharpen import matches, sharpened
from ruleout.diagnosis.view import view
from ruleout.diagnosis.weights import weighed
from ruleout.model import Evidence
from ruleout.model.diagnosis import Diagnosis, ProposedStep, StepKind, Suspect

STEPS, WORTH_TRYING = 3, 0.08
"""How many steps are proposed, and how likely a suspect must be to be worth one; the first always is."""


def diagnosed(
    diagnosis: Diagnosis,
    near: Sequence[Evidence] = (),
    lines: Sequence[Evidence] = (),
    *,
    rules: bool = True,
    after: Callable[[Sequence[Suspect]], list[Suspect]] | None = None,
) -> Diagnosis:
    """The diagnosis with its suspects; as it is when nothing failed.

    Args:
        near: the lines around the failure.
        lines: those and all others that were kept of the logs.
        rules: with the catalogue of known failures; without it, by generic inference alone.
        after: weighs all suspects anew by what this run alone does not say.
    """
    diagnosis = remedied(weighed(diagnosis))
    if diagnosis.failure is None:
        return replace(diagnosis, unexplained=0.0)
    seen = view(diagnosis, near, lines)
    found, _ = suspects(seen)
    if rules and (held := matches(catalogue(), seen)):
        found = sharpened(found, held, seen)
    kept, left = named(after(found) if after else found)
    kept = possible(kept, diagnosis.environment.model_type)
    return replace(diagnosis, suspects=tuple(kept), unexplained=left, next=_next(diagnosis, kept))


def _next(diagnosis: Diagnosis, found: Sequence[Suspect]) -> tuple[ProposedStep, ...]:
    """For each of the first suspects, the trial or the look that would refute it; none twice."""
    steps: list[ProposedStep] = []
    for suspect in found:
        if steps and suspect.probability < WORTH_TRYING:
            break
        change, why = _change(diagnosis, suspect), _why(suspect)
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


def _change(diagnosis: Diagnosis, suspect: Suspect) -> dict[str, str]:
    """The flags of a trial that would refute a suspect: its rule's fix, else what its component suggests."""
    fixed = suspect.fix.get("set")
    change = fixed if isinstance(fixed, dict) else {}
    if not suspect.rule:
        change = COMPONENTS[suspect.component].change.get(diagnosis.engine.name, {})
    return {flag: level for flag, level in change.items() if not _given(diagnosis, flag, level)}


def _why(suspect: Suspect) -> str:
    note = suspect.fix.get("note")
    if suspect.rule and "set" not in suspect.fix and isinstance(note, str):
        return f"mends {suspect.component}, if it is that: {note}"
    test = suspect.test if suspect.rule else COMPONENTS[suspect.component].test
    return f"refutes {suspect.component} if {test}"


def _given(diagnosis: Diagnosis, flag: str, level: str) -> bool:
    """The run has that level already, so trying it would tell nothing."""
    name = flag.lstrip("-").replace("-", "_")
    return any(
        s.name == name and level in ((s.resolved or ""), (s.requested or "")) for s in diagnosis.settings if level
    )
