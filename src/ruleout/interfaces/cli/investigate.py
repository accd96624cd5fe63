"""`ruleout investigate`: controlled trials until one cause is left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ruleout.interfaces.cli.output import progress_console
from ruleout.interfaces.cli.plan import tell_plan
from ruleout.interfaces.cli.progress import Progress
from ruleout.interfaces.cli.streams import tell_json
from ruleout.interfaces.cli.verdict import tell_verdict
from ruleout.investigation.byhand import Given, given
from ruleout.investigation.casefile import read_case
from ruleout.investigation.caseschema import seconds
from ruleout.investigation.folder import Folder, write_whole
from ruleout.investigation.session import find
from ruleout.investigation.session import investigate as run_investigation
from ruleout.model import Budget, Case, Verdict, VerdictStatus
from ruleout.report import findings, verdict_document
from ruleout.report.page import page
from ruleout.runners.local import LocalRunner

EXITS = {
    VerdictStatus.ISOLATED: 0,
    VerdictStatus.WORKAROUND: 0,
    VerdictStatus.NARROWED: 1,
    VerdictStatus.ELSEWHERE: 1,
    VerdictStatus.EXHAUSTED: 1,
    VerdictStatus.NOT_REPRODUCED: 5,
    VerdictStatus.INTERRUPTED: 130,
}


class Duration(click.ParamType[float]):
    """A duration with its unit."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        try:
            return seconds(value)
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


folder_option = click.option(
    "--dir",
    "chosen",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of the investigation [./ruleout/NAME].",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")


@click.command()
@click.argument("case_file", metavar="CASE.yaml")
@click.option("--resume", is_flag=True, help="Go on with an investigation that was begun.")
@click.option("--dry-run", is_flag=True, help="Print the plan and its price; launch nothing.")
@click.option("--explain", is_flag=True, help="Say of every trial why it is the next, with the arithmetic.")
@click.option(
    "--reduce",
    is_flag=True,
    help="Raise the load until it fails; end with the smallest command that fails.",
)
@click.option("--budget-trials", type=click.IntRange(min=1), help="Stop after so many trials.")
@click.option("--budget-time", type=Duration(), help="Stop when the trials have taken so long, e.g. 6h.")
@click.option(
    "--trial",
    "by_hand",
    multiple=True,
    metavar="LOG[:FACTOR=LEVEL,…]",
    help="The log of a trial that was run by hand; what it ran with is read from it, or given.",
)
@folder_option
@json_option
def investigate(
    case_file: str,
    resume: bool,
    dry_run: bool,
    explain: bool,
    reduce: bool,
    budget_trials: int | None,
    budget_time: float | None,
    by_hand: tuple[str, ...],
    chosen: Path | None,
    as_json: bool,
) -> int:
    """Run the failing deployment of CASE.yaml under controlled changes until one cause is left.

    The record stays in ./ruleout/NAME: trials with their logs, FINDINGS.md, and what --resume needs.
    """
    path = Path(case_file)
    if resume and not path.is_file():
        path = find(case_file, chosen).case
    case = read_case(path)
    budget = Budget(
        budget_trials or case.budget.trials,
        case.budget.minutes if budget_time is None else budget_time / 60,
        case.budget.disk,
    )
    folder = Folder.of(case, chosen)
    if dry_run:
        tell_plan(case, budget, as_json)
        return 0
    text = path.read_text(encoding="utf-8-sig")
    logs = [given(case, log) for log in by_hand]
    return conduct(
        case, text, folder, budget, resume=resume, as_json=as_json, logs=logs, reduce=reduce, explain=explain
    )


def conduct(
    case: Case,
    text: str,
    folder: Folder,
    budget: Budget,
    *,
    resume: bool,
    as_json: bool,
    logs: Sequence[Given] = (),
    reduce: bool = False,
    explain: bool = False,
) -> int:
    """Run an investigation and tell its verdict; the exit status."""
    console = progress_console()
    for log in logs:
        console.print(f"  by hand  {log.told}", style="dim", markup=False, soft_wrap=True)
    with Progress(case, folder, budget, console, explain=explain) as progress:
        verdict = run_investigation(
            case, text, folder, LocalRunner(), progress, resume=resume, budget=budget, given=logs, reduce=reduce
        )
    tell(case, verdict, folder, as_json)
    return EXITS[verdict.status]


def tell(case: Case, verdict: Verdict, folder: Folder, as_json: bool) -> None:
    """Write FINDINGS.md and report.html, and print the answer."""
    write_record(case, verdict, folder)
    if as_json:
        tell_json(verdict_document(verdict, case.name, str(folder.path)))
    else:
        tell_verdict(case, verdict, folder)


def write_record(case: Case, verdict: Verdict, folder: Folder) -> None:
    """Write FINDINGS.md and report.html."""
    write_whole(folder.findings, findings(case, verdict))
    write_whole(folder.report, page(case, verdict))
