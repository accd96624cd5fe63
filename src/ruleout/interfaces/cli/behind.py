"""Commands behind `--`: options and files stand before it, and nothing of what stands behind it is ours."""

from __future__ import annotations

import click

_COMMAND = "ruleout.command"


class BeforeCommand(click.Command):
    """A verb that takes a command behind `--`. `operands` is how its usage names what stands before."""

    operands = "CASE.yaml | -- COMMAND…"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keeps what stands behind `--` from click."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage as one types it."""
        return ["[OPTIONS]", self.operands]


def behind(ctx: click.Context) -> tuple[str, ...] | None:
    """The command behind `--`; None where there is no `--`."""
    command: tuple[str, ...] | None = ctx.meta.get(_COMMAND)
    return command
