"""`ruleout diagnose`: what a log says, and why most likely, without any experiment."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ruleout.model.errors import UsageError

if TYPE_CHECKING:
    from ruleout.model.story import Story
    from ruleout.reading.diagnose import Run, Stream


@click.command(short_help="Read LOGs: what failed first, why most likely, what to try.")
@click.argument("logs", metavar="LOG…", nargs=-1, required=True)
@click.option("--against", multiple=True, metavar="GOOD_LOG", help="The log of a run that served well. Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("--no-rules", "generic", is_flag=True, help="Conclude without the catalogue of known failures.")
def diagnose(logs: tuple[str, ...], against: tuple[str, ...], as_json: bool, generic: bool) -> int:
    """Read LOGs: what ran, how far it came, what failed first, why most likely, what to try next.

    A LOG is a file (plain, gz or xz), `-` for standard input, or a folder of rank logs; a pasted excerpt of ten lines
    will do. Several are several runs of one story, unless they are the rank logs of one run: then it also says what was
    varied and what never was. Nothing is launched and nothing leaves this machine.
    """
    from ruleout.report.diagnosis import diagnosis_document
    from ruleout.report.secretless import secretless

    found, copies = _read(logs)
    goods: list[Run] = []
    if against:
        from ruleout.interfaces.cli.story import good_runs

        goods = good_runs(_read(against)[0], found)
    story: Story | None = None
    if len(found) > 1 or goods or copies:
        from ruleout.diagnosis.story import told
        from ruleout.engines.levels import levels_of

        diagnosis, story = told(found, goods, levels_of, copies=copies, rules=not generic)
    else:
        from ruleout.diagnosis.diagnose import diagnosed

        diagnosis = diagnosed(found[0].diagnosis, found[0].near, found[0].lines, rules=not generic)
    diagnosis, story = secretless(diagnosis, story)
    if as_json:
        from ruleout.interfaces.cli.streams import tell_json

        tell_json(diagnosis_document(diagnosis, story))
    else:
        from ruleout.interfaces.cli.diagnosis import tell_diagnosis

        tell_diagnosis(diagnosis, story)
    return 0


def _read(logs: Iterable[str]) -> tuple[Sequence[Run], Sequence[tuple[str, str]]]:
    """The runs whose logs these are, and which logs are copies of others."""
    from ruleout.reading.runs import read_runs

    try:
        read = read_runs([_input() if log == "-" else _path(log) for log in _once(logs)])
    except OSError as problem:
        name = problem.filename or ", ".join(logs)
        raise UsageError(f"{name}: {problem.strerror or problem}", "Name a log that can be read.") from None
    except ValueError:
        raise UsageError(f"{', '.join(logs)}: no log in there", "Name the log files themselves.") from None
    return read.runs, read.copies


def _once(logs: Iterable[str]) -> list[str]:
    """Each log once: a file that is named twice, however it is spelled, is still one."""
    return list(
        {os.path.realpath(log) if log not in ("-", "") else log: log for log in reversed(tuple(logs))}.values()
    )[::-1]


_NAMES = "Name a log, a folder of logs, or - for standard input."


def _input() -> Stream:
    """Standard input, which may be closed, or come from a device that never ends."""
    from ruleout.reading.diagnose import Stream

    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("standard input is closed", _NAMES)
    try:
        number = sys.stdin.fileno()
    except (OSError, ValueError):  # no file of the system's
        return Stream("standard input", sys.stdin.buffer)
    if not os.isatty(number):
        _refuse_devices("standard input", os.fstat(number))
    return Stream("standard input", sys.stdin.buffer)


def _path(log: str) -> Path | Stream:
    path = Path(log)
    if not log:
        raise UsageError("the name of a log is empty", _NAMES)
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{log}: no such file", _NAMES) from None
    except OSError as problem:
        raise UsageError(f"{log}: {problem.strerror or problem}", "Name a log that can be read.") from None
    except ValueError:
        raise UsageError(f"{log}: not the name of a file", _NAMES) from None
    _refuse_devices(log, found)
    if stat.S_ISFIFO(found.st_mode):
        from ruleout.interfaces.cli.pipes import piped

        return piped(path)
    return path


def _refuse_devices(name: str, found: os.stat_result) -> None:
    """A device may have no end. The one that is always empty is as good as an empty file."""
    device = stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode)
    if device and found.st_rdev != Path(os.devnull).stat().st_rdev:
        raise UsageError(f"{name}: a device, not a log", _NAMES)
