"""A person overrules how a trial was judged: what was read stays on record, and the reasoning goes by what they say."""

from __future__ import annotations

from dataclasses import replace

from ruleout.investigation.folder import Folder
from ruleout.investigation.journal import Journal
from ruleout.model import Outcome, OutcomeKind, Trial, UsageError
from ruleout.store import Store


def mark(folder: Folder, number: int, kind: OutcomeKind, why: str = "") -> Trial:
    """The trial as it is judged from now on.

    A failure that a person saw and no log told of is taken for the target. A clean trial has none.
    Raises UsageError when there is no such trial, or when no trial is left from which the target is known.
    """
    with Store(folder.path, writing=True) as store:
        journal = Journal.read(store)
        trial = next((t for t in journal.trials if t.id == number), None)
        if trial is None or trial.outcome is None:
            known = ", ".join(str(t.id) for t in journal.trials) or "none"
            raise UsageError(f"{folder.path}: no trial {number} that was judged", f"Name one of: {known}.")
        outcome = _overruled(trial.outcome, kind, why, journal)
        if outcome.kind is OutcomeKind.REPRODUCED and outcome.failure is None:
            raise UsageError(
                f"trial {number}: no trial has shown the failure to explain, and this one shows none",
                "Mark one that failed, or run the baseline until it fails.",
            )
        return journal.marked(number, outcome)


def _overruled(before: Outcome, kind: OutcomeKind, why: str, journal: Journal) -> Outcome:
    failure = before.failure
    if kind is OutcomeKind.CLEAN:
        failure = None
    elif kind is OutcomeKind.REPRODUCED and (journal.target is not None):
        failure = before.failure if before.kind is OutcomeKind.REPRODUCED else journal.target
    told = f": {' '.join(why.split())}" if why.strip() else ""
    reason = f"marked {kind} by a person, was {before.kind}{told}"
    return replace(before, kind=kind, failure=failure, reason=reason, by_person=True)
