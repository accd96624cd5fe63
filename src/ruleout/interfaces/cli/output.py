"""stdout carries the answer, stderr everything else; both behave when there is no terminal."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from typing import TextIO

import click
from rich.console import Console


def tell_error(what: str, remedy: str) -> None:
    """An error in two lines."""
    _write(sys.stderr, f"ruleout: {what}" + (f"\n  {remedy}" if remedy else "") + "\n")


def tell_json(document: object) -> None:
    """The answer as one JSON document."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    tell_text(json.dumps(document, indent=2, ensure_ascii=not unicode) + "\n")


def tell_text(text: str) -> None:
    """The answer as it is."""
    _write(sys.stdout, text)


def tell_progress(text: str) -> None:
    """A line of progress."""
    _write(sys.stderr, text + "\n")


def tolerate_any_streams() -> None:
    """Streams that were closed (`>&-`) swallow what is said; characters the locale does not have become escapes."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def answer_console() -> Console:
    """For the answer: as wide as the terminal, or 100 columns without one."""
    return _Console(file=sys.stdout, highlight=False, width=_width(sys.stdout), soft_wrap=False)


def progress_console() -> Console:
    """For progress."""
    return _Console(file=sys.stderr, highlight=False, width=_width(sys.stderr))


def _width(stream: TextIO) -> int | None:
    """None: the terminal's, or COLUMNS."""
    return None if stream.isatty() or os.environ.get("COLUMNS", "").isdecimal() else 100


def hear_no_more() -> None:
    """A Ctrl-C was heard and what is left to do is short: further ones must not cut it off."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


class _Console(Console):
    """One whose reader may go (`| head -1`): that changes neither what is done nor the exit status."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        _drop(self.file.fileno())


def _write(stream: TextIO, text: str) -> None:
    try:
        click.echo(text, file=stream, nl=False)
    except BrokenPipeError:
        _drop(stream.fileno())


def _drop(descriptor: int) -> None:
    """Nobody reads this any more; so that neither a later line nor the flush at exit complains."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)
