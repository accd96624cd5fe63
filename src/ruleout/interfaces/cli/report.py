"""`ruleout report`: report.html."""

from __future__ import annotations

from pathlib import Path

import click

from ruleout.interfaces.cli.investigate import folder_option
from ruleout.interfaces.cli.streams import tell_text
from ruleout.investigation.course import course
from ruleout.investigation.folder import write_whole
from ruleout.investigation.session import current_verdict, find, read_journal, stored_case
from ruleout.report.page import page


@click.command(short_help="Write report.html, one file for a browser.")
@click.argument("case_name", metavar="[CASE]", required=False)
@folder_option
def report(case_name: str | None, chosen: Path | None) -> int:
    """Write report.html of the investigation CASE anew: one file for a browser, no network needed; print its path."""
    folder = find(case_name, chosen)
    case = stored_case(folder)
    journal = read_journal(folder)
    verdict = current_verdict(case, journal)
    write_whole(folder.report, page(case, verdict, course(case, folder, journal, verdict)))
    tell_text(f"{folder.report}\n")
    return 0
