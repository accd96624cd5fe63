"""`ruleout check`: one trial as an oracle for `git bisect run`."""

from __future__ import annotations

from pathlib import Path

import click

from ruleout.interfaces.cli.investigate import json_option
from ruleout.interfaces.cli.junit import junit_option, write_answer
from ruleout.interfaces.cli.output import answer_console
from ruleout.interfaces.cli.outputs import require_junit
from ruleout.interfaces.cli.streams import tell_json
from ruleout.investigation.casefile import read_case
from ruleout.investigation.oracle import check as ask
from ruleout.investigation.oracle import oracle_case, parse_target
from ruleout.model.codec import to_json
from ruleout.report import words
from ruleout.runners.local import LocalRunner

EXITS = {"clean": 0, "reproduced": 1, "untestable": 125}


@click.command(context_settings={"ignore_unknown_options": False}, short_help="Run COMMAND once, for `git bisect run`.")
@click.option(
    "--case", "case_file", type=click.Path(path_type=Path), help="Take engine, probes and target from a case."
)
@click.option("--target", metavar="CLASS[@STAGE]", help="The failure to look for; any other is untestable.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, show_default=True, help="Runs until it shows.")
@junit_option
@json_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def check(
    case_file: Path | None,
    target: str | None,
    repeat: int,
    junit_file: Path | None,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Run COMMAND once (behind `--`) and say by the exit status whether it fails: for `git bisect run`.

    Exit status: 0 clean; 1 reproduced (the target, if one is given); 125 untestable, or another failure; 128 and more:
    no result (129 usage, 130 interrupted, 131 a defect of ruleout, 132 something is missing).
    """
    if junit_file is not None:
        require_junit(junit_file)
    case = oracle_case(command, read_case(case_file) if case_file else None)
    answer = ask(case, parse_target(target) if target else None, repeat, LocalRunner())
    if junit_file is not None:
        write_answer(junit_file, case, answer)
    if as_json:
        failure = None if answer.failure is None else to_json(answer.failure)
        tell_json({"schema": "ruleout.check/1", "result": answer.result, "reason": answer.reason, "failure": failure})
    else:
        detail = f": {words.failure(answer.failure)}" if answer.failure else ""
        answer_console().print(f"{answer.result}: {answer.reason}{detail}", markup=False, soft_wrap=True)
    return EXITS[answer.result]
