"""One launch of a deployment with a tracer in its processes: the requests are sent, then sent again while they tell.

What the first pass finds, it finds in the outputs of modules; only a second pass through the same module, by the same
request in the same process, can name the operation. So all requests are sent twice, and the launch is ended as soon as
there is nothing left to learn from it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ruleout.engines import Engine
from ruleout.investigation.folder import require_room
from ruleout.investigation.launching import Prepared, prepare
from ruleout.investigation.run import LOG, Run, read_run
from ruleout.investigation.tracing.watch import Enough, Watch
from ruleout.investigation.whole import parents
from ruleout.model import Case, MissingError, UsageError
from ruleout.numerics.starting import TraceMode, carry, records_folder
from ruleout.runners.base import Event, Runner, read_events

CACHE = "vllm-cache"


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch that is over.

    Attributes:
        spool: its folder, with its log and its records.
        case: as it was launched, the tracer's variables included.
    """

    spool: Path
    case: Case
    run: Run
    events: tuple[Event, ...]

    @property
    def log(self) -> Path:
        """What it printed."""
        return self.spool / LOG

    @property
    def records(self) -> Path:
        """The folder of what the tracer wrote."""
        return records_folder(self.spool)


@dataclass(frozen=True, slots=True)
class Tracer:
    """What is put into the processes of a launch.

    Attributes:
        record: statistics of every call are kept.
        arm: the module whose operations are watched from the first call on, `*` for all; empty: where it is born.
    """

    record: bool = False
    arm: str = ""

    def on(self, case: Case, spool: Path) -> Case:
        """The case with the tracer in its environment. What it had on PYTHONPATH stays there, behind the tracer.

        Raises MissingError when its files cannot be written, UsageError when PYTHONPATH cannot name them.
        """
        if os.pathsep in str(spool):
            raise UsageError(f"{spool}: PYTHONPATH cannot hold a folder with {os.pathsep!r}", "Name another by --dir.")
        before = case.env.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        mode = TraceMode.RECORD if self.record else TraceMode.WATCH
        try:
            variables = carry(spool, mode, self.arm, path=before)
        except OSError as problem:
            raise MissingError(f"{spool}: {problem.strerror}", "Make room, or name another with --dir.") from None
        return replace(case, env={**case.env, **variables})


def launch(
    case: Case,
    engine: Engine,
    number: int,
    spool: Path,
    cwd: Path,
    tracer: Tracer,
    runner: Runner,
    on_event: Callable[[Event], None],
) -> Launched:
    """Launch a case with a tracer, ask it, and ask it again.

    Raises:
        MissingError: it cannot be launched, or there is no room.
        UsageError: the command cannot be handled.
    """
    usual = len(engine.requests(case, case.baseline))
    with parents(spool):
        try:
            case = tracer.on(case, spool)
            require_room(spool)
        except MissingError:
            shutil.rmtree(spool, ignore_errors=True)
            raise
        prepared = _asked_again(prepare(case, engine, case.baseline, number, spool, cwd))
        watch = Watch(records_folder(spool), usual, tracer.record, prepared.requests, on_event)
        try:
            events = prepared.run(runner, watch)
        except Enough:
            events = prepared.events = _ended_by_us(read_events(spool / "events.jsonl"))
        if prepared.refused:
            shutil.rmtree(spool, ignore_errors=True)
            raise MissingError(prepared.refused, "Then trace it again.")
    asked = tuple(request for request in prepared.requests if request.step <= watch.last) if watch.enough else None
    run = read_run(case, engine, prepared.requests if asked is None else asked, spool, events)
    return Launched(spool, case, run, tuple(events))


def _asked_again(prepared: Prepared) -> Prepared:
    """The trial with all of its requests twice."""
    probes = prepared.document["probes"]
    steps = len(probes)
    again = [{**probe, "step": probe["step"] + steps, "name": f"{probe['name']}, again"} for probe in probes]
    requests = [replace(one, step=one.step + steps, name=f"{one.name}, again") for one in prepared.requests]
    return Prepared(
        prepared.spool,
        prepared.token,
        (*prepared.requests, *requests),
        {**prepared.document, "probes": [*probes, *again]},
    )


def _ended_by_us(events: Sequence[Event]) -> list[Event]:
    """The events of a launch that was ended since nothing was left to learn: to its reader, it was done."""
    return [{**event, "reason": "done", "detail": ""} if event["kind"] == "end" else event for event in events]


def clear(launched: Launched) -> None:
    """Remove what the launch needed and nobody reads: the engine's own cache of compiled code."""
    shutil.rmtree(launched.spool / CACHE, ignore_errors=True)
