"""stdout carries the answer, stderr everything else; both behave when there is no terminal."""

from __future__ import annotations

import json
import sys

import click
from rich.console import Console


def tell_error(what: str, remedy: str) -> None:
    """An error in two lines."""
    click.echo(f"ruleout: {what}" + (f"\n  {remedy}" if remedy else ""), err=True)


def tell_json(document: object) -> None:
    """The answer as one JSON document."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def answer_console() -> Console:
    """For the answer: as wide as the terminal, or 100 columns without one."""
    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 100, soft_wrap=False)


def progress_console() -> Console:
    """For progress."""
    return Console(file=sys.stderr, highlight=False, width=None if sys.stderr.isatty() else 100)
