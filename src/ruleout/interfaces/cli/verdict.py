"""The verdict on a terminal: as wide as it is, without padding, so that it can be piped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.text import Text

from ruleout.interfaces.cli.output import answer_console
from ruleout.interfaces.cli.rows import folded
from ruleout.investigation.folder import Folder
from ruleout.model import Case, Verdict, VerdictStatus
from ruleout.report import words
from ruleout.report.safe import Safe
from ruleout.report.summary import facts, headline, likeliest

STYLES = {
    VerdictStatus.ISOLATED: ("✓", "green"),
    VerdictStatus.WORKAROUND: ("✓", "green"),
    VerdictStatus.ELSEWHERE: ("✗", "yellow"),
    VerdictStatus.NARROWED: ("…", "yellow"),
    VerdictStatus.EXHAUSTED: ("…", "yellow"),
    VerdictStatus.NOT_REPRODUCED: ("✗", "yellow"),
    VerdictStatus.INTERRUPTED: ("…", "yellow"),
}


LABEL, EXPLAINED = 29, 9
"""The columns in which stand what a label tells, and further rows of why a trial is made."""


def tell_verdict(case: Case, verdict: Verdict, folder: Folder, process: int | None = None, made: str = "") -> None:
    """Print the answer on stdout; while `process` is still working on it, what can be said so far.

    `made`: how many trials there are and what they took, where `verdict` does not hold all of them.
    """
    console = answer_console()
    mark, style = STYLES[verdict.status]
    told = headline(case, verdict) if process is None else f"Running (process {process}): {likeliest(verdict)}"
    safe = Safe.of(case, verdict)
    for line in indented(f"{mark} {safe(told)}", console.width, 2):
        console.print(Text(line, f"bold {style}"), soft_wrap=True)
    here = from_here(folder.path)
    prefix = "" if here.is_absolute() else f"{here}/"  # too long for a line; the last one says where it is
    for label, text in facts(case, verdict, prefix, whole=not made):
        first, *rest = rows_of(safe(text), console.width - LABEL - 1)
        console.print(Text.assemble((f"  {label:<{LABEL - 2}}", "dim"), first), soft_wrap=True)
        for line in rest:
            console.print(Text(" " * LABEL + line), soft_wrap=True)
    total = made or f"{words.made(verdict)}, {words.minutes(words.total(verdict))}"
    for line in indented(f"  {total} · {from_here(folder.findings)} · {folder.report.name}", console.width, 2):
        console.print(Text(line, "dim"), soft_wrap=True)


def explanation(purpose: str, why: Sequence[str]) -> Iterator[str]:
    """Why a trial is made, a line each: what for, then the arithmetic of the choice."""
    yield from (f"       {sentence}" for sentence in (purpose, *why))


def indented(text: str, width: int, indent: int) -> list[str]:
    """A text in rows of the screen, those after the first set in."""
    return rows_of(text, width, " " * indent)


def rows_of(text: str, width: int, indent: str = "") -> list[str]:
    """A text in rows; a path or a word of a command stays whole, so that it can be copied."""
    width = max(24, width)
    return folded(text, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False) or [""]


def from_here(path: Path) -> Path:
    """As a person names it from the current folder."""
    try:
        return path.relative_to(Path.cwd())
    except (ValueError, OSError):
        return path
