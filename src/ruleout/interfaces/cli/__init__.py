"""The command line: one file per verb. The only place that ends the process, and the only one that prints."""

from __future__ import annotations

import signal
import sys


def main(arguments: list[str] | None = None) -> None:
    """Run a command line and exit.

    What the verbs need takes a moment to import. Until then there is nobody to tell a Ctrl-C nicely, so it ends the
    process as a signal does; and once there is an exit status, nothing keeps it from being given.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ruleout.interfaces.cli.main import heed, run
    from ruleout.interfaces.cli.signals import hear_no_more

    told = sys.argv[1:] if arguments is None else arguments
    heed(told)
    status = run(told)
    hear_no_more()
    exec("")  # noqa: S102 - CPython remembers an interrupt within any `exec`, as dataclasses have, and dies of it at last
    sys.exit(status)
