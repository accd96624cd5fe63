"""`ruleout investigate`: controlled trials until one cause is left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ruleout.interfaces.cli.behind import BeforeCommand, behind
from ruleout.interfaces.cli.junit import junit_option, write_verdict
from ruleout.interfaces.cli.opening import Asked
from ruleout.interfaces.cli.options import folder_option as folder_option
from ruleout.interfaces.cli.options import json_option as json_option
from ruleout.interfaces.cli.output import progress_console
from ruleout.interfaces.cli.outputs import require_junit, write_new
from ruleout.interfaces.cli.plan import tell_plan
from ruleout.interfaces.cli.progress import Progress
from ruleout.interfaces.cli.streams import from_stdin, tell_json
from ruleout.interfaces.cli.verdict import tell_verdict
from ruleout.investigation.byhand import Given, given
from ruleout.investigation.caseschema import seconds
from ruleout.investigation.course import course
from ruleout.investigation.folder import Folder, write_whole
from ruleout.investigation.noted import read_note
from ruleout.investigation.session import investigate as run_investigation
from ruleout.investigation.session import read_journal
from ruleout.model import Budget, Case, Notes, UsageError, Verdict, VerdictStatus
from ruleout.report.documents import verdict_document
from ruleout.report.findings import findings
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


@click.command(cls=BeforeCommand, short_help="Run controlled trials until one cause is left.")
@click.argument("case_file", metavar="CASE.yaml", required=False)
@click.option("--resume", is_flag=True, help="Go on with an investigation that was begun.")
@click.option("--dry-run", is_flag=True, help="Print the plan and its price; launch nothing.")
@click.option("--explain", is_flag=True, help="Say of every trial why it is the next, with the arithmetic.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --dry-run -- COMMAND: write the case file there, to edit.",
)
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
@click.option(
    "--notes",
    "notes",
    multiple=True,
    metavar="NOTES",
    help="A FINDINGS.md, or a person's notes: their trials say where to look (see `ruleout findings NOTES`).",
)
@click.option(
    "--reference",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With -- COMMAND: judge its answers by those that `ruleout probe --save` kept.",
)
@folder_option
@junit_option
@json_option
@click.pass_context
def investigate(
    ctx: click.Context,
    case_file: str | None,
    resume: bool,
    dry_run: bool,
    explain: bool,
    output: Path | None,
    reduce: bool,
    budget_trials: int | None,
    budget_time: float | None,
    by_hand: tuple[str, ...],
    notes: tuple[str, ...],
    reference: Path | None,
    chosen: Path | None,
    junit_file: Path | None,
    as_json: bool,
) -> int:
    """Run the failing deployment of CASE.yaml, or that of COMMAND, under controlled changes until one cause is left.

    Of a command behind `--` the engine is recognised (vllm, sglang, transformers, llama.cpp, tensorrt-llm, or any other
    command, which then has to end by itself); what is varied is chosen once it has failed, by its log.

    The record stays in ./ruleout/NAME: trials with their logs, FINDINGS.md, and what --resume needs.
    """
    asked = Asked(case_file, behind(ctx), chosen, resume, reference)
    if output is not None and not (dry_run and asked.command is not None):
        raise UsageError("--output writes the case of a command", "Use it with --dry-run and a command behind `--`.")
    if junit_file is not None:
        require_junit(junit_file)
    opened = asked.opened(by_hand, dry_run)
    case = opened.case
    budget = Budget(
        budget_trials or case.budget.trials,
        case.budget.minutes if budget_time is None else budget_time / 60,
        case.budget.disk,
    )
    if dry_run:
        if output is not None:
            write_new(output, opened.text)
        tell_plan(case, budget, as_json, opened.text if asked.command is not None else "")
        return 0
    logs = [given(case, log) for log in by_hand]
    told = [read_note(path, from_stdin() if path == "-" else None) for path in notes]
    folder = Folder.of(case, chosen)
    return conduct(
        case,
        opened.text,
        folder,
        budget,
        resume=resume,
        as_json=as_json,
        logs=logs,
        reduce=reduce,
        explain=explain,
        bare=opened.bare,
        notes=told,
        junit_file=junit_file,
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
    bare: bool = False,
    notes: Sequence[Notes] = (),
    junit_file: Path | None = None,
) -> int:
    """Run an investigation and tell its verdict; the exit status."""
    console = progress_console()
    for log in logs:
        console.print(f"  by hand  {log.told}", style="dim", markup=False, soft_wrap=True)
    with Progress(case, folder, budget, console, explain=explain) as progress:
        verdict = run_investigation(
            case,
            text,
            folder,
            LocalRunner(),
            progress,
            resume=resume,
            budget=budget,
            given=logs,
            reduce=reduce,
            bare=bare,
            notes=notes,
        )
        case = progress.case  # with the factors that were chosen on the way
    tell(case, verdict, folder, as_json)
    if junit_file is not None:
        write_verdict(junit_file, case, verdict)
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
    how = course(case, folder, read_journal(folder), verdict)
    write_whole(folder.report, page(case, verdict, how))
