"""Consoles of rich for what is laid out: the answer on stdout, progress on stderr."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from ruleout.interfaces.cli.streams import drop
from ruleout.model.inert import inert

WIDTH = 100
"""Columns without a terminal."""
_DIGITS = 4


def answer_console() -> Console:
    """For the answer: as wide as the terminal, or 100 columns without one."""
    return _Console(
        file=sys.stdout,
        highlight=False,
        markup=False,
        width=_width(sys.stdout),
        soft_wrap=False,
        _environ=_environment(),
    )


def progress_console() -> Console:
    """For progress."""
    return _Console(file=sys.stderr, highlight=False, markup=False, width=_width(sys.stderr), _environ=_environment())


def _width(stream: TextIO) -> int | None:
    """None: the terminal's, or COLUMNS."""
    return None if stream.isatty() or "COLUMNS" in _environment() else WIDTH


def _environment() -> dict[str, str]:
    """The environment, less a COLUMNS that is no width (`0` where none is known): rich believes it."""
    told = os.environ.get("COLUMNS", "")
    is_width = told.isascii() and told.isdecimal() and len(told) <= _DIGITS and int(told) > 0
    return {name: value for name, value in os.environ.items() if name != "COLUMNS" or is_width}


class _Console(Console):
    """One whose reader may go (`| head -1`): that changes neither what is done nor the exit status.

    Commands, levels and logs are only shown by it: what a terminal would obey is left out, and brackets are brackets.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*map(_inert, objects), **options)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        drop(self.file.fileno())


def _inert(shown: Any) -> Any:
    if isinstance(shown, Text):
        shown.plain = inert(shown.plain)
    return inert(shown) if isinstance(shown, str) else shown
