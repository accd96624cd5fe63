"""What was pasted from a terminal: commands, and the comments that say what became of them.

Only what a person wrote is read: the comments behind commands, or those before them where the last has none behind it.
What the programs printed in between is nobody's word of an outcome.
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
from ruleout.reading.notes.told import retyped, switched_on

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
    for block in _blocks(lines):
        ahead = has_outcome(" ".join(block[0].before)) and not block[-1].after
        told = [block[0].before, *(typed.after for typed in block)] if ahead else [typed.after for typed in block]
        for typed, comments in zip(block, told, strict=False):
            result, command = " . ".join(comments), retyped(typed.argv)
            if has_outcome(result) and not is_supposed(result):
                yield Claim(typed.line, f"{command}: {result}", result, changes_in(command))


def _blocks(lines: Sequence[Line]) -> Iterator[list[_Typed]]:
    """The commands that start an engine, those together that no blank line and no other command parts."""
    block: list[_Typed] = []
    before: list[str] = []
    for line, text in _whole([(line, switched_on(text)) for line, text in lines]):
        if comment := _COMMENT.match(text):
            (block[-1].after if block else before).append(_ARROW.sub("", comment[1]))
        elif argv := command_of(text):
            behind = text[len(arguments.uncommented(text)) :].strip(" #")
            block.append(_Typed(line, argv, [] if block else before, [behind] if behind else []))
        elif not text or _PROMPT.match(text):
            if block:
                yield block
            block, before = [], []
    if block:
        yield block


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
