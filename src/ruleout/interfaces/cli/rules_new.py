"""`ruleout rules new`: the first draft of a rule, from an investigation."""

from __future__ import annotations

from pathlib import Path

import click

from ruleout.interfaces.cli.streams import tell_progress, tell_text


@click.command(short_help="Draft a rule from an investigation.")
@click.option("--from", "case_name", metavar="CASE", required=True, help="An investigation: its case, name or folder.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write it there instead of printing it."
)
@click.option(
    "--dir", "chosen", type=click.Path(path_type=Path, file_okay=False), help="The folder of the investigation."
)
def new(case_name: str, output: Path | None, chosen: Path | None) -> int:
    """Draft a rule of the catalogue from the investigation CASE, with examples from its logs, without secrets.

    It passes `ruleout rules test` as it is; what only you can know is marked by comments.
    """
    from ruleout.diagnosis.catalogue import catalogue
    from ruleout.diagnosis.scaffold import scaffold
    from ruleout.interfaces.cli.approval import tell_replaced
    from ruleout.interfaces.cli.outputs import require_free, write_new
    from ruleout.investigation.ruling import traced
    from ruleout.investigation.session import current_verdict, find, read_journal, stored_case
    from ruleout.investigation.sharing import Sharer, replaced
    from ruleout.model import Suspicion

    if output is not None:
        require_free(output)
    folder = find(case_name, chosen)
    case, journal = stored_case(folder), read_journal(folder)
    suspicion = journal.suspicion or Suspicion()
    text = scaffold(traced(folder, case, current_verdict(case, journal), suspicion, Sharer()))
    tell_replaced(replaced([text]))
    if known := {suspect.rule for suspect in suspicion.suspects} & {rule.id for rule in catalogue()}:
        tell_progress(
            f"Rules that match its log already, which may need no more than an example: {', '.join(sorted(known))}"
        )
    if output is None:
        tell_text(text)
        return 0
    write_new(output, text)
    tell_progress(f"Written to {output}; try it: ruleout rules test {output}")
    return 0
