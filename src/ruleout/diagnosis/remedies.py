"""A warning may offer a remedy that cannot work: a release of transformers that does not know the model yet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ruleout.model import Diagnosis, Suspect
from ruleout.model.model_types import first_releases, numbers

_OFFERED = re.compile(
    r"(?i)(?:downgrad|upgrad|install|pin|use|try|switch|revert|roll|works? with|fixed (?:in|by)|workaround).{0,60}?"
    r"\btransformers\s*(?P<how>==|<=|<|~=|to|version|v|@)?\s*(?:version\s*)?v?(?P<version>\d+(?:\.\d+)+)"
    r"|\btransformers\s*(?P<how_>==|<=|<)\s*(?P<version_>\d+(?:\.\d+)+)"
)


def impossible(text: str, model_type: str | None) -> str:
    """Why what a text offers cannot work for a model of that type; empty when nothing speaks against it."""
    if not model_type or "ransformers" not in text:
        return ""
    first = first_releases().get(model_type)
    for found in _OFFERED.finditer(text) if first else ():
        version, how = found["version"] or found["version_"], found["how"] or found["how_"] or "=="
        limit, needed = numbers(version), numbers(first or "")
        if limit < needed or (how == "<" and limit <= needed):
            named = f"below {version}" if how == "<" else version
            return f"cannot work: transformers {named} does not know {model_type}, {first} is the first to"
    return ""


def remedied(diagnosis: Diagnosis) -> Diagnosis:
    """The diagnosis with what is known of the remedies that its warnings offer."""
    kind = diagnosis.environment.model_type
    warnings = tuple(
        replace(warning, remedy=f"its remedy {why}") if (why := impossible(warning.text, kind)) else warning
        for warning in diagnosis.warnings
    )
    return replace(diagnosis, warnings=warnings)


def possible(found: Sequence[Suspect], model_type: str | None) -> list[Suspect]:
    """The suspects, each fix that cannot work for that model with a word that says so."""
    return [_checked(suspect, model_type) for suspect in found]


def _checked(suspect: Suspect, kind: str | None) -> Suspect:
    note = suspect.fix.get("note")
    if not isinstance(note, str) or not (why := impossible(note, kind)):
        return suspect
    return replace(suspect, fix={**suspect.fix, "note": f"{note} ({why})"})
