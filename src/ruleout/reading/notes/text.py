"""Text that remembers its lines: whatever is cut out of notes can be shown where it stands in the file."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ruleout.model.inert import inert

MOST_BYTES = 4_000_000
MOST_LINES = 20_000
LONGEST_LINE = 3_000
LONGEST_SHOWN = 200
_MARKUP = (
    (re.compile(r"\{\{(.+?)\}\}"), r"`\1`"),
    (re.compile(r"(?i)</?(?:code|tt|kbd)>"), "`"),
    (re.compile(r"(?i)<br ?/?>"), " "),
    (re.compile(r"(?i)</?(?:b|i|em|strong|details|summary|p|div|span|s|sub|sup)\b[^>]{0,80}>"), ""),
    (
        re.compile(r"(?<![^\s(])=((?:-{1,2}[A-Za-z]|[A-Z_0-9]{3,}=)[^=]{0,80}(?:=[^=\s]{1,40})?)=(?![^\s.,;:)])"),
        r"`\1`",
    ),
    (re.compile("[\u2018\u2019]"), "'"),
    (re.compile("[\u201c\u201d\u201e]"), '"'),
    (re.compile("[\u2010\u2011]"), "-"),
    (re.compile("\u00a0"), " "),
)


@dataclass(frozen=True, slots=True)
class Text:
    """A text and where its parts stand: `marks` are offsets with the line (from 1) that begins there."""

    text: str
    marks: tuple[tuple[int, int], ...]

    def line(self, offset: int = 0) -> int:
        """The line of what stands at the offset."""
        found = self.marks[0][1]
        for begin, line in self.marks:
            if begin <= offset:
                found = line
        return found

    def cut(self, begin: int, end: int) -> Text:
        """A part, without the blanks around it."""
        part = self.text[begin:end]
        begin += len(part) - len(part.lstrip())
        inner = tuple((max(0, at - begin), line) for at, line in self.marks if begin < at < end)
        return Text(part.strip(), ((0, self.line(begin)), *inner))

    @classmethod
    def of(cls, text: str, line: int) -> Text:
        """A text of one line."""
        return cls(text, ((0, line),))

    @classmethod
    def joined(cls, parts: Iterable[Text], glue: str = " ") -> Text:
        """Several texts as one."""
        text, marks = "", []
        for part in parts:
            text += glue if text else ""
            marks += [(at + len(text), line) for at, line in part.marks]
            text += part.text
        return cls(text, tuple(marks) or ((0, 1),))


def decoded(data: bytes) -> str:
    """The text of a file in whichever encoding."""
    data = data[:MOST_BYTES]
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("utf-8" if len(data) == MOST_BYTES else "cp1252", "replace")


def lines_of(data: bytes) -> list[str]:
    """The lines of notes, in marks that are the same for every markup: code in backticks, no tags."""
    text = inert(decoded(data))
    return [line[:LONGEST_LINE] for line in text.split("\n")[:MOST_LINES]]


def cleaned(line: str) -> str:
    """A line without the marks of its markup, but for backticks around code."""
    for pattern, put in _MARKUP:
        line = pattern.sub(put, line)
    return html.unescape(line.replace("**", ""))


def shown(text: str) -> str:
    """A text as one line that can be shown."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= LONGEST_SHOWN else line[: LONGEST_SHOWN - 1] + "…"
