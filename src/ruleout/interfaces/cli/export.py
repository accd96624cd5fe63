"""`ruleout export`: an investigation as one file, without secrets."""

from __future__ import annotations

from pathlib import Path

import click

from ruleout.interfaces.cli.approval import replacements_document, tell_replaced
from ruleout.interfaces.cli.investigate import folder_option, json_option
from ruleout.interfaces.cli.streams import tell_json, tell_progress, tell_text
from ruleout.investigation.archiving import export as pack
from ruleout.investigation.session import find
from ruleout.model import UsageError

SCHEMA = "ruleout.exported/1"


@click.command()
@click.argument("case_name", metavar="[CASE]", required=False)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="The archive [./NAME.ruleout.zip]."
)
@folder_option
@json_option
def export(case_name: str | None, output: Path | None, chosen: Path | None, as_json: bool) -> int:
    """Pack the investigation CASE into one archive without secrets, for `ruleout import` elsewhere.

    Logs, events and the case are in it, with placeholders for keys, addresses, people, hosts and prompts; lines keep
    their numbers. What was replaced is listed, and nothing is sent.
    """
    folder = find(case_name, chosen)
    path = (output or Path(f"{folder.path.name}.ruleout.zip")).absolute()
    if path.exists():
        raise UsageError(f"{path} exists already", "Name another file with --output, or remove that one.")
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
