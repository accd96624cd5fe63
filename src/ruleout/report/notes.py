"""What was read in notes, as one JSON document, and as rows for people: each with the line that tells it."""

from __future__ import annotations

from typing import Any

from ruleout.model import ABSENT, PRESENT, Configuration, Notes, OutcomeKind, ToldTrial, Unused, arguments
from ruleout.model.codec import to_json
from ruleout.model.redaction import SECRETS, Redactor
from ruleout.report.markdown import visible
from ruleout.report.secretless import without_secrets

NOTES = "ruleout.notes/1"


def notes_document(notes: Notes, unused: tuple[Unused, ...] | None = None) -> dict[str, Any]:
    """`ruleout.notes/1`. `unused`: what of them is no trial of a case, where they were read for one."""
    return {"schema": NOTES, **to_json(notes), **({} if unused is None else {"no_trial_of_case": to_json(unused)})}


def secretless(notes: Notes) -> Notes:
    """The same without what opens doors."""
    return without_secrets(notes, Redactor(SECRETS))


def changed(told: ToldTrial) -> str:
    """What a trial changed, as a person types it."""
    if not told.changes:
        return "baseline"
    flags = {n: v for n, v in told.changes.items() if n.startswith("-") or arguments.variable(n)}
    named = {n: v for n, v in told.changes.items() if n not in flags}
    gone = [name for name, level in flags.items() if level == ABSENT]
    kept = {name: "" if level == PRESENT else level for name, level in flags.items() if level != ABSENT}
    parts = [arguments.told(kept), *(f"without {name}" for name in gone), str(Configuration(named)) if named else ""]
    return visible(" ".join(part for part in parts if part))


def became(told: ToldTrial) -> str:
    """What became of it, and how often."""
    word = "masked" if told.outcome is OutcomeKind.OTHER else told.outcome.value
    return f"{word} ×{told.times}" if told.times > 1 else word
