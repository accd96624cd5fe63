"""`ruleout findings`: FINDINGS.md, written anew; or what is read in one, and in notes of other people."""

from __future__ import annotations

import re
from pathlib import Path

import click

from ruleout.interfaces.cli.investigate import folder_option, json_option
from ruleout.interfaces.cli.notes import tell_notes
from ruleout.interfaces.cli.output import answer_console
from ruleout.interfaces.cli.streams import from_stdin, tell_json, tell_text
from ruleout.investigation.casefile import read_case
from ruleout.investigation.folder import write_whole
from ruleout.investigation.noted import noted, read_note
from ruleout.investigation.session import current_verdict, find, read_journal, stored_case
from ruleout.model import Case, UsageError
from ruleout.report.findings import findings as render
from ruleout.report.notes import notes_document, secretless

_CASES = (".yaml", ".yml")
_KEYS = re.compile(r"^(?:command|factors) *:", re.MULTILINE)
"""What a case file has, and notes that are kept as YAML have not."""
_TEXTS = (".md", ".txt", ".org", ".rst", ".csv", ".log")


@click.command(short_help="Write FINDINGS.md, or read it and notes of others.")
@click.argument("names", metavar="[CASE | NOTES…]", nargs=-1)
@click.option("--case", "case_file", metavar="CASE", help="Say of the trials in NOTES which of them CASE can take.")
@folder_option
@json_option
def findings(names: tuple[str, ...], case_file: str | None, chosen: Path | None, as_json: bool) -> int:
    """Write FINDINGS.md of the investigation CASE anew, and print it.

    Or read NOTES: a FINDINGS.md, or the notes of a person in whatever form (tables, lists, headings, prose, a chat; `-`
    is standard input). What they tell of trials is shown with its line, and what of them could not be used.
    `ruleout investigate … --notes NOTES` takes these trials as first evidence.
    """
    if names and all(name == "-" or _is_notes(name) for name in names):
        return _read(names, case_file, chosen, as_json)
    missing = next((name for name in names if not _is_notes(name)), "")
    if len(names) > 1 or Path(missing).suffix in _TEXTS:
        raise UsageError(f"{missing}: no such notes", "Name files with notes, or one investigation.")
    if case_file is not None or as_json:
        option = "--case" if case_file is not None else "--json"
        raise UsageError(f"{option} is for notes, and none are named", "Name the files with the notes.")
    return _write(names[0] if names else None, chosen)


def _is_notes(name: str) -> bool:
    path = Path(name)
    if not path.is_file():
        return False
    return path.suffix not in _CASES or not _KEYS.search(path.read_text(encoding="utf-8", errors="replace"))


def _write(case_name: str | None, chosen: Path | None) -> int:
    folder = find(case_name, chosen)
    case = stored_case(folder)
    text = render(case, current_verdict(case, read_journal(folder)))
    tell_text(text)  # first: whoever may not write there can read it all the same
    write_whole(folder.findings, text)
    return 0


def _read(names: tuple[str, ...], case_file: str | None, chosen: Path | None, as_json: bool) -> int:
    """Show what notes tell. Of several in JSON, the document is one line each."""
    case = _case(case_file, chosen) if case_file is not None else None
    documents = []
    console = answer_console()
    for name in names:
        notes = read_note(name, from_stdin() if name == "-" else None)
        left = tuple(noted(case, notes)[1]) if case is not None else None
        notes = secretless(notes)
        if as_json:
            documents.append(notes_document(notes, left))
        else:
            tell_notes(console, notes, left)
    if as_json:
        tell_json(documents[0] if len(documents) == 1 else {"schema": documents[0]["schema"], "notes": documents})
    return 0


def _case(name: str, chosen: Path | None) -> Case:
    path = Path(name)
    return read_case(path) if path.is_file() else stored_case(find(name, chosen))
