"""Where an investigation lives: ./ruleout/NAME/, with a copy of its case, its database, and a folder for each trial."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from ruleout.investigation.whole import parents
from ruleout.model import Case, MissingError, UsageError
from ruleout.store import DATABASE

HOME = "ruleout"
TRACES = "traces"
"""Below an investigation's folder: traces of its command, which may be there before it begins."""
LEAST_ROOM = 8 << 20
"""Bytes that have to be free before a trial is launched."""
NO_ROOM = 64 << 10
"""With less than this left, a log or an answer may have been cut off, and an engine may have failed of that alone."""
_REMEDY = "Make room or give permission there; an investigation goes on with --resume."


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of one investigation."""

    path: Path

    @classmethod
    def of(cls, case: Case, chosen: Path | None) -> Folder:
        """The folder of a case: the one that was chosen, or ./ruleout/NAME."""
        return cls((chosen or Path(HOME) / case.name).absolute())

    @property
    def case(self) -> Path:
        """The copy of the case file."""
        return self.path / "case.yaml"

    @property
    def findings(self) -> Path:
        """The record for people."""
        return self.path / "FINDINGS.md"

    @property
    def report(self) -> Path:
        """The same for a browser."""
        return self.path / "report.html"

    @property
    def exists(self) -> bool:
        """Whether an investigation was begun here."""
        return (self.path / DATABASE).exists()

    def create(self) -> None:
        """Make it. Raises UsageError when it is there already, MissingError when it cannot be made."""
        if self.path.exists() and (self.exists or not self.path.is_dir() or self._holds_more):
            raise UsageError(
                f"{self.path} exists already",
                "Go on with it by --resume, or give the case another name, or name another folder with --dir.",
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise MissingError(
                f"{self.path}: {problem.strerror}", "Name a folder that can be written with --dir."
            ) from None

    @property
    def _holds_more(self) -> bool:
        return any(path.name != TRACES for path in self.path.iterdir())

    def remove(self) -> None:
        """Remove what an investigation left, but no traces, which were made before it."""
        for path in list(self.path.iterdir()):
            if path.is_dir() and path.name != TRACES:
                shutil.rmtree(path, ignore_errors=True)
            elif not path.is_dir():
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.path.rmdir()

    def set_aside(self) -> Path | None:
        """Rename it to the next free name; the new path, None when there was nothing."""
        if not self.path.exists():
            return None
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.previous-{number}")).exists():
            number += 1
        self.path.rename(aside)
        return aside

    def trial(self, number: int) -> Path:
        """The folder of a trial."""
        return self.path / "trials" / f"{number:04d}"

    def log(self, number: int) -> str:
        """The server's log of a trial, relative to the folder."""
        return f"trials/{number:04d}/server.log"


def require_room(folder: Path, least: int = LEAST_ROOM) -> None:
    """Raises MissingError when the disk of that folder has less room than that."""
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    if disk.f_blocks and free < least:
        needed = max(least, LEAST_ROOM) >> 20
        raise MissingError(
            f"{folder}: only {free >> 10} KiB are left on this disk, and at least {needed} MiB are needed",
            "Make room there, or name a folder elsewhere with --dir; an investigation goes on with --resume.",
        )


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all; of a link, what it leads to. Raises MissingError when there is no room.

    A device or a pipe is written to: to put a file in its place would take it from everybody.
    """
    whole = Path(os.path.realpath(path))
    temporary = whole.with_name(f".{whole.name}.{os.getpid()}")
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            path.write_text(text, encoding="utf-8")
            return
        with parents(whole):
            try:
                temporary.write_text(text, encoding="utf-8")
                temporary.replace(whole)
            except BaseException:
                with contextlib.suppress(OSError):
                    temporary.unlink(missing_ok=True)
                raise
    except OSError as problem:
        raise MissingError(f"{path}: {problem.strerror}", _REMEDY) from None
