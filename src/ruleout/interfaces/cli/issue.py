"""`ruleout issue`: a bug report for the project that can mend it, written to a file and sent nowhere."""

from __future__ import annotations

from pathlib import Path

import click

from ruleout.interfaces.cli.approval import approved, replacements_document, tell_replaced
from ruleout.interfaces.cli.investigate import folder_option, json_option
from ruleout.interfaces.cli.outputs import require_free, write_new
from ruleout.interfaces.cli.streams import tell_json, tell_progress, tell_text
from ruleout.investigation.folder import write_whole
from ruleout.investigation.issuing import material
from ruleout.investigation.session import current_verdict, find, read_journal, stored_case
from ruleout.investigation.sharing import Sharer, replaced
from ruleout.model import Case, UsageError
from ruleout.model.issue import IssueMaterial
from ruleout.report.issue import LONGEST, TEMPLATES, body, title, written

SCHEMA = "ruleout.issue/1"


@click.command(short_help="Write a bug report in a project's own form.")
@click.argument("case_name", metavar="[CASE]", required=False)
@click.option("--for", "project", type=click.Choice(list(TEMPLATES)), help="Whose template to follow [the engine's].")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="The file [issue-PROJECT.md in its folder]."
)
@click.option("--yes", is_flag=True, help="Write the file without asking: you have read what would be in it.")
@folder_option
@json_option
def issue(
    case_name: str | None, project: str | None, output: Path | None, yes: bool, chosen: Path | None, as_json: bool
) -> int:
    """Write a bug report of the investigation CASE under the headings of a project's own template.

    It is printed first, without secrets, with a list of what was replaced; then it is asked whether to write it to a
    file. Nothing is ever sent. Without anybody to answer, nothing is written unless --yes is given.
    """
    folder = find(case_name, chosen)
    case, journal = stored_case(folder), read_journal(folder)
    project = project or _own(case)
    path = output or folder.path / f"issue-{project}.md"
    if yes:
        require_free(path)
    sharer = Sharer()
    verdict = current_verdict(case, journal)
    found = material(folder, case, verdict, sharer, None if journal.imported else journal.cwd)
    # as one text: what is known for a secret by its second half is replaced in the first
    heading, _, report = sharer.text(f"{title(project, found)}\n{body(project, found)}").partition("\n")
    text = written(heading, report)
    taken_out = replaced([text])
    if as_json:
        if yes:
            write_new(path, text)
        tell_json(
            {
                "schema": SCHEMA,
                "for": project,
                "template": TEMPLATES[project].address,
                "title": heading,
                "body": report,
                "replacements": replacements_document(taken_out),
                "file": str(path) if yes else None,
            }
        )
        return 0
    tell_text(text)
    tell_replaced(taken_out)
    for address in _known_there(project, found):
        tell_progress(f"It may be known there already: {address}")
    if len(report) > LONGEST:
        tell_progress(f"It has {len(report)} characters, and GitHub takes {LONGEST}: attach a part of it as a file.")
    wish = f"Replace {path}, which is there already?" if path.exists() else f"Write it to {path}?"
    if not (yes or approved(f"{wish} It is sent nowhere.")):
        tell_progress("Not written.")
        return 0
    write_whole(path.absolute(), text)
    tell_progress(f"Written to {path}; the template is at {TEMPLATES[project].address}")
    return 0


def _known_there(project: str, found: IssueMaterial) -> list[str]:
    """What the rules that match refer to in that project: who opens the same again is answered last."""
    home = "/".join(TEMPLATES[project].address.split("/")[:5])
    threads = tuple(f"{home}/{kind}/" for kind in ("issues", "pull", "discussions"))
    return [address for one in found.known for address in one.references if address.startswith(threads)]


def _own(case: Case) -> str:
    if case.engine not in TEMPLATES:
        raise UsageError(f"engine {case.engine}: no template is known", f"Give --for {'|'.join(TEMPLATES)}.")
    return case.engine
