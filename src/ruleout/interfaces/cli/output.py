"""Consoles of rich for what is laid out: the answer on stdout, progress on stderr."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from rich.console import Console

from ruleout.interfaces.cli.streams import drop


def answer_console() -> Console:
    """For the answer: as wide as the terminal, or 100 columns without one."""
    return _Console(file=sys.stdout, highlight=False, width=_width(sys.stdout), soft_wrap=False)


def progress_console() -> Console:
    """For progress."""
    return _Console(file=sys.stderr, highlight=False, width=_width(sys.stderr))


def _width(stream: TextIO) -> int | None:
    """None: the terminal's, or COLUMNS."""
    return None if stream.isatty() or os.environ.get("COLUMNS", "").isdecimal() else 100


class _Console(Console):
    """One whose reader may go (`| head -1`): that changes neither what is done nor the exit status."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        drop(self.file.fileno())
