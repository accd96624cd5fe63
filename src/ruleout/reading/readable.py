"""A file that is no text holds no log, and a damaged archive none any more: both are said, instead of reading nothing.

Single control characters and NULs are normal in logs, UTF-16 is half NULs, and old code pages are no UTF-8; so only
what no log begins with is refused.
"""

from __future__ import annotations

import re
from pathlib import Path

from ruleout.model.errors import UsageError

HEAD = 1 << 14
"""Bytes by which it is judged."""
_PACKED = (
    (b"\x28\xb5\x2f\xfd", "packed by zstd", "Unpack it first: zstd -d."),
    (b"BZh", "packed by bzip2", "Unpack it first: bunzip2."),
    (b"PK\x03\x04", "a zip archive", "Unpack it first: unzip."),
    (b"7z\xbc\xaf", "a 7z archive", "Unpack it first: 7z x."),
)
_KNOWN = (b"\x1f\x8b", b"\xfd7zXZ")
"""Beginnings of what is unpacked while it is read."""
_CONTROL = re.compile(rb"[\x01-\x06\x0e-\x1a\x1c-\x1f]")
_SHARE = 0.04


def check(path: Path) -> None:
    """Raises UsageError for a file that is no text or packed in an unknown way, OSError where it cannot be read."""
    if not path.is_file():
        return  # a pipe is read once, later
    with path.open("rb") as stream:
        head = stream.read(HEAD)
    if head.startswith(_KNOWN):
        return
    for magic, what, remedy in _PACKED:
        if head.startswith(magic):
            raise UsageError(f"{path}: {what}, not a log", remedy)
    if not _text(head):
        raise UsageError(f"{path}: not a text", "Name the log itself, as text or packed by gzip.")


def damaged(name: str) -> UsageError:
    """The problem of a packed file of which nothing can be unpacked."""
    return UsageError(f"{name}: damaged, nothing of it can be unpacked", "Copy or download it once more.")


def _text(head: bytes) -> bool:
    """Few of the bytes are control characters that no terminal is sent; random ones are a twelfth."""
    letters = head.translate(None, b"\0")
    return len(_CONTROL.findall(letters)) <= _SHARE * len(letters)
