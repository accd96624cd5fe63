"""What is made is there as a whole or not at all: it is made beside its place, and then only given its name.

A name that begins with a dot and ends with `.part` is that of something unfinished. Of a process that was killed it
stays, and the next one that makes the same takes it over; two that make the same at once are told apart by a lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from ruleout.model import UsageError


@contextlib.contextmanager
def parents(path: Path) -> Iterator[None]:
    """Make the folders above a path; those that were not there go again when what follows fails. Raises OSError."""
    missing = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


@contextlib.contextmanager
def whole_file(to: Path) -> Iterator[IO[bytes]]:
    """A file to write, which gets its name when nothing was raised. Raises OSError, and UsageError as `_claimed`."""
    part = beside_of(to)
    with parents(to), _claimed(part, to, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW) as handle:
        try:
            with os.fdopen(os.dup(handle), "r+b") as stream:
                stream.truncate()
                yield stream
            part.replace(to)
        except BaseException:
            _again(lambda: part.unlink(missing_ok=True))
            raise


@contextlib.contextmanager
def whole_folder(to: Path) -> Iterator[Path]:
    """A folder to fill, which gets its name when nothing was raised. Raises OSError, and UsageError as `_claimed`."""
    part = beside_of(to)
    with parents(to):
        try:
            part.mkdir(exist_ok=True)
            with _claimed(part, to, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW):
                try:
                    for left in part.iterdir():
                        shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
                    yield part
                    part.rename(to)
                except BaseException:
                    _again(lambda: shutil.rmtree(part, ignore_errors=True))
                    raise
        except KeyboardInterrupt:  # it may have been heard before the folder was claimed, which is empty then
            with contextlib.suppress(OSError):
                part.rmdir()
            raise


def beside_of(to: Path) -> Path:
    """Where it is made until it is whole."""
    return to.with_name(f".{to.name}.part")


@contextlib.contextmanager
def _claimed(part: Path, to: Path, flags: int) -> Iterator[int]:
    """Holds what is unfinished. Raises UsageError when another process does."""
    handle = os.open(part, flags | os.O_CLOEXEC, 0o666)
    try:
        if not _locked(handle, part):
            raise UsageError(f"{to}: another ruleout is about to make it", "Wait for it, or name another place.")
        yield handle
    finally:
        os.close(handle)


def _locked(handle: int, part: Path) -> bool:
    with contextlib.suppress(OSError):  # a disk without locks
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    try:
        return os.path.samestat(os.fstat(handle), part.lstat())
    except FileNotFoundError:  # whoever held it has finished, or given up
        return False


def _again(remove: Callable[[], None]) -> None:
    """Remove it, even if a Ctrl-C is heard meanwhile."""
    try:
        remove()
    except KeyboardInterrupt:
        remove()
        raise
