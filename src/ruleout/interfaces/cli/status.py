"""`ruleout status`: where an investigation stands."""

from __future__ import annotations

from pathlib import Path

import click

from ruleout.interfaces.cli.investigate import folder_option, json_option
from ruleout.interfaces.cli.output import answer_console
from ruleout.interfaces.cli.progress import explanation
from ruleout.interfaces.cli.streams import tell_json
from ruleout.interfaces.cli.verdict import tell_verdict
from ruleout.investigation.session import current_verdict, find, read_journal, stored_case
from ruleout.model import VerdictStatus
from ruleout.report import verdict_document, words
from ruleout.store import holder


@click.command()
@click.argument("case_name", metavar="[CASE]", required=False)
@click.option("--explain", is_flag=True, help="Say of every trial why it was made, with the arithmetic.")
@folder_option
@json_option
def status(case_name: str | None, explain: bool, chosen: Path | None, as_json: bool) -> int:
    """Show where the investigation CASE stands (a case file, a name or a folder; the last one when left out)."""
    folder = find(case_name, chosen)
    case = stored_case(folder)
    journal = read_journal(folder)
    verdict = current_verdict(case, journal)
    process = holder(folder.path)
    if as_json:
        document = verdict_document(verdict, case.name, str(folder.path))
        running = [{"trial": n, "configuration": dict(p.configuration)} for n, p in journal.open.items()]
        tell_json({**document, "running": running, "process": process})
        return 0
    console = answer_console()
    for trial in verdict.trials:
        changed = words.ran(trial, case.baseline)
        outcome = words.outcome(trial.outcome)
        console.print(f"  #{trial.id:<4}{outcome:<11}{words.minutes(trial.minutes):>7}  {changed}", markup=False)
        for line in explanation(trial) if explain else ():
            console.print(line, style="dim", markup=False, soft_wrap=True)
    for number, plan in journal.open.items():
        changed = words.changes(plan.configuration, case.baseline)
        console.print(f"  #{number:<4}{'running' if process else 'not ended':<11}{'':>7}  {changed}", markup=False)
    tell_verdict(case, verdict, folder, process)
    if process is None and (journal.verdict is None or verdict.status is VerdictStatus.INTERRUPTED):
        console.print(f"  go on with: ruleout investigate --resume {case.name}", style="dim", markup=False)
    return 0
