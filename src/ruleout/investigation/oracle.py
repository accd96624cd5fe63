"""One command, one answer: does this failure show here? What `git bisect run` asks at every commit."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ruleout.engines import engine_named, recognise
from ruleout.engines.making import cache_folder
from ruleout.investigation.folder import NO_ROOM, require_room
from ruleout.investigation.judging import fits
from ruleout.investigation.launching import Prepared, prepare
from ruleout.investigation.run import Run, read_run
from ruleout.model import Case, Configuration, Failure, FailureClass, MissingError, Mode, Stage, Target, UsageError
from ruleout.runners.base import Runner

UNTESTABLE_CODES = (125, 126, 127)
"""Exit codes with which a command says that it cannot be tested here: git's own, and a shell's "cannot run that"."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`clean`, `reproduced` or `untestable`, with the failure if there was one, and the reason in words."""

    result: str
    reason: str
    failure: Failure | None = None


def oracle_case(command: tuple[str, ...], case: Case | None) -> Case:
    """The case to check: the given one, at its baseline or with this command; or one made for the command alone."""
    if case is not None and command:
        return replace(case, command=command, factors=(), good=(), never=(), keep=Configuration())
    if case is not None:
        return case
    if not command:
        raise UsageError("nothing to check", "Give a command behind `--`, or a case by --case.")
    found = recognise(command)
    mode = Mode.JOB if found.engine == "command" else Mode.SERVE
    return Case("check", found.engine, found.command, env=found.env, mode=mode)


def parse_target(text: str) -> Target:
    """A target written CLASS or CLASS@STAGE. Raises UsageError."""
    word, _, stage = text.partition("@")
    try:
        return Target(FailureClass(word), Stage(stage) if stage else None)
    except ValueError:
        known = Stage if word in list(FailureClass) else FailureClass
        raise UsageError(
            f"--target {text}: {stage if known is Stage else word!r} is not known", f"Write one of {', '.join(known)}."
        ) from None


def check(case: Case, target: Target | None, repeat: int, runner: Runner) -> Answer:
    """Run the command up to `repeat` times, until the target shows.

    Raises:
        MissingError: the command cannot be launched at all; that is no answer about it.
        UsageError: the command cannot be handled.
    """
    engine = engine_named(case.engine)
    target = target or case.target
    answer = Answer("untestable", "never run")
    other: Answer | None = None
    for number in range(1, repeat + 1):
        with spooled() as spool:
            prepared = prepare(case, engine, case.baseline, number, spool, Path.cwd())
            require_room(spool)
            events = prepared.run(runner, lambda event: None)
            require_room(spool, NO_ROOM)
            answer = _answer(read_run(case, engine, prepared.requests, spool, events), prepared, target)
        if answer.result == "reproduced":
            return answer
        if answer.result == "untestable":
            other = other or answer
    return other or answer


def _answer(run: Run, prepared: Prepared, target: Target | None) -> Answer:
    if prepared.refused:
        raise MissingError(prepared.refused, "Then run the check again.")
    if run.broken_off:
        raise MissingError(f"the trial was broken off: {run.broken_off}", "Run the check again.")
    if run.failure is None:
        return Answer("clean", "it ended with 0" if not run.steps else "every probe passed")
    if prepared.exit_code in UNTESTABLE_CODES:
        return Answer("untestable", f"the command exited with {prepared.exit_code}", run.failure)
    if target is not None and not fits(run.failure, target):
        reason = f"another failure: {run.failure.class_}{run.failure.exposure.stage.inside}"
        return Answer("untestable", reason, run.failure)
    return Answer("reproduced", f"{run.failure.class_}{run.failure.exposure.stage.inside}", run.failure)


@contextmanager
def spooled() -> Iterator[Path]:
    """A folder for one trial, in the cache folder, gone afterwards."""
    root = cache_folder() / "checks"
    try:
        root.mkdir(parents=True, exist_ok=True)
        spool = Path(tempfile.mkdtemp(dir=root))
    except OSError as problem:
        raise MissingError(f"{root}: {problem.strerror}", "Make room, or set RULEOUT_CACHE_DIR.") from None
    try:
        yield spool
    finally:
        shutil.rmtree(spool, ignore_errors=True)
