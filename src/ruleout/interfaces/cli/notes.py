"""What was taken from notes, and what was not, a line each; the line of the note comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from ruleout.interfaces.cli.colours import COLOURS
from ruleout.investigation.noted import Noted
from ruleout.model import Case, Notes, OutcomeKind, ToldTrial, Unused
from ruleout.report import words
from ruleout.report.markdown import visible
from ruleout.report.notes import became, changed

WIDEST, INDENT = 200, 9
"""Characters of a note's own words that are shown, and the column in which rows go on."""


def tell_notes(console: Console, notes: Notes, unused: Sequence[Unused] | None = None) -> None:
    """Print what notes tell. `unused`: what of them cannot be taken for a case, where there is one."""
    left = notes.unused if unused is None else unused
    made, places = sum(told.times for told in notes.trials), len(notes.trials)
    where = "" if made == places else f" in {words.count(places, 'place')}"
    console.print(Text(f"{visible(notes.source)}: {words.count(made, 'trial')}{where}", "bold"))
    if notes.command:
        _print(console, _row(notes.line, "as deployed", "", notes.command))
    column = max((len(became(one)) for one in notes.trials), default=0)
    for one in notes.trials:
        _print(console, _row(one.line, changed(one), f"{became(one):<{column}}", _said(one), _colour(one)))
    if left:
        console.print(Text("Not used", "bold"))
    for gone in left:
        _print(console, _row(gone.line, gone.why, "", gone.text))


def _print(console: Console, row: Text) -> None:
    """A row: on a terminal broken at its width and set in, elsewhere one line."""
    first, *rest = row.wrap(console, console.width - INDENT) if console.is_terminal else [row]
    for line in (first, *(Text(" " * INDENT).append(more) for more in rest)):
        line.rstrip()
        console.print(line, soft_wrap=True)


def note_lines(case: Case, taken: Sequence[Noted], left: Sequence[Unused]) -> Iterator[str]:
    """What is taken from notes for a case, and what is not."""
    seen = dict.fromkeys((one.source, one.told.line, one.told.outcome, one.configuration) for one in taken)
    times = {key: sum(key == (n.source, n.told.line, n.told.outcome, n.configuration) for n in taken) for key in seen}
    for source, line, outcome, configuration in seen:
        word = "masked" if outcome is OutcomeKind.OTHER else outcome.value
        often = times[source, line, outcome, configuration]
        count = f" ×{often}" if often > 1 else ""
        yield f"told     {visible(source)}:{line}  {words.changes(configuration, case.baseline)}: {word}{count}"
    for gone in left:
        yield f"not used line {gone.line}: {gone.why}: {_short(gone.text)}"


def _said(told: ToldTrial) -> str:
    return told.failure or told.text


def _row(line: int, what: str, outcome: str, text: str, colour: str = "") -> Text:
    row = Text.assemble((f"  {line:>5}  ", "dim"), *([(f"{outcome}  ", colour)] if outcome else []), what)
    if text:
        row.append(f"  {_short(text)}", "dim")
    return row


def _short(text: str) -> str:
    text = " ".join(visible(text).split())
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _colour(told: ToldTrial) -> str:
    return COLOURS["masked" if told.outcome is OutcomeKind.OTHER else told.outcome.value]
