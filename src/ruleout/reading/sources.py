"""Where a log comes from: a file, plain or packed; a folder of rank logs; a stream.

A compressed file that breaks off gives what can be unpacked; it is truncated, not unreadable.
"""

from __future__ import annotations

import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from ruleout.model import UsageError

MOST = 1024
"""Files of a folder that are read."""
_LOG = re.compile(
    r"(?:^|[._\-])(?:log|logs|out|err|txt|stdout|stderr)(?:[._\-]?\d+)?(?:\.(?:gz|xz|zst))?$|rank|worker", re.IGNORECASE
)
_RANK = re.compile(r"(?:rank|worker|node|gpu|proc|tp)[_\-.]?(\d+)(?!\d*\.\d)|^(\d{1,4})(?:\.[a-z]\w*)*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Stream:
    """Bytes to read that are no file, such as standard input. It need not be seekable, and is read once."""

    name: str
    bytes: BinaryIO


_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"


class Unpacked(io.RawIOBase):
    """The unpacked bytes of a gz or xz stream; `truncated` once it has turned out to break off."""

    def __init__(self, packed: BinaryIO, *, xz: bool = False) -> None:
        self._stream = lzma.LZMAFile(packed) if xz else gzip.GzipFile(fileobj=packed)  # noqa: SIM115
        self.truncated = False

    def read(self, size: int = -1) -> bytes:
        """As a file's; what cannot be unpacked ends it."""
        if self.truncated:
            return b""
        try:
            return self._stream.read1(size)
        except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError):
            self.truncated = True
            return b""


def expand(sources: Sequence[Path | Stream]) -> list[tuple[str, Path | Stream]]:
    """The sources with their names, with each folder replaced by the logs in it, in the order of their names.

    Numbers are counted as such. A log in a folder is named by its path from there; of files that were given
    themselves and bear one name, each is named as it was given.

    Raises ValueError for a folder in which there is none.
    """
    found: list[tuple[str, Path | Stream]] = []
    given = [source.name for source in sources]
    for source in sources:
        if isinstance(source, Path) and source.is_dir():
            files = [path for path in sorted(source.rglob("*"), key=_natural) if path.is_file()]
            logs = [path for path in files if _LOG.search(path.name)]
            logs = [path for path in logs if path.suffix != ".zst"] or _texts(source) or logs
            if not logs:
                raise ValueError(f"no log in {source}")
            before = f"{source.name}/" if len(sources) > 1 else ""
            found += [(before + path.relative_to(source).as_posix(), path) for path in logs[:MOST]]
        else:
            named = str(source) if isinstance(source, Path) and given.count(source.name) > 1 else source.name
            found.append((named, source))
    return found


def _texts(folder: Path) -> list[Path]:
    """Files right in a folder that are text, whatever they are called."""
    files = sorted((path for path in folder.iterdir() if path.is_file()), key=_natural)
    return [path for path in files[:MOST] if path.stat().st_size and b"\0" not in _beginning(path)]


def _beginning(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(1024)


def rank_of(name: str) -> int | None:
    """The rank that a file's name tells, or the nearest of its folders."""
    found = next((found for part in reversed(name.split("/")) if (found := _RANK.search(part))), None)
    return int(found[1] or found[2]) if found else None


@contextmanager
def opened(source: Path | Stream) -> Iterator[BinaryIO | Unpacked]:
    """The source's bytes. Raises OSError when a file cannot be read, UsageError when it is packed by zstd."""
    if isinstance(source, Stream):
        yield _unpacked(source.bytes, source.name)
        return
    with source.open("rb") as stream:
        yield _unpacked(stream, str(source))


def _unpacked(stream: BinaryIO, name: str) -> BinaryIO | Unpacked:
    """The stream, or what is packed in it. It need not be seekable: pipes are logs too."""
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, stream))
    begins = buffered.peek(len(_XZ))
    if begins.startswith(_ZSTD):
        raise UsageError(
            f"{name}: packed by zstd, which is not read", "Unpack it first: `zstd -dc LOG | ruleout diagnose -`."
        )
    if begins.startswith((_GZIP, _XZ)):
        return Unpacked(buffered, xz=begins.startswith(_XZ))
    return buffered


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", str(path))]
