"""`ruleout diagnose`: what a log says, and why most likely, without any experiment."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from ruleout.model.errors import UsageError


@click.command()
@click.argument("logs", metavar="LOG…", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("--no-rules", "generic", is_flag=True, help="Conclude without the catalogue of known failures.")
def diagnose(logs: tuple[str, ...], as_json: bool, generic: bool) -> int:
    """Read the LOGs of one run: what ran, how far it came, what failed first, why most likely, what to try next.

    A LOG is a file (plain or gz), `-` for standard input, or a folder of rank logs; a pasted excerpt of ten lines will
    do. All that are given count as one run. Nothing is launched and nothing leaves this machine.
    """
    from ruleout.diagnosis.diagnose import diagnosed
    from ruleout.reading.diagnose import Stream, read_run
    from ruleout.report.diagnosis import diagnosis_document

    sources = [Stream("standard input", sys.stdin.buffer) if log == "-" else _path(log) for log in _once(logs)]
    try:
        run = read_run(sources)
    except OSError as problem:
        name = problem.filename or ", ".join(logs)
        raise UsageError(f"{name}: {problem.strerror or problem}", "Name a log that can be read.") from None
    except ValueError:
        raise UsageError(f"{', '.join(logs)}: no log in there", "Name the log files themselves.") from None
    diagnosis = diagnosed(run.diagnosis, run.near, run.lines, rules=not generic)
    if as_json:
        from ruleout.interfaces.cli.streams import tell_json

        tell_json(diagnosis_document(diagnosis))
    else:
        from ruleout.interfaces.cli.diagnosis import tell_diagnosis

        tell_diagnosis(diagnosis)
    return 0


def _once(logs: Iterable[str]) -> list[str]:
    """Each log once: a file that is named twice is still one."""
    return list(dict.fromkeys(logs))


def _path(log: str) -> Path:
    path = Path(log)
    if not path.exists():
        raise UsageError(f"{log}: no such file", "Name a log, a folder of logs, or - for standard input.")
    return path
