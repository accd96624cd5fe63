"""Verbs are imported when they are called: who asks for one should not wait for what the others need."""

from __future__ import annotations

from importlib import import_module

import click

VERBS = {
    "demo": "ruleout.interfaces.cli.demo",
    "diagnose": "ruleout.interfaces.cli.diagnose",
    "audit": "ruleout.interfaces.cli.audit",
    "rules": "ruleout.interfaces.cli.rules",
    "investigate": "ruleout.interfaces.cli.investigate",
    "trace": "ruleout.interfaces.cli.trace",
    "probe": "ruleout.interfaces.cli.probe",
    "check": "ruleout.interfaces.cli.check",
    "status": "ruleout.interfaces.cli.status",
    "mark": "ruleout.interfaces.cli.mark",
    "findings": "ruleout.interfaces.cli.findings",
    "report": "ruleout.interfaces.cli.report",
    "issue": "ruleout.interfaces.cli.issue",
    "export": "ruleout.interfaces.cli.export",
    "import": "ruleout.interfaces.cli.importing",
    "lab": "ruleout.interfaces.cli.lab",
}
"""Each verb's module, which has the command under the verb's name."""
_NAMES = {"import": "import_"}
"""Where that is one of Python's own words."""


class Verbs(click.Group):
    """A group whose commands are those of `VERBS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, in the order in which one meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A verb, imported now; None when there is none of that name."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(VERBS[cmd_name]), _NAMES.get(cmd_name, cmd_name))
        return command
