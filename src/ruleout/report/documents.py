"""Verdicts as JSON documents, to the letter of their schemas."""

from __future__ import annotations

from typing import Any

from ruleout.model import Failure, Trial, Verdict
from ruleout.model.codec import to_json

VERDICT = "ruleout.verdict/1"


def verdict_document(verdict: Verdict, name: str = "", folder: str = "") -> dict[str, Any]:
    """`ruleout.verdict/1`. Logs are named relative to `folder`."""
    document: dict[str, Any] = {"schema": VERDICT, "case": name, "folder": folder, **to_json(verdict)}
    document["cause"] = document["causes"][0] if document["causes"] else []
    document["failure"] = _failure(verdict.failure)
    document["trials"] = [_trial(t) for t in verdict.trials]
    return document


def _failure(failure: Failure | None) -> dict[str, Any] | None:
    if failure is None:
        return None
    document: dict[str, Any] = to_json(failure)
    return {"class": document.pop("class"), "stage": failure.exposure.stage.value, **document}


def _trial(trial: Trial) -> dict[str, Any]:
    outcome = trial.outcome
    document: dict[str, Any] = {
        "id": trial.id,
        "configuration": dict(trial.configuration),
        "outcome": outcome.kind.value if outcome else None,
        "stage": outcome.reached.value if outcome else None,
        "minutes": trial.minutes,
        "log": trial.log,
        "purpose": trial.purpose,
    }
    if trial.why:
        document["why"] = list(trial.why)
    if trial.instruments:
        document["instruments"] = dict(trial.instruments)
    if trial.without:
        document["without"] = list(trial.without)
    if outcome is not None:
        document["reason"] = outcome.reason
        if outcome.hearsay:
            document["hearsay"] = True
        if outcome.effective:
            document["effective"] = dict(outcome.effective)
        if outcome.observed:
            document["observed"] = [to_json(seen) for seen in outcome.observed]
        if outcome.failure is not None:
            document["failure"] = _failure(outcome.failure)
            document["stage"] = outcome.failure.exposure.stage.value
    return document
