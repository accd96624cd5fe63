"""From a verb to an exit status: errors become two lines, a Ctrl-C 130, and only a defect of ours a traceback."""

from __future__ import annotations

import sys
import traceback

import click

from ruleout import __version__
from ruleout.interfaces.cli.signals import hear, hear_no_more
from ruleout.interfaces.cli.streams import tell_error, tell_progress, tolerate_any_streams
from ruleout.interfaces.cli.verbs import Verbs
from ruleout.model.errors import RuleoutError

EXIT_DEFECT, EXIT_INTERRUPTED = 3, 130
_READING = frozenset({"diagnose", "audit", "rules", "status", "findings", "report", "issue", "export", "import"})
"""Verbs that only read what is there."""
AS_ORACLE = {2: 129}
"""`check` exits 128 and more without a result; 128 + 2 would read as interrupted."""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Interrupted(Exception):  # noqa: N818 - no error, and not click's to handle: it would print an empty line
    """A Ctrl-C that nobody below had something better to do with."""


class _Cli(Verbs):
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            hear_no_more()
            raise _Interrupted from None


@click.group(cls=_Cli, context_settings=CONTEXT)
@click.version_option(__version__, message="ruleout %(version)s")
def cli() -> None:
    """Trace a crash in large-language-model serving to its root cause, by controlled trials of the real engine.

    Exit status: 0 the job was done; 1 reproduced but not isolated (audit: an error was found); 2 usage or a bad file;
    3 a defect of ruleout; 4 something needed is missing; 5 the failure did not reproduce; 130 interrupted.
    """


def run(arguments: list[str]) -> int:
    """Run a command line; its exit status."""
    tolerate_any_streams()
    status_ = _run(arguments)
    if _verb(arguments) == "check" and status_ not in (0, 1, 125):
        # `git bisect run` takes 1 to 127 for an answer; what is no test result has to stop it.
        return status_ if status_ >= 128 else AS_ORACLE.get(status_, 128 + status_)
    return status_


def _run(arguments: list[str]) -> int:
    try:
        if not {"-h", "--help", "--version"} & set(arguments):
            _reap()
        if not arguments:
            tell_progress(cli.get_help(click.Context(cli, info_name="ruleout")))
            return 2
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
    except (_Interrupted, KeyboardInterrupt, click.Abort):
        hear_no_more()
        if sys.stderr.isatty():
            tell_progress("")  # behind the terminal's own ^C
        started = "What was started is stopped; what was learnt is kept."
        tell_error("interrupted", "Nothing was started." if _verb(arguments) in _READING else started)
        return EXIT_INTERRUPTED
    except FileNotFoundError as problem:
        where = problem.filename or "the current folder"
        tell_error(f"{where}: no longer there", "Change to a folder that exists, and try again.")
        return 4
    except OSError as problem:
        where = problem.filename or "the system"
        tell_error(f"{where}: {problem.strerror or problem}", "Make room or give permission there, and try again.")
        return 4
    except Exception as defect:
        traceback.print_exc()
        tell_error(f"a defect of ruleout: {type(defect).__name__}: {defect}", "Please report it with the lines above.")
        return EXIT_DEFECT


def _reap() -> None:
    """Stop what trials of dead commands left running."""
    from ruleout.investigation.running import reap_orphans, under_way

    if not under_way():
        return
    from ruleout.runners.local import LocalRunner

    for spool in reap_orphans(LocalRunner()):
        tell_progress(f"ruleout: stopped what a trial of a dead ruleout had left running ({spool})")


def _verb(arguments: list[str]) -> str:
    return next((argument for argument in arguments if not argument.startswith("-")), "")


def heed(arguments: list[str]) -> None:
    """Hear what interrupts; a verb that starts nothing has only to clean up then."""
    hear(patiently=_verb(arguments) in _READING)
