"""What a copy puts before every line is none of the log's: an indentation, line numbers, a file's name, a task's label.

Logs come out of editors, `cat -n`, `grep -n`, `srun -l`, an indented block of a comment. Every pattern that begins with
a line would miss such lines, so that a crash would look like silence. What was put before them is decided once, over
the head of the log, by what all its lines share, and taken off every line; no line is joined or split.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

HEAD, HEAD_BYTES = 200, 1 << 16
"""Lines and bytes over which it is decided."""
MOST = 4
"""Layers that are taken off: `server.log:`, then `12:`, then an indentation."""
_SHARE = 0.9
"""Of the lines with a number, so many have to go on from the line before."""
_PROSE = 3
"""Lines around an indented block that may be somebody's own words."""

Undo = Callable[[bytes], bytes]

_NUMBERED = re.compile(rb"[ \t]*(\d{1,7})(?:[:|\t)\-]|\. |(?=[ \t]|$))")
_NUMBERS = re.compile(rb"^[ \t]*\d{1,7}(?:[:|\t)\-]|\. |(?=[ \t]|$))", re.MULTILINE)
_LABEL = re.compile(rb"[ ]*\d{1,5}: ")
_LABELS = re.compile(rb"^[ ]*(\d{1,5}): ?", re.MULTILINE)
_NAMED = re.compile(rb"(?:[\w.@~+\-]*/)*[\w.@+\-]*\.(?:log|txt|out|err)(?:\.\d{1,4})?[:\-](?=.)")
_MARK = re.compile(rb"(?:>|\||#|//|[*+\-])[ ]?(?=\S|[ ]|$)")
_COLOUR = re.compile(rb"\[\d{1,3}(?:;\d{1,3}){0,4}m")
_RESET = b"[0m"
_FRAME = re.compile(rb"[ \t]*(?:File \"[^\"]*\", line \d|assert |raise |\^+\s*$|\S+\.py:\d+)")
"""A stack is indented by itself: its outermost lines are no sign of a copy."""


def pasted(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks of whole lines, without what a copy has put before each line."""
    undo: Sequence[Undo] | None = None
    for chunk in chunks:
        if undo is None:
            undo = layers(chunk)
        for step in undo:
            chunk = step(chunk)
        yield chunk


def layers(head: bytes) -> list[Undo]:
    """What has to be taken off, one layer after the other, by the first lines of a log."""
    lines = [line for line in head[:HEAD_BYTES].split(b"\n")[:HEAD] if line.strip()]
    found: list[Undo] = []
    while lines and len(found) < MOST and (step := _colour(lines) or _before(lines) or _indentation(lines)):
        found.append(step)
        lines = [line for line in step(b"\n".join(lines)).split(b"\n") if line.strip()]
    return found


def _colour(lines: Sequence[bytes]) -> Undo | None:
    """Colours whose escape was lost on the way."""
    if any(_RESET in line and len(_COLOUR.findall(line)) > 1 for line in lines):
        return lambda data: _COLOUR.sub(b"", data)
    return None


def _before(lines: Sequence[bytes]) -> Undo | None:
    """A file's name, a line's number, a task's label, or one mark before all lines."""
    if len(lines) < 3:
        return None
    if (named := _NAMED.match(lines[0])) and all(line.startswith(named[0]) for line in lines):
        return _without(named[0])
    if _counted(lines):
        return lambda data: _NUMBERS.sub(b"", data)
    if all(_LABEL.match(line + b" ") for line in lines):
        return lambda data: _LABELS.sub(rb"[rank\1]: ", data)
    mark = _MARK.match(lines[0])
    if mark and all(line.startswith(mark[0]) or line == mark[0].rstrip() for line in lines):
        return _without(mark[0])
    return None


def _counted(lines: Sequence[bytes]) -> bool:
    numbers = [int(found[1]) for line in lines if (found := _NUMBERED.match(line))]
    pairs = list(pairwise(numbers))
    if len(numbers) < max(3, _SHARE * len(lines)) or not pairs:
        return False
    grows = sum(one < other for one, other in pairs)
    steps = sum(0 < other - one <= 2 for one, other in pairs)
    return grows >= _SHARE * len(pairs) and 2 * steps >= len(pairs)


def _indentation(lines: Sequence[bytes]) -> Undo | None:
    """The white space before all lines but a few of prose above and below them."""
    inner, left = list(lines), _PROSE
    for end in (0, -1):
        while left and len(inner) > _PROSE and inner[end][:1] not in b" \t":
            inner.pop(end)
            left -= 1
    space = _shared([line[: len(line) - len(line.lstrip(b" \t"))] for line in inner])
    if not space or any(_FRAME.match(line) for line in inner if not line[len(space) :][:1].isspace()):
        return None
    return _without(space)


def _shared(prefixes: Sequence[bytes]) -> bytes:
    shortest = min(prefixes, key=len, default=b"")
    return shortest if all(prefix.startswith(shortest) for prefix in prefixes) else b""


def _without(prefix: bytes) -> Undo:
    before = re.compile(rb"^(?:" + re.escape(prefix) + rb"|" + re.escape(prefix.rstrip()) + rb"$)", re.MULTILINE)
    return lambda data: before.sub(b"", data)
