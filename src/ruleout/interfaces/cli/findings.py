"""`ruleout findings`: FINDINGS.md."""

from __future__ import annotations

from pathlib import Path

import click

from ruleout.interfaces.cli.investigate import folder_option
from ruleout.interfaces.cli.streams import tell_text
from ruleout.investigation.folder import write_whole
from ruleout.investigation.session import current_verdict, find, read_journal, stored_case
from ruleout.report import findings as render


@click.command()
@click.argument("case_name", metavar="[CASE]", required=False)
@folder_option
def findings(case_name: str | None, chosen: Path | None) -> int:
    """Write FINDINGS.md of the investigation CASE anew, and print it."""
    folder = find(case_name, chosen)
    case = stored_case(folder)
    text = render(case, current_verdict(case, read_journal(folder)))
    write_whole(folder.findings, text)
    tell_text(text)
    return 0
