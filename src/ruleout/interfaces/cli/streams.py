"""stdout carries the answer, stderr everything else; both behave when there is no terminal, or no reader."""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import re
import sys
from typing import TextIO

import click

_UNSEEN = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")
"""What a terminal obeys, or nobody sees: in a JSON document it stands as an escape, which says the same."""

SIGNS = {
    "✓": "+",
    "✗": "x",
    "·": "-",
    "›": ">",
    "▸": ">",
    "…": "..",
    "×": "x",
    "“": '"',
    "”": '"',
    "←": "<-",
    "→": "->",
    "≠": "!=",
    "◌": "o",
    "\N{NO-BREAK SPACE}": " ",
}
"""Our own signs where a terminal has none."""
_NO_READER = (errno.EPIPE, errno.EIO)
"""The reader of a pipe has gone, or the terminal was closed."""


def tell_error(what: str, remedy: str) -> None:
    """An error in two lines, whatever the names in it hold."""
    _write(sys.stderr, f"ruleout: {_line(what)}" + (f"\n  {_line(remedy)}" if remedy else "") + "\n")


def tell_json(document: object) -> None:
    """The answer as one JSON document."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(document, indent=2, ensure_ascii=not unicode)
    tell_text(_UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text) + "\n")


def tell_text(text: str) -> None:
    """The answer as it is."""
    _write(sys.stdout, text)


def from_stdin() -> bytes:
    """All that is piped in."""
    return sys.stdin.buffer.read() if sys.stdin is not None else b""


def tell_progress(text: str) -> None:
    """A line of progress."""
    _write(sys.stderr, text + "\n")


def tolerate_any_streams() -> None:
    """Streams that were closed (`>&-`) swallow what is said; what the locale lacks becomes other signs, or escapes."""
    codecs.register_error("signs", _signs)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="signs")


def _signs(problem: UnicodeError) -> tuple[str, int]:
    """Where something cannot be encoded: our own signs as ASCII has them, anything else as an escape."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    lacking = problem.object[problem.start : problem.end]
    return "".join(SIGNS.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking), problem.end


def _line(text: str) -> str:
    """Line breaks and what moves a cursor as escapes: a name that holds them can still be recognised."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _write(stream: TextIO, text: str) -> None:
    try:
        click.echo(text, file=stream, nl=False)
    except OSError as problem:
        if stream is sys.stdout and problem.errno not in _NO_READER:
            raise  # the answer did not get where it should
        drop(stream.fileno())


def drop(descriptor: int) -> None:
    """Nobody reads this any more; so that neither a later line nor the flush at exit complains."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)
