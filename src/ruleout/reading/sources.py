"""Where a log comes from: a file, plain or gz; a folder of rank logs; a stream.

A compressed file that breaks off gives what can be unpacked; it is truncated, not unreadable.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MOST = 1024
"""Files of a folder that are read."""
_LOG = re.compile(
    r"(?:^|[._\-])(?:log|logs|out|err|txt|stdout|stderr)(?:[._\-]?\d+)?(?:\.gz)?$|rank|worker", re.IGNORECASE
)
_RANK = re.compile(r"(?:rank|worker|node|gpu|proc|tp)[_\-.]?(\d+)(?!\d*\.\d)|^(\d{1,4})(?:\.[a-z]\w*)*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Stream:
    """Bytes to read that are no file, such as standard input. It need not be seekable, and is read once."""

    name: str
    bytes: BinaryIO


class Unpacked(io.RawIOBase):
    """The unpacked bytes of a gz stream; `truncated` once it has turned out to break off."""

    def __init__(self, packed: BinaryIO) -> None:
        self._stream, self.truncated = gzip.GzipFile(fileobj=packed), False

    def read(self, size: int = -1) -> bytes:
        """As a file's; what cannot be unpacked ends it."""
        if self.truncated:
            return b""
        try:
            return self._stream.read1(size)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            self.truncated = True
            return b""


def expand(sources: Sequence[Path | Stream]) -> list[Path | Stream]:
    """The sources, with each folder replaced by the logs in it, by name (numbers counted as such)."""
    found: list[Path | Stream] = []
    for source in sources:
        if isinstance(source, Path) and source.is_dir():
            files = [path for path in sorted(source.rglob("*"), key=_natural) if path.is_file()]
            found += [path for path in files if _LOG.search(path.name)][:MOST] or files[:MOST]
        else:
            found.append(source)
    return found


def rank_of(name: str) -> int | None:
    """The rank that a file's name tells."""
    found = _RANK.search(name)
    return int(found[1] or found[2]) if found else None


@contextmanager
def opened(source: Path | Stream) -> Iterator[BinaryIO | Unpacked]:
    """The source's bytes. Raises OSError when a file cannot be read."""
    if isinstance(source, Stream):
        yield source.bytes
        return
    with source.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        yield Unpacked(stream) if packed else stream


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", str(path))]
