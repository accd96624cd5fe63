"""What `--help` says on a terminal of 80 columns."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from ruleout.interfaces.cli.main import cli


@pytest.mark.parametrize("group", [(), ("rules",), ("lab",)])
def test_no_verb_is_told_in_half_a_sentence(group: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(cli, [*group, "--help"], terminal_width=80).output
    verbs = shown.partition("Commands:\n")[2].splitlines()
    assert len(verbs) > 1
    assert all(line.endswith(".") and not line.endswith("...") and len(line) <= 80 for line in verbs), shown
