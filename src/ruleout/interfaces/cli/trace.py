"""`ruleout trace`: where the first number went bad, inside of the engine's own processes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from ruleout.interfaces.cli.behind import BeforeCommand, behind
from ruleout.interfaces.cli.investigate import json_option
from ruleout.interfaces.cli.streams import tell_json, tell_progress
from ruleout.interfaces.cli.tracing import tell_trace
from ruleout.investigation.bare import bare_case
from ruleout.investigation.casefile import read_case
from ruleout.investigation.folder import HOME, write_whole
from ruleout.investigation.tracing.trace import Wishes, next_folder, trace_case
from ruleout.model import Case, UsageError
from ruleout.model.traced import Found
from ruleout.report.trace import trace_document
from ruleout.runners.local import LocalRunner

EXITS = {Found.OPERATION: 0, Found.MODULE: 0, Found.WEIGHTS: 0, Found.FAILURE: 1, Found.NOTHING: 5}


class _Trace(BeforeCommand):
    operands = "-- COMMAND…"


@click.command(cls=_Trace, short_help="Find where finite numbers turn into NaN or Inf.")
@click.option("--record", is_flag=True, help="Keep statistics of every tensor that goes into or out of a module.")
@click.option(
    "--keep-graphs",
    is_flag=True,
    help="Leave CUDA graphs and compiled code as they are; they hide modules.",
)
@click.option(
    "--case", "case_file", type=click.Path(path_type=Path), help="Take the command, probes and readiness of a case."
)
@click.option(
    "--dir",
    "chosen",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of the trace [./ruleout/NAME/traces/0001].",
)
@json_option
@click.pass_context
def trace(
    ctx: click.Context, record: bool, keep_graphs: bool, case_file: Path | None, chosen: Path | None, as_json: bool
) -> int:
    """Launch COMMAND with a tracer in its processes and say where finite numbers became NaN or infinite.

    The phase, step, rank, module and operation are named, or the weight that brought it along; or that the command
    fails without any bad number; or that nothing failed. The engine's installation is not touched. Its usual requests
    are sent, and sent again; where the first bad number ends the engine, it is launched once more.

    Exit status: 0 a module, an operation or a weight was named; 1 it failed, and no number was bad; 5 nothing failed;
    4 no process with the model could be traced, with the reason.
    """
    case = _case(behind(ctx), case_file)
    folder = chosen.absolute() if chosen is not None else next_folder(Path(HOME).absolute() / case.name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists already", "Name another folder with --dir.")
    found = trace_case(case, folder, LocalRunner(), Wishes(record, keep_graphs), tell_progress)
    document = trace_document(found)
    write_whole(folder / "trace.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    if as_json:
        tell_json(document)
    else:
        tell_trace(found, _from_here(folder))
    return EXITS[found.found]


def _case(command: tuple[str, ...] | None, case_file: Path | None) -> Case:
    if command and case_file:
        raise UsageError("both a case and a command are given", "Give one: the case file names a command itself.")
    if case_file is not None:
        return read_case(case_file)
    if not command:
        raise UsageError("nothing to trace", "Give a command behind `--`, or a case by --case.")
    return bare_case(command)


def _from_here(folder: Path) -> str:
    return os.path.relpath(folder) if folder.is_relative_to(Path.cwd()) else str(folder)
