"""`ruleout status`: where an investigation stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich.text import Text

from ruleout.interfaces.cli.options import folder_option, json_option
from ruleout.interfaces.cli.output import answer_console
from ruleout.interfaces.cli.streams import tell_json
from ruleout.interfaces.cli.verdict import EXPLAINED, explanation, from_here, indented, tell_verdict
from ruleout.investigation.finding import find
from ruleout.investigation.folder import Folder
from ruleout.investigation.glance import Glance, glance
from ruleout.model import Case, Configuration, Trial, VerdictStatus
from ruleout.report import words
from ruleout.report.safe import Safe
from ruleout.store import holder

LAST = 30
"""Of more trials, that many of the last are shown."""
CHANGED = 27
"""The column in which stands what a trial changed."""


@click.command(short_help="Show where an investigation stands.")
@click.argument("case_name", metavar="[CASE]", required=False)
@click.option("--all", "every", is_flag=True, help=f"Show all trials, not only the last {LAST}.")
@click.option("--explain", is_flag=True, help="Say of every trial why it was made, with the arithmetic.")
@folder_option
@json_option
def status(case_name: str | None, every: bool, explain: bool, chosen: Path | None, as_json: bool) -> int:
    """Show where the investigation CASE stands (a case file, a name or a folder; the last one when left out)."""
    folder = find(case_name, chosen)
    process = holder(folder.path)
    if not (every or as_json) and (seen := glance(folder, LAST)) is not None:
        return _at_a_glance(folder, seen, process, explain)
    # What concludes takes longer to import than a glance takes.
    from ruleout.investigation.session import current_verdict, read_journal, stored_case
    from ruleout.report.documents import verdict_document

    case = stored_case(folder)
    journal = read_journal(folder)
    verdict = current_verdict(case, journal)
    if as_json:
        document = verdict_document(verdict, case.name, str(folder.path))
        running = [{"trial": n, "configuration": dict(p.configuration)} for n, p in journal.open.items()]
        tell_json({**document, "running": running, "process": process})
        return 0
    trials = verdict.trials if every else verdict.trials[-LAST:]
    safe = Safe.of(case, verdict)
    going = {number: plan.configuration for number, plan in journal.open.items()}
    _tell_trials(case, safe, trials, len(verdict.trials) - len(trials), going, explain, process)
    tell_verdict(case, verdict, folder, process)
    if process is None and (journal.verdict is None or verdict.status is VerdictStatus.INTERRUPTED):
        answer_console().print(f"  go on with: ruleout investigate --resume {case.name}", style="dim", markup=False)
    return 0


def _tell_trials(
    case: Case,
    safe: Safe,
    trials: Sequence[Trial],
    before: int,
    going: Mapping[int, Configuration],
    explain: bool,
    process: int | None,
) -> None:
    """A row for each trial, those under way last, and a blank; how many came before them and are left out."""
    console = answer_console()
    if before:
        console.print(
            f"  {words.count(before, 'trial')} before these: --all, or report.html", style="dim", markup=False
        )
    for trial in trials:
        _tell_row(trial.id, words.outcome(trial.outcome), words.took(trial), safe(words.ran(trial, case.baseline)))
        for line in explanation(trial.purpose, trial.why) if explain else ():
            for row in indented(safe(line), console.width, EXPLAINED):
                console.print(Text(row, "dim"), soft_wrap=True)
    for number, configuration in going.items():
        changed = safe(words.changes(configuration, case.baseline))
        _tell_row(number, "running" if process else "not ended", "", changed)
    if trials or going:
        console.print()


def _tell_row(number: int, outcome: str, took: str, changed: str) -> None:
    console = answer_console()
    for line in indented(f"  #{number:<6}{outcome:<11}{took:>6}  {changed}", console.width, CHANGED):
        console.print(Text(line), soft_wrap=True)


def _at_a_glance(folder: Folder, seen: Glance, process: int | None, explain: bool) -> int:
    """The same of a very long investigation, of which only what is told was read."""
    total = sum(seen.ended.values())
    safe = Safe.of(seen.case, seen.verdict)
    _tell_trials(seen.case, safe, seen.last, total - len(seen.last), seen.open, explain, process)
    ended = ", ".join(f"{number} {outcome}" for outcome, number in seen.ended.most_common())
    made = f"{words.count(total, 'trial')} ({ended}), {words.minutes(seen.minutes)}"
    tell_verdict(seen.case, seen.verdict, folder, process, made)
    if not seen.concluded:
        console = answer_console()
        told = "" if process is not None else f"; go on with: ruleout investigate --resume {seen.case.name}"
        console.print(f"  concluded anew: ruleout report {from_here(folder.path)}{told}", style="dim", markup=False)
    return 0
