"""A run's facts with what may be concluded from them: suspects, what is left unexplained, what to do next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ruleout.diagnosis.alternatives import alternative
from ruleout.diagnosis.catalogue import catalogue
from ruleout.diagnosis.flags import cost, spelt
from ruleout.diagnosis.infer import named, suspects
from ruleout.diagnosis.remedies import possible, remedied
from ruleout.diagnosis.sharpen import matches, sharpened
from ruleout.diagnosis.steps import steps
from ruleout.diagnosis.view import view
from ruleout.diagnosis.weights import weighed
from ruleout.model import Evidence, arguments
from ruleout.model.diagnosis import Diagnosis, Suspect


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
    found = suspects(seen)
    if rules and (held := matches(catalogue(), seen)):
        found = sharpened(found, held, seen)
    kept, left = named(after(found) if after else found)
    kept = [_priced(diagnosis, suspect) for suspect in possible(kept, diagnosis.environment.model_type)]
    return replace(diagnosis, suspects=tuple(kept), unexplained=left, next=steps(seen, kept))


def _priced(diagnosis: Diagnosis, suspect: Suspect) -> Suspect:
    """The suspect with a change that may work around it, as this release spells it, and what that costs."""
    fix = dict(suspect.fix)
    given = fix.get("set")
    if isinstance(given, dict):
        fix["set"] = spelt(diagnosis.engine, given) or given
    change = alternative(diagnosis, suspect)
    if not suspect.rule and change:
        fix["set"] = change
        suspect = replace(suspect, test=f"{suspect.test}: {arguments.told(change)}")
    if isinstance(works := fix.get("set"), dict) and (price := cost(works)):
        fix["cost"] = price
    return replace(suspect, fix=fix)
