"""What is collected while notes are read, and the commands in their blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ruleout.model import Unused
from ruleout.reading.notes.changes import changes_in
from ruleout.reading.notes.claims import Claim, has_outcome
from ruleout.reading.notes.commands import command_of
from ruleout.reading.notes.fields import value_of
from ruleout.reading.notes.layout import Block, Code, Item, Paragraph, Table


@dataclass
class Told:
    """What the blocks of notes tell, in their order.

    Attributes:
        commands: whole commands, each with its line.
        complaints: what is said to be the problem.
        tables: the claims of each table, which are compared with one another.
        item: the line of the item of a list that was read last.
        asked: what somebody has asked for, until somebody answers.
        sorted_by_outcome: lists stand under headings that say what became of all in them.
    """

    claims: list[Claim] = field(default_factory=list)
    unused: list[Unused] = field(default_factory=list)
    commands: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    tables: list[list[Claim]] = field(default_factory=list)
    sorted_by_outcome: bool = False
    item: int = 0
    asked: Claim | None = None

    def leave(self, line: int, text: str, why: str) -> None:
        """Note what could not be used."""
        self.unused.append(Unused(line, text, why))


def line_of(block: Block) -> int:
    """The line on which a block begins."""
    if isinstance(block, (Code, Paragraph)):
        return block.lines[0][0] if block.lines else 0
    return block.rows[0][0] if isinstance(block, Table) else block.line


def commands_of(block: Block) -> list[tuple[str, ...]]:
    """The whole commands in a block."""
    if isinstance(block, Code):
        return commands_in([switched_on(text) for _, text in block.lines])
    if isinstance(block, Paragraph):
        whole = commands_in([value_of(text) for _, text in block.lines])
        text = " ".join(text.strip() for _, text in block.lines)
        quoted = "`" in text or "~" in text
        return whole or [command.argv for command in changes_in(text, words=False).commands if quoted]
    if isinstance(block, Item):
        inside = [command.argv for command in changes_in(block.text, words=False).commands]
        return inside or commands_in([text for _, text in block.code])
    return []


def switched_on(text: str) -> str:
    """A line of a script; where it is a command behind a `#`, that command, since it was run once."""
    inside = re.sub(r"^\s*#+\s*", "", text)
    return inside if command_of(inside) and not has_outcome(inside) else text


def commands_in(lines: Sequence[str]) -> list[tuple[str, ...]]:
    """The commands among lines; a backslash at the end of one goes on in the next."""
    found, parts = [], ""
    for text in [*lines, ""]:
        if text.rstrip().endswith("\\"):
            parts += f" {text.rstrip()[:-1].strip()}"
            continue
        if argv := command_of(f"{parts} {text.strip()}".strip()):
            found.append(argv)
        parts = ""
    return found


def retyped(argv: Sequence[str]) -> str:
    """A command as code inside of a text."""
    words = (f"'{word}'" if re.search(r"[\s{}\"]", word) else word for word in argv)
    return f"`{' '.join(words)}`"
