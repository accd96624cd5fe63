"""From a verb to an exit status: errors become two lines, a Ctrl-C 130, and only a defect of ours a traceback."""

from __future__ import annotations

import contextlib
import signal
import sys
from types import FrameType

import click

from ruleout import __version__
from ruleout.interfaces.cli.verbs import Verbs
from ruleout.model.errors import RuleoutError

EXIT_INTERRUPTED = 130

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=Verbs, context_settings=CONTEXT)
@click.version_option(__version__, message="ruleout %(version)s")
def cli() -> None:
    """Trace a crash in large-language-model serving to its root cause, by controlled trials of the real engine.

    Exit status: 0 the job was done; 1 reproduced but not isolated; 2 usage or a bad file; 3 a defect of ruleout;
    4 something needed is missing; 5 the failure did not reproduce; 130 interrupted.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run a command line and exit."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run a command line; its exit status."""
    signal.signal(signal.SIGTERM, _as_interrupt)
    oracle = next((a for a in arguments if not a.startswith("-")), "") == "check"
    status_ = _run(arguments)
    if oracle and status_ not in (0, 1, 125):
        # `git bisect run` takes 1 to 127 for an answer; what is no test result has to stop it.
        return status_ if status_ >= 128 else 128 + status_
    return status_


def _run(arguments: list[str]) -> int:
    try:
        if not {"-h", "--help", "--version"} & set(arguments):
            _reap()
        result = cli.main(arguments, prog_name="ruleout", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except RuleoutError as problem:
        tell_error(problem.what, problem.remedy)
        return problem.exit_status
    except click.UsageError as problem:
        where = problem.ctx.command_path if problem.ctx else "ruleout"
        tell_error(problem.format_message().rstrip("."), f"See `{where} --help`.")
        return 2
    except click.ClickException as problem:
        tell_error(problem.format_message(), "See `ruleout --help`.")
        return 2
    except (KeyboardInterrupt, click.Abort):
        tell_error("interrupted", "What was started is stopped; what was learnt is kept.")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _quiet_stdout()
        return 0
    except OSError as problem:
        tell_error(
            f"{problem.filename or 'system'}: {problem.strerror or problem}", "Make room or give permission there."
        )
        return 4


def _reap() -> None:
    """Stop what trials of dead commands left running."""
    from ruleout.investigation.running import reap_orphans
    from ruleout.runners.local import LocalRunner

    for spool in reap_orphans(LocalRunner()):
        click.echo(f"ruleout: stopped what a trial of a dead ruleout had left running ({spool})", err=True)


def tell_error(what: str, remedy: str) -> None:
    """An error in two lines."""
    from ruleout.interfaces.cli import output

    output.tell_error(what, remedy)


def _as_interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM is handled as Ctrl-C is: stop what was started, keep what was learnt."""
    raise KeyboardInterrupt


def _quiet_stdout() -> None:
    """The reader of our output has gone; Python's own flush at exit must not complain about it."""
    with contextlib.suppress(OSError):
        sys.stdout.close()
