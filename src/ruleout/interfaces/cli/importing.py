"""`ruleout import`: an investigation that was made elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from ruleout.interfaces.cli.investigate import folder_option, json_option, write_record
from ruleout.interfaces.cli.streams import tell_json
from ruleout.interfaces.cli.verdict import tell_verdict
from ruleout.investigation.unpacking import unpack
from ruleout.report.documents import verdict_document


@click.command("import", short_help="Unpack what `ruleout export` wrote.")
@click.argument("archive", metavar="ARCHIVE", type=click.Path(path_type=Path, dir_okay=False))
@folder_option
@json_option
def import_(archive: Path, chosen: Path | None, as_json: bool) -> int:
    """Unpack an ARCHIVE that `ruleout export` wrote into ./ruleout/NAME, and show what it came to.

    `status`, `findings`, `report` and `issue` work on it as on any other; it cannot be gone on with, and nothing that
    it names is run. An archive that is damaged, too large, or holds anything but an investigation is refused.
    """
    folder, case, verdict = unpack(archive, chosen, write_record)
    if as_json:
        tell_json(verdict_document(verdict, case.name, str(folder.path)))
    else:
        tell_verdict(case, verdict, folder)
    return 0
