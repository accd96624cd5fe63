"""`ruleout mark`: a person overrules how a trial was judged."""

from __future__ import annotations

from pathlib import Path

import click

from ruleout.interfaces.cli.investigate import folder_option, write_record
from ruleout.interfaces.cli.output import answer_console
from ruleout.investigation.marking import mark as overrule
from ruleout.investigation.session import current_verdict, find, read_journal, stored_case
from ruleout.model import OutcomeKind
from ruleout.report import words


@click.command(short_help="Overrule how a trial was judged.")
@click.argument("number", metavar="N", type=click.IntRange(min=1))
@click.argument("outcome", metavar="OUTCOME", type=click.Choice([kind.value for kind in OutcomeKind]))
@click.argument("case_name", metavar="[CASE]", required=False)
@click.option("--why", default="", metavar="TEXT", help="What you saw; it is kept with the trial.")
@folder_option
def mark(number: int, outcome: str, case_name: str | None, why: str, chosen: Path | None) -> int:
    """Overrule how trial N of CASE was judged: reproduced, clean, other (masked) or unresolved.

    The reading stays on record. What follows from it is worked out anew.
    """
    folder = find(case_name, chosen)
    case = stored_case(folder)
    trial = overrule(folder, number, OutcomeKind(outcome), why)
    verdict = current_verdict(case, read_journal(folder))
    write_record(case, verdict, folder)
    console = answer_console()
    reason = trial.outcome.reason if trial.outcome else ""
    console.print(f"trial {number} ({words.changes(trial.configuration, case.baseline)}): {reason}", markup=False)
    console.print(f"  go on with: ruleout investigate --resume {case.name}", style="dim", markup=False)
    return 0
