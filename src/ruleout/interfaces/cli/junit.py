"""`--junit FILE`: the answer of a verb for a CI that shows tests. It leaves the machine: without secrets."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from ruleout.investigation.folder import write_whole
from ruleout.investigation.oracle import Answer
from ruleout.investigation.sharing import Sharer
from ruleout.model import Case, Verdict
from ruleout.report.junit import Test, failed, junit, suite

junit_option = click.option(
    "--junit",
    "junit_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the result as JUnit XML, without secrets.",
)


def write_verdict(path: Path, case: Case, verdict: Verdict) -> None:
    """The trials of an investigation as tests."""
    sharer = Sharer()
    sharer.text(shlex.join(case.command))  # tells most secrets: they are known wherever they stand alone
    write_whole(path.absolute(), junit(case, verdict, sharer.text))


def write_answer(path: Path, case: Case, answer: Answer) -> None:
    """A command that was checked as the only test."""
    name = shlex.join(case.command)
    kind = {"reproduced": "failure", "untestable": "error"}.get(answer.result, "")
    test = failed(name, kind, answer.failure, answer.reason) if kind else Test(name)
    write_whole(path.absolute(), suite("ruleout check", [test], Sharer().text))
