"""Text into rows of a terminal: none too wide, a mark where something was left out, and what can be copied unbroken."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Any

_BLANKS = re.compile(r"[ \t\r\n]+")
_CLAUSE = re.compile(r"[:;,] ")
_TOGETHER = re.compile(r"(?<=\btrial) (?=\d)|(?<=\btrials) (?=\d)|(?<=\bline) (?=\d)|(?<=\d) (?=%)|(?<=[<>]) (?=\d)")
_PIECE = re.compile(r"(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|[^\s\\'\"])+")
"""What a command is not broken within: its words, with what is in quotes."""


LABEL = 21


def labelled(label: str, rows: list[str], width: int) -> Iterator[str]:
    """Rows behind their label, which only the first bears."""
    for number, row in enumerate(rows):
        yield cut(f"{label if not number else '':<{LABEL}}{row}", width)


def folded(text: str, width: int, **options: Any) -> list[str]:
    """Rows as `textwrap.wrap` makes them, but no number is torn from what it counts: `trial 3`, `45 %`, `< 0:01`."""
    whole = _TOGETHER.sub("\N{NO-BREAK SPACE}", text)
    return [row.replace("\N{NO-BREAK SPACE}", " ") for row in textwrap.wrap(whole, width, **options)]


def wrapped(text: str, width: int, indent: int, rows: int) -> list[str]:
    """At most so many rows; a mark where it goes on."""
    before = " " * (len(text) - len(text.lstrip(" ")))
    lines = folded(
        _BLANKS.sub(" ", text.strip()),
        width,
        initial_indent=before,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )
    return lines if len(lines) <= rows else [*lines[: rows - 1], cut(lines[rows - 1] + " …", width, always=True)]


def cut(text: str, width: int, *, always: bool = False) -> str:
    """The text in one row, with a mark where it was cut."""
    text = " ".join(text.split("\n")).rstrip()
    if len(text) <= width and not always:
        return text
    return text[: width - 1].rstrip(" …") + "…"


def clause(text: str, width: int) -> str:
    """As many whole clauses as fit into one row; the beginning of the first where it does not."""
    if len(text) <= width:
        return text
    ends = [found.start() for found in _CLAUSE.finditer(text) if found.start() <= width - 2]
    return f"{text[: ends[-1]]} …" if ends and ends[-1] > width // 3 else cut(text, width)


def short(text: str, limit: int) -> str:
    """The beginning of a text, with a mark where it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def number(value: int) -> str:
    """A number with its thousands apart."""
    return f"{value:,}".replace(",", " ")


def pasteable(command: str, width: int, limit: int) -> list[str]:
    """A command in at most so many rows that can be copied and run as they stand; empty where it needs more."""
    found: list[str] = []
    for piece in (part for word in _PIECE.findall(command) for part in _statements(word, width)):
        if found and len(found[-1]) + 1 + len(piece) <= width - 2:
            found[-1] += f" {piece}"
        else:
            found.append(piece)
    if len(found) > limit or any(len(row) > width - 2 for row in found):
        return []
    return [f"{row} \\" for row in found[:-1]] + found[-1:]


def _statements(word: str, width: int) -> list[str]:
    """A word in double quotes that is too long for a row, by its statements: a blank more between them is no harm."""
    return word.replace("; ", ";\n").split("\n") if len(word) > width - 2 and word.startswith('"') else [word]
