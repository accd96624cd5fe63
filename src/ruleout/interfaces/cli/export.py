"""`ruleout export`: an investigation as one file, without secrets."""

from __future__ import annotations

from pathlib import Path

import click

from ruleout.interfaces.cli.approval import replacements_document, tell_replaced
from ruleout.interfaces.cli.investigate import folder_option, json_option
from ruleout.interfaces.cli.junit import write_verdict
from ruleout.interfaces.cli.outputs import require_free, require_junit
from ruleout.interfaces.cli.streams import tell_json, tell_progress, tell_text
from ruleout.investigation.archiving import export as pack
from ruleout.investigation.session import current_verdict, find, read_journal, stored_case
from ruleout.model import UsageError

SCHEMA = "ruleout.exported/1"


@click.command(short_help="Pack an investigation without secrets.")
@click.argument("case_name", metavar="[CASE]", required=False)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="The archive [./NAME.ruleout.zip]."
)
@click.option(
    "--junit",
    "junit_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Instead of an archive: its trials as JUnit XML.",
)
@folder_option
@json_option
def export(
    case_name: str | None, output: Path | None, junit_file: Path | None, chosen: Path | None, as_json: bool
) -> int:
    """Pack the investigation CASE into one archive without secrets, for `ruleout import` elsewhere.

    Logs, events and the case are in it, with placeholders for keys, addresses, people, hosts and prompts; lines keep
    their numbers. What was replaced is listed, and nothing is sent.
    """
    folder = find(case_name, chosen)
    if junit_file is not None:
        if output is not None or as_json:
            raise UsageError("--junit writes no archive", "Leave out --output and --json, or --junit.")
        require_junit(junit_file)
        case = stored_case(folder)
        write_verdict(junit_file, case, current_verdict(case, read_journal(folder)))
        tell_text(f"{junit_file}\n")
        return 0
    path = (output or Path(f"{folder.path.name}.ruleout.zip")).absolute()
    require_free(path)
    done = pack(folder, path)
    if as_json:
        left_out = [{"file": name, "why": why} for name, why in done.left_out]
        told = replacements_document(done.replaced)
        document = {"schema": SCHEMA, "file": str(path), "files": done.files, "replacements": told}
        tell_json({**document, "left_out": left_out})
        return 0
    tell_replaced(done.replaced)
    for name, why in done.left_out:
        tell_progress(f"Left out: {name} ({why})")
    tell_text(f"{path}\n")
    return 0
