"""A log is bytes before it is text: progress bars, colours, NULs, endless lines are normal; none may cost memory.

Chunks are about 1 MiB of whole lines, already free of ANSI escapes and NULs. Newlines are never added or removed, so a
line's number can be counted in the bytes; only where carriage returns alone end the lines do they become newlines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

CHUNK = 1 << 20
"""Bytes read at once."""
CUT = 1 << 16
"""Bytes of a line that are looked at: its first and its last half of this."""

_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_=>()])")

_BAR = re.compile(rb"\d%|it/s|s/it|\d/\d")


class Readable(Protocol):
    """Bytes that are read once, from the beginning to the end."""

    def read(self, size: int, /) -> bytes:
        """At most that many bytes; none at the end."""


def clean(data: bytes) -> bytes:
    """The bytes without ANSI escapes, NULs and the carriage returns of `\\r\\n`."""
    if b"\0" in data:
        data = data.translate(None, b"\0")
    if b"\x1b" in data:
        data = _ANSI.sub(b"", data)
    if b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
    return data


def shorten(line: bytes, limit: int = CUT) -> bytes:
    """A line of at most about `limit` bytes: its beginning and its end, as two pieces of a progress bar."""
    if len(line) <= limit:
        return line
    half = limit // 2
    return line[:half] + b"\r" + line[-half:]


def chunks(stream: Readable) -> Iterator[bytes]:
    """Cleaned chunks of whole lines; only the last one may lack its newline. Endless lines are shortened."""
    rest, first, returns = b"", True, False
    while block := stream.read(CHUNK):
        returns, first = _returns(block) if first else returns, False
        block = block.replace(b"\r", b"\n") if returns else block
        end = block.rfind(b"\n") + 1
        if not end:
            rest += block
            if len(rest) > CHUNK:
                rest = shorten(rest.translate(None, b"\0"))
            continue
        yield clean(rest + block[:end])
        rest = block[end:]
    if rest:
        yield clean(rest)


def _returns(block: bytes) -> bool:
    """Whether carriage returns alone end the lines, as on old Macs, and are no progress bar's."""
    if b"\n" in block or block.count(b"\r") < 2:
        return False
    lines = [line for line in block[:CUT].split(b"\r") if line.strip()]
    return sum(bool(_BAR.search(line)) for line in lines) < len(lines) / 2


def pieces(line: bytes) -> list[str]:
    """What a line showed one after the other: the parts between carriage returns, as text; at least one."""
    text = shorten(line).decode("utf-8", "replace")
    return [piece for piece in text.split("\r") if piece.strip()] or [""]
