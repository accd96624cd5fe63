"""Options that several verbs have."""

from __future__ import annotations

from pathlib import Path

import click

folder_option = click.option(
    "--dir",
    "chosen",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of the investigation [./ruleout/NAME].",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
