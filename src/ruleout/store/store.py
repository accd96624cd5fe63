"""An investigation on disk: one table of events that is only ever added to. What happened is never rewritten.

A trial is written here before it is launched, so a crash of ours can lose an answer but never the knowledge that
something was started.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from ruleout.model import MissingError, UsageError
from ruleout.store.migrations import migrate, steps_taken

DATABASE = "ruleout.db"
LOCK = "lock"
DAMAGED = "Restore it from a copy; or start anew under another name, with the logs of its trials (--trial LOG)."
"""What to do about what cannot be read: most of what was learnt stands in the logs, too."""

_LONGEST = 100


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: its number, the wall clock in Unix seconds, what, and to which trial."""

    id: int
    wall: float
    kind: str
    trial: int | None
    body: dict[str, Any]


class Store:
    """The events of one investigation. Only one process at a time may hold it for writing."""

    def __init__(self, folder: Path, *, writing: bool) -> None:
        """Open it; with `writing`, make it if it is not there.

        Raises:
            UsageError: there is none, it is not one, or another process is writing to it.
            MissingError: no room or no permission.
        """
        self.path = folder / DATABASE
        self._lock: int | None = None
        if writing:
            self._lock = _lock(folder)
        elif not self.path.is_file():
            raise UsageError(f"{folder}: no investigation here", "Start one with `ruleout investigate CASE.yaml`.")
        try:
            if writing:
                self._db = sqlite3.connect(self.path, isolation_level=None, timeout=10)
                migrate(self._db)
            else:
                self._db = _readable(self.path)
        except sqlite3.DatabaseError as problem:
            self._unlock()
            raise _told(problem, self.path) from None

    def append(
        self, kind: str, trial: int | None = None, body: dict[str, Any] | None = None, wall: float | None = None
    ) -> None:
        """Add an event; it is on the disk when this returns. Raises MissingError when there is no room.

        Args:
            wall: when it happened, if that is not now.
        """
        try:
            self._db.execute(
                "INSERT INTO events (wall, kind, trial, body) VALUES (?, ?, ?, ?)",
                (time.time() if wall is None else wall, kind, trial, json.dumps(body or {}, ensure_ascii=False)),
            )
        except sqlite3.DatabaseError as problem:
            raise _told(problem, self.path) from None

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """All that is added within is on the disk when this is left, or none of it: for many events at once."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except sqlite3.DatabaseError as problem:
            raise _told(problem, self.path) from None
        finally:
            if self._db.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")

    def events(self) -> Iterator[Event]:
        """All events in order."""
        return self._rows("SELECT id, wall, kind, trial, body FROM events ORDER BY id", ())

    def parts(self, kinds: Sequence[str], *paths: str, given: str = "") -> Iterator[tuple[Any, ...]]:
        """Of all events of these kinds their number, trial, and what stands at paths of the body (`$.a.b`).

        The database takes them out of the bodies, which is ten times faster than reading all of them.

        Args:
            given: only events that have something at this path.
        """
        columns = "".join(", json_extract(body, ?)" for _ in paths)
        marks = ", ".join("?" for _ in kinds)
        only = "AND json_extract(body, ?) NOT IN ('{}', '[]')" if given else ""
        query = f"SELECT id, trial{columns} FROM events WHERE kind IN ({marks}) {only} ORDER BY id"
        try:
            yield from self._db.execute(query, (*paths, *kinds, *([given] if given else [])))
        except sqlite3.DatabaseError as problem:
            raise _told(problem, self.path) from None

    def unended(self) -> list[int]:
        """The trials that were planned and neither finished nor abandoned."""
        planned = "SELECT trial FROM events WHERE kind = 'planned'"
        ended = "SELECT trial FROM events WHERE kind IN ('finished', 'abandoned')"
        try:
            return sorted(row[0] for row in self._db.execute(f"{planned} EXCEPT {ended}"))
        except sqlite3.DatabaseError as problem:
            raise _told(problem, self.path) from None

    def last(self, kind: str, *without: str) -> Event | None:
        """The last event of a kind, its body without what stands at these paths; None when there is none."""
        body = f"json_remove(body{', ?' * len(without)})" if without else "body"
        query = f"SELECT id, wall, kind, trial, {body} FROM events WHERE kind = ? ORDER BY id DESC LIMIT 1"
        return next(self._rows(query, (*without, kind)), None)

    def of_trials(self, numbers: Sequence[int]) -> Iterator[Event]:
        """The events of some trials, in order."""
        marks = ", ".join("?" for _ in numbers)
        query = f"SELECT id, wall, kind, trial, body FROM events WHERE trial IN ({marks}) ORDER BY id"
        return self._rows(query, numbers)

    def _rows(self, query: str, values: Sequence[object]) -> Iterator[Event]:
        try:
            for row in self._db.execute(query, values):
                yield Event(row[0], row[1], row[2], row[3], self._body(row[0], row[2], row[4]))
        except sqlite3.DatabaseError as problem:
            raise _told(problem, self.path) from None

    def _body(self, number: int, kind: str, text: str) -> dict[str, Any]:
        try:
            body = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            body = None
        if isinstance(body, dict):
            return body
        raise UsageError(f"{self.path}: event {number} ({kind}) is damaged: it is no document", DAMAGED)

    def close(self) -> None:
        """Close it and let others write."""
        self._db.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _readable(path: Path) -> sqlite3.Connection:
    """A database that is only read.

    What a process had half written when it was killed has to be taken back first, and that is writing to the file.
    """
    for mode in ("ro", "rw"):
        db = sqlite3.connect(f"file:{_quoted(path)}?mode={mode}", uri=True, timeout=10)
        try:
            steps_taken(db)
            db.execute("SELECT 1 FROM events LIMIT 1")
            db.execute("PRAGMA query_only = 1")
        except sqlite3.DatabaseError as problem:
            db.close()
            if mode == "rw" or "readonly" not in str(problem):
                raise
        else:
            break
    return db


def holder(folder: Path) -> int | None:
    """The process that is working on the investigation in this folder; None when there is none."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        text = os.pread(handle, 32, 0).decode(errors="replace").strip()
        return int(text) if text.isdecimal() else None
    else:
        return None
    finally:
        os.close(handle)


def _lock(folder: Path) -> int:
    path = folder / LOCK
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as problem:
        raise MissingError(
            f"{path}: {problem.strerror}", "Make the folder writable, or name another with --dir."
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
        os.close(handle)
        raise UsageError(
            f"{folder}: another ruleout (process {holder}) is working on this investigation",
            "Wait for it or stop it; `ruleout status` shows where it stands.",
        ) from None
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
    except OSError as problem:
        os.close(handle)
        raise MissingError(f"{path}: {problem.strerror}", "Make room on the disk, and try again.") from None
    return handle


def _quoted(path: Path) -> str:
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _told(problem: sqlite3.DatabaseError, path: Path) -> UsageError | MissingError:
    text = " ".join(str(problem).split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"  # SQLite quotes what it cannot decode, all of it
    if "full" in text or "disk I/O" in text:
        return MissingError(f"{path}: {text}", "Make room on the disk, then go on with --resume.")
    if "readonly" in text or "unable to open" in text:
        remedy = "Make the folder writable; or copy it to where it is, and name that with --dir."
        return MissingError(f"{path}: {text}", remedy)
    if "newer" in text:
        return UsageError(f"{path}: {text}", "Use the ruleout that made it, or a newer one.")
    return UsageError(f"{path}: not a database of ruleout's: {text}", DAMAGED)
