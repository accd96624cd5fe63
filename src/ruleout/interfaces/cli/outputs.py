"""Files that a person names for an answer: what is there already is not replaced, unless it is an older answer."""

from __future__ import annotations

from pathlib import Path

from ruleout.investigation.folder import write_whole
from ruleout.model import UsageError

_BEGINNING = 1024
"""Bytes of a file in which JUnit XML names its outermost element."""


def require_free(path: Path) -> None:
    """Raises UsageError when there is a file already."""
    if path.exists():
        raise UsageError(f"{path} exists already", "Name another file with --output, or remove that one.")


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet. Raises UsageError when it is."""
    require_free(path)
    write_whole(path.absolute(), text)


def require_junit(path: Path) -> None:
    """A CI writes its tests' results over those of yesterday: raises UsageError when anything else is there."""
    if not path.is_file():
        return
    with path.open("rb") as stream:
        beginning = stream.read(_BEGINNING)
    if beginning.strip() and b"<testsuite" not in beginning:
        raise UsageError(f"{path} exists already, and is no JUnit XML", "Name another file, or remove that one.")
