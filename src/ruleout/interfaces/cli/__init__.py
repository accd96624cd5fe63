"""The command line: one file per verb. The only place that ends the process, and the only one that prints."""

from __future__ import annotations

import signal
import sys


def main(arguments: list[str] | None = None) -> None:
    """Run a command line and exit.

    What the verbs need takes a moment to import. Until then there is nobody to tell a Ctrl-C nicely, so it ends the
    process as a signal does; and once there is an exit status, nothing keeps it from being given.
    """
    heard = signal.getsignal(signal.SIGINT)
    if heard is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ruleout.interfaces.cli.main import run

    signal.signal(signal.SIGINT, heard)
    status = run(sys.argv[1:] if arguments is None else arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(status)
