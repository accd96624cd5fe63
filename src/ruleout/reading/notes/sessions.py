"""What was pasted from a terminal: commands, and the comments that say what became of them.

Only what a person wrote is read: a comment behind a command, or the one before it where none stands behind. What the
programs printed in between is nobody's word of an outcome.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ruleout.model import arguments
from ruleout.reading.notes.changes import changes_in
from ruleout.reading.notes.claims import Claim, has_outcome
from ruleout.reading.notes.commands import command_of
from ruleout.reading.notes.layout import Line
from ruleout.reading.notes.sentences import is_supposed
from ruleout.reading.notes.told import retyped

_COMMENT = re.compile(r"^\s*#+\s*(.*)$")
_PROMPT = re.compile(r"[$❯]\s")
_ARROW = re.compile(r"^(?:[-=]+>|[→⇒:])\s*")


@dataclass
class _Typed:
    """A command as it was typed, with the comments around it."""

    line: int
    argv: tuple[str, ...]
    before: list[str]
    after: list[str] = field(default_factory=list)


def session_claims(lines: Sequence[Line]) -> Iterator[Claim]:
    """A claim for each command of which comments say what became."""
    for typed in _typed(lines):
        comments = next((c for c in (typed.after, typed.before) if has_outcome(" ".join(c))), [])
        result, command = " . ".join(comments), retyped(typed.argv)
        if comments and not is_supposed(result):
            yield Claim(typed.line, f"{command}: {result}", result, changes_in(command))


def _typed(lines: Sequence[Line]) -> Iterator[_Typed]:
    """The commands that start an engine. What a comment says after a blank line belongs to what follows it."""
    typed: _Typed | None = None
    before: list[str] = []
    for line, text in _whole(lines):
        if comment := _COMMENT.match(text):
            (before if typed is None else typed.after).append(_ARROW.sub("", comment[1]))
            continue
        argv = command_of(text)
        over = argv or _PROMPT.match(text) or (not text and (typed is None or typed.after))
        if over and typed is not None:
            yield typed
        if over:
            behind = text[len(arguments.uncommented(text)) :].strip(" #")
            typed = _Typed(line, argv, before, [behind] if behind else []) if argv else None
            before = []
    if typed is not None:
        yield typed


def _whole(lines: Sequence[Line]) -> Iterator[Line]:
    """Lines, those together that a backslash joins, each with the number of the first."""
    parts, began = "", 0
    for number, text in lines:
        parts, began = f"{parts} {text.strip()}".strip(), began or number
        if parts.endswith("\\"):
            parts = parts.rstrip("\\ ")
            continue
        yield began, parts
        parts, began = "", 0
