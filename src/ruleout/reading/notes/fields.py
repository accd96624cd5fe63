"""Lines of `key: value`, by what their keys say of a trial."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ruleout.reading.notes.layout import Line

_FIELD = re.compile(
    r"^\s*(?:[-*+•]\s+)?(?:\*\*|__|[*_])?(?P<key>[A-Za-z][\w /#-]{0,28}?)(?:\*\*|__|[*_])?\s*(?::|::|=|->|→)"
    r"(?:\*\*|__|[*_])?\s+(?P<value>\S.*)?$|^\s*(?P<bare>[A-Za-z][\w ]{0,20}):\s*$"
)
WHAT, RESULT, LABEL, ERROR = "what", "result", "label", "error"
_KEYS = {
    RESULT: r"results?|outcome|status|verdict|observ\w+|effect|what happened|happened|saw|seen|got|behaviou?r|finding",
    WHAT: r"chang\w*|config\w*|flags?|args?|arguments?|settings?|command(?: line)?|cmd|options?|with|what|variant|tried"
    r"|diff|delta|env\w*|extra\w*|modif\w+|knobs?|launch\w*|params?|parameters?|setup",
    LABEL: r"(?:run|trial|test|attempt|exp\w*|try|id|no|nr|case|step|name|title)(?: ?#?\d+)?",
    ERROR: r"error|message|exception|failure|traceback",
}
_SETTING = re.compile(r"(?<!\S)[`'\"]?(?:--[A-Za-z]|[A-Z][A-Z0-9]*_[A-Z0-9_]+=)")
"""A flag or a variable: `Test: --enforce-eager` says what was changed, and is no name of a test."""
_ROLES = {role: re.compile(pattern, re.IGNORECASE) for role, pattern in _KEYS.items()}


class Field(NamedTuple):
    """A key and its value."""

    key: str
    value: str

    @property
    def role(self) -> str:
        """What the key says of a trial; empty for any other one."""
        role = next((role for role, pattern in _ROLES.items() if pattern.fullmatch(self.key)), "")
        return WHAT if role == LABEL and _SETTING.search(self.value) else role


def field_of(text: str) -> Field | None:
    """The field that a line is; None for any other line."""
    found = _FIELD.match(text)
    return None if found is None else Field((found["key"] or found["bare"]).strip(), found["value"] or "")


def value_of(text: str) -> str:
    """A line without the key before it."""
    return text.partition(": ")[2] if _FIELD.match(text) else text


def fields(lines: Sequence[Line]) -> dict[str, str]:
    """What the fields among lines say, by role; the first of each, and all that say what was changed. What is indented
    below one belongs to it."""
    found: dict[str, str] = {}
    last = ""
    for _, text in lines:
        one = field_of(text)
        if one is None:
            if last and text.startswith("  "):
                found[last] = f"{found[last]} {text.strip()}"
            continue
        last = one.role if one.role == WHAT or one.role not in found else ""
        if last:
            known = [value for value in (found.get(last, ""), one.value) if value.strip("\"' ")]
            found[last] = ", ".join(known) or one.value
    return found


def groups(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Lines cut where a field comes once more: there the next trial begins."""
    group: list[Line] = []
    seen: set[str] = set()
    for line in lines:
        one = field_of(line[1])
        mark = "" if one is None else one.key.lower() if one.role == WHAT else one.role
        if mark in seen:
            yield group
            group, seen = [], set()
        if mark:
            seen.add(mark)
        group.append(line)
    if group:
        yield group
