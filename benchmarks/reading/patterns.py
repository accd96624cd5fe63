"""The reader's own patterns for grep and ripgrep, so that all three look for the same thing."""

from __future__ import annotations

import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from typing import Any

from ruleout.reading import facts
from ruleout.reading.triggers import FAILURES
from ruleout.reading.warnings import TRIGGER

_CLASSES = {"category_digit": "0-9", "category_word": "[:alnum:]_", "category_space": "[:space:]"}
_OTHERS = {"category_not_digit": "[^0-9]", "category_not_word": "[^[:alnum:]_]", "category_not_space": "[^[:space:]]"}
_PLACES = {"at_beginning": "^", "at_end": "$", "at_boundary": r"\b", "at_non_boundary": r"\B"}


def patterns(ordinary: str) -> list[str]:
    """What a reader looks for in the long run, in RE2's syntax: all but what ordinary lines have, which it gives up."""
    watched = [facts._unanchored(one.source) for one in facts._watched()]
    found = [*FAILURES, TRIGGER, *watched]
    return [pattern for pattern in found if not re.search(pattern, ordinary, re.MULTILINE)]


def rust(pattern: str) -> str:
    """The same for ripgrep, which takes RE2's syntax but for needless escapes."""
    plain = re.sub(r"\\([\"'` ])", r"\1", pattern)
    return "".join(c if c.isascii() else "".join(f"\\x{byte:02x}" for byte in c.encode()) for c in plain)


def extended(pattern: str) -> str:
    """The same for `grep -E`. Raises ValueError for what it cannot say."""
    parsed = parser.parse(pattern)
    return _sequence(parsed, bool(parsed.state.flags & re.IGNORECASE))


def _sequence(items: Any, either: bool) -> str:
    return "".join(_item(str(name).lower(), value, either) for name, value in items)


def _item(name: str, value: Any, either: bool) -> str:
    if name == "literal":
        return _literal(value, either)
    if name == "not_literal":
        return _bracket([(sre.NEGATE, None), (sre.LITERAL, value)])
    if name == "in":
        return _bracket(value)
    if name == "any":
        return "."
    if name == "at":
        return _PLACES[str(value).lower()]
    if name == "subpattern":
        return f"({_sequence(value[3], either)})"
    if name == "branch":
        return "(" + "|".join(_sequence(branch, either) for branch in value[1]) + ")"
    if name in ("max_repeat", "min_repeat"):
        low, high, what = value
        return f"({_sequence(what, either)}){{{low},{'' if high == sre.MAXREPEAT else high}}}"
    raise ValueError(name)


def _literal(code: int, either: bool) -> str:
    letter = chr(code)
    if either and letter.isalpha():
        return f"[{letter.lower()}{letter.upper()}]"
    return "\\" + letter if letter in r"\.[](){}*+?^$|" else letter


def _bracket(items: Any) -> str:
    parts, negated = [], False
    for name, value in items:
        kind, what = str(name).lower(), str(value).lower()
        if kind == "negate":
            negated = True
        elif kind == "literal" and value == ord("\n"):
            continue  # a line has none
        elif kind == "literal":
            parts.append(chr(value))
        elif kind == "range":
            parts.append(f"{chr(value[0])}-{chr(value[1])}")
        elif what in _CLASSES:
            parts.append(_CLASSES[what])
        elif what in _OTHERS and len(items) == 1:
            return _OTHERS[what]
        else:
            raise ValueError(f"{kind} {what}")
    # in a bracket expression `]` has to come first, `[`, `^` and `-` last
    parts.sort(key=lambda part: {"]": 0, "[": 2, "^": 3, "-": 4}.get(part, 1))
    if parts == ["^"] and not negated:
        return r"\^"
    return f"[{'^' if negated else ''}{''.join(parts)}]"
