"""Python tracebacks, put together again from the lines of many processes.

A block belongs to the process and place of its header's prefix. Some loggers prefix only the header (SGLang), some
every line (vLLM), some none; so a header's block may go over to the unprefixed lines that follow. Chained exceptions
are one block of several members.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

from ruleout.reading.records import Record

_HEADER = re.compile(
    r"(?:\[(rank\d+)\]: ?|\(([A-Za-z][\w.\-=, ]*pid=\d+[^)]*)\) ?)?Traceback \(most recent call last\):?"
)
_FILE = re.compile(r'^\s+File "([^"]*)", line \d+(?:, in (.+))?')
_MARKERS = re.compile(r"^[\s~^|]+$|^\s*\[Previous line repeated")
_EXCEPTION = re.compile(r"^([A-Za-z_]\w*(?:\.[A-Za-z_<>]\w*>?)*)(?::(?: (.*))?)?$")
_CHAINED = re.compile(r"^(?:During handling of the above exception|The above exception was the direct cause)")
_GUTTER = re.compile(r"^\s*[|+](?:-\+-+(?: \d+ -+)?$|-+$| ?)")

_FRAMES, _MORE, _FOREIGN, _PATIENCE = 64, 12, 400, 40
"""Frames and message lines kept; lines of others after which an open or a finished block is given up."""


@dataclass(slots=True)
class Raised:
    """One exception of a chain. `asserted` is the last source line of its stack, `indent` its prefix's length."""

    start: int
    frames: deque[str] = field(default_factory=lambda: deque(maxlen=_FRAMES))
    asserted: str = ""
    file: str = ""
    exception: str = ""
    message: str = ""
    line: int = 0
    text: str = ""
    indent: int = 0
    more: list[str] = field(default_factory=list)

    @property
    def context(self) -> str:
        """Where it was raised."""
        return f"{self.file} {self.asserted}"


@dataclass(slots=True)
class Block:
    """A traceback that is being read, or a whole chain of them; the first member is the root."""

    key: tuple[str, str]
    source: str
    preamble: str
    members: list[Raised]
    state: str = "frames"  # then "tail", after the exception, and "await", after a chain's sentence
    blank: bool = False
    idle: int = 0

    @property
    def fresh(self) -> bool:
        """Nothing but the header was read."""
        return self.state == "frames" and not self.members[-1].frames

    def take(self, record: Record) -> bool | None:
        """Read a line. True: it is part of the block. False: it is not. None: it is not, and the block is over."""
        text = _GUTTER.sub("", record.text) if record.text.lstrip()[:1] in ("|", "+") else record.text
        if not text.strip():
            self.blank = True
            return True
        if self.state == "frames":
            return self._frame(record, text)
        if _CHAINED.match(text):
            self.state, self.idle = "await", 0
            return True
        continues = bool(record.place) or not (self.blank or record.level)
        if not record.place and record.indent > self.members[-1].indent:
            return None  # a logger's line, below a message that bears no prefix
        if self.state == "await" or not continues or record.key != self.key or _FILE.match(text):
            return None
        member = self.members[-1]
        if len(member.more) < _MORE:
            member.more.append(text.strip()[:500])
            return True
        return None

    def _frame(self, record: Record, text: str) -> bool:
        member = self.members[-1]
        if file := _FILE.match(text):
            member.file = file[1].replace("\\", "/").rpartition("/")[2]
            member.frames.append(f"{member.file}:{(file[2] or '<module>').strip()}")
            return True
        if text[0] in " \t":
            if not _MARKERS.match(text):
                member.asserted = text.strip()[:500]
            return True
        found = _EXCEPTION.match(text)
        if not found or (record.level and not record.place) or not found[1].rpartition(".")[2][:1].isupper():
            return False
        member.exception, member.message = found[1], (found[2] or "").strip()
        member.line, member.text, member.indent = record.line, record.text, record.indent
        self.state, self.blank = "tail", False
        return True


def _within(source: str, other: str) -> bool:
    """The first is the second, or the container in which it runs, whose name stands before every line."""
    return source in ("", other) or other.startswith(f"{source} ")


class Tracebacks:
    """Feeds records to the blocks that are open; finished blocks gather in `done` until they are taken."""

    def __init__(self) -> None:
        self._open: list[Block] = []
        self.done: list[Block] = []

    @property
    def busy(self) -> bool:
        """There is an open block, so that the next lines have to be read one by one."""
        return bool(self._open)

    def feed(self, record: Record) -> bool:
        """Read a line; whether it was part of a traceback."""
        if header := _HEADER.search(record.text):
            self._begin(record, header)
            return True
        self._age()
        while block := self._of(record):
            taken = block.take(record)
            if taken is not None:
                block.idle = 0 if taken else block.idle
                return taken
            self._close(block)
        return False

    def finish(self) -> None:
        """The log is over."""
        for block in list(self._open):
            self._close(block)

    def _begin(self, record: Record, header: re.Match[str]) -> None:
        source = header[1] or header[2] or record.source
        key = (source, record.place)
        for block in list(self._open):
            if block.state == "await" and block.key in (key, ("", "")):
                block.members.append(Raised(record.line))
                block.state, block.blank = "frames", False
                return
            if block.key == key or (block.state == "tail" and block.key == ("", "")):
                self._close(block)
        self._open.append(Block(key, source, record.text[: header.start()][-200:], [Raised(record.line)]))
        if len(self._open) > _FRAMES:
            self._close(self._open[0])

    def _of(self, record: Record) -> Block | None:
        for block in self._open:
            if block.key == record.key:
                return block
        if record.place or not record.text.strip():
            return None
        for block in reversed(self._open):
            if block.fresh and _within(record.source, block.source) and record.text[:1] in " |+":
                block.key = record.key
                return block
        return None

    def _age(self) -> None:
        for block in list(self._open):
            block.idle += 1
            if block.idle > (_FOREIGN if block.state == "frames" else _PATIENCE):
                self._close(block)

    def _close(self, block: Block) -> None:
        self._open.remove(block)
        if block.state == "frames" and len(block.members) > 1 and not block.members[-1].exception:
            block.members.pop()
        if block.members[-1].exception or block.members[-1].frames:
            self.done.append(block)
