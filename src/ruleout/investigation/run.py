"""One run of the deployment, read: what failed first, when, and how far it came. Nothing is compared to a target here.

The log and the client each see half of it. Where the log names a class it is the class; what a client saw is kept
beside it, because "HTTP 200 and nothing in it" is what the person with the broken server knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any

from ruleout.engines import Engine, Request
from ruleout.investigation.answers import judge_answer
from ruleout.investigation.evidence import gathered
from ruleout.investigation.faults import Fault
from ruleout.investigation.observing import KILLED, killed_for_memory, observed
from ruleout.model import Case, Evidence, Exposure, Failure, FailureClass, Mode, Observation, Stage
from ruleout.reading import LogFailure, Reading, read_log, signature

LOG = "server.log"
BROKEN_OFF = ("lease_lost", "interrupted", "refused", "failed", "reaped")
"""Ends that say nothing about the deployment: they are ours, or the host's."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one launch came to.

    Attributes:
        failure: the first failure; None when nothing failed.
        reached: the furthest stage, by the run's own sequence.
        sequence: the stages in the order in which they began.
        steps: how many probe steps were answered rightly before anything failed.
        broken_off: why the run says nothing about the deployment; empty when it does.
        minutes: what it took, or what the command said it cost.
        observed: what was seen besides the log and the answers, if it failed.
    """

    failure: Failure | None
    reached: Stage
    sequence: tuple[Stage, ...]
    steps: int
    broken_off: str
    minutes: float
    observed: tuple[Observation, ...] = ()


Events = Sequence[Mapping[str, Any]]


def stage_patterns(case: Case, engine: Engine) -> dict[Stage, str]:
    """The engine's regexes for stages; the case's are added and win."""
    return {**engine.stages, **{Stage(name): pattern for name, pattern in case.stages.items()}}


def read_run(case: Case, engine: Engine, requests: Sequence[Request], spool: Path, events: Events) -> Run:
    """Read what the agent recorded of a run."""
    return _RunReader(case, engine, requests, spool, events).run()


class _RunReader:
    def __init__(self, case: Case, engine: Engine, requests: Sequence[Request], spool: Path, events: Events) -> None:
        self.case, self.engine, self.events = case, engine, events
        self.requests = {request.step: request for request in requests}
        log = spool / LOG
        self.log = read_log(log, stage_patterns(case, engine), source=LOG) if log.is_file() else _no_log()
        self.end = self._last("end") or {"reason": "failed", "detail": "no end was recorded"}
        self.ready = self._last("ready") is not None
        self.seen = gathered(events)
        self.killed = killed_for_memory(self.seen, events)

    def run(self) -> Run:
        broken_off = ""
        failure, steps = None, 0
        if self.end["reason"] in BROKEN_OFF:
            broken_off = str(self.end.get("detail") or self.end["reason"])
        elif self._cut_short():
            broken_off = str(self.end["detail"])
        elif self.case.mode is Mode.JOB:
            failure = self._job()
        elif not self.ready:
            failure = self._start()
        else:
            failure, steps = self._probes()
        # A server shuts down because it is told to; a job that says so is on its way out by itself.
        ours = () if self.case.mode is Mode.JOB else (Stage.SHUTDOWN,)
        sequence = [m.stage for m in self.log.stages if isinstance(m.stage, Stage) and m.stage not in ours]
        if self.ready and Stage.READY not in sequence:
            sequence.append(Stage.READY)
        if steps and any(_is_completion(request) for request in self.requests.values()):
            sequence.append(Stage.DECODE)
        if failure is not None and failure.exposure.step:
            sequence.append(failure.exposure.stage)
        reached = sequence[-1] if sequence else Stage.UNKNOWN
        seen = observed(failure.class_, self.seen, self.killed) if failure is not None else ()
        return Run(failure, reached, tuple(sequence), steps, broken_off, self._minutes(), seen)

    def _cut_short(self) -> bool:
        """The record is not whole: the log came to its limit, or there was no room for the events."""
        detail = str(self.end.get("detail"))
        return "events.jsonl" in detail or (self.end["reason"] == "limit" and "log" in detail)

    # -- what can fail -----------------------------------------------------------------------------------------

    def _job(self) -> Failure | None:
        if self.end["reason"] == "limit":
            return self._failure(Fault(FailureClass.HANG, f"did not end: {self.end.get('detail', '')}"), 0)
        left = self._last("exit")
        fault = None if left is None else _exit_fault(left)
        return None if fault is None else self._failure(fault, 0)

    def _start(self) -> Failure:
        left = self._last("exit")
        if self.end["reason"] == "exit" and left is not None:
            fault = _exit_fault(left) or Fault(FailureClass.OTHER, "exited with code 0 before it was ready")
        else:
            seconds = self.case.ready.timeout
            fault = Fault(FailureClass.HANG, f"not ready after {seconds:g} s")
        return self._failure(fault, 0)

    def _probes(self) -> tuple[Failure | None, int]:
        passed = 0
        for step in sorted(self.requests):
            request = self.requests[step]
            answers = [e for e in self.events if e["kind"] == "probe" and e.get("step") == step]
            judged = [(judge_answer(e, request, self.engine), int(e.get("request") or 1)) for e in answers]
            faults = [(fault, number) for fault, number in judged if fault is not None]
            if faults:
                return self._failure(faults[0][0], step, request, _how_many(request, [n for _, n in faults])), passed
            if len(answers) < request.requests:
                left = self._last("exit")
                text = "the server was gone" if left is None else f"the server {_left(left)}"
                return self._failure(Fault(FailureClass.OTHER, text), step, request), passed
            passed += 1
        return None, passed

    def _failure(self, fault: Fault, step: int, request: Request | None = None, how_many: str = "") -> Failure:
        """The failure that a fault betrays: the log's own, where it has one.

        `how_many` of the step's requests failed is for people: it depends on how many were sent.
        """
        told: LogFailure | None = self.log.failure
        exposure = Exposure(self._stage(told, step, request), step)
        client = f"{request.name}: {how_many}{fault.whole}" if request is not None else ""
        seen = (Evidence(f"probe {step}", 0, fault.whole),) if step else ()
        if self.killed is not None:
            return self._killed(self.killed, told, exposure, client, seen)
        if told is None:
            mark = signature(fault.class_, "", fault.text)
            return Failure(fault.class_, exposure, fault.text, mark, client=client, evidence=seen)
        class_ = (
            fault.class_ if told.class_ is FailureClass.OTHER and fault.class_ is FailureClass.NAN_INF else told.class_
        )
        return Failure(
            class_,
            exposure,
            told.message or told.text,
            told.signature,
            told.exception,
            told.asynchronous,
            client,
            (Evidence(LOG, told.line, told.text), *seen),
            told.consequences,
        )

    def _stage(self, told: LogFailure | None, step: int, request: Request | None) -> Stage:
        if not step:
            return self.log.failure_stage if told is not None else self.log.reached
        serving = (Stage.PREFILL, Stage.DECODE, Stage.CONCURRENCY)
        if told is not None and self.log.failure_stage in serving:
            return self.log.failure_stage
        if request is not None and request.concurrency > 1:
            return Stage.CONCURRENCY
        return Stage.DECODE if self._generated(step) else Stage.PREFILL

    def _generated(self, step: int) -> bool:
        """Some of the answer came before it failed."""
        for event in self.events:
            if event["kind"] == "probe" and event.get("step") == step and event.get("status") == 200:
                answer = self.engine.answer(self.requests[step], str(event.get("body") or ""))
                if answer is not None and (answer.text or answer.completion_tokens):
                    return True
        return False

    @staticmethod
    def _killed(
        line: Evidence, told: LogFailure | None, exposure: Exposure, client: str, seen: tuple[Evidence, ...]
    ) -> Failure:
        """Killed by the kernel for memory: whatever the log says of a process that is gone is a consequence."""
        named = KILLED.search(line.text)
        message = f"the kernel's OOM killer ended {named[2] if named else 'a process'}"
        mark = signature(FailureClass.HOST_OOM_KILL, "", message)
        consequences = (Evidence(LOG, told.line, told.text), *told.consequences) if told is not None else ()
        return Failure(
            FailureClass.HOST_OOM_KILL,
            exposure,
            message,
            mark,
            client=client,
            evidence=(line, *seen),
            consequences=consequences,
        )

    # -- helpers -----------------------------------------------------------------------------------------------

    def _last(self, kind: str) -> Mapping[str, Any] | None:
        return next((e for e in reversed(self.events) if e["kind"] == kind), None)

    def _minutes(self) -> float:
        if self.log.cost_minutes is not None:
            return self.log.cost_minutes
        times = [float(e["mono"]) for e in self.events if "mono" in e]
        return (times[-1] - times[0]) / 60 if len(times) > 1 and times[-1] > times[0] else 0.0


def _is_completion(request: Request) -> bool:
    """Whether the answer has to be a completion; a raw request may be answered with anything."""
    return request.probe.kind != "http"


def _how_many(request: Request, failed: Sequence[int]) -> str:
    """How many of the requests of a step failed, and from which on where the first were answered."""
    if request.requests == 1:
        return ""
    since = f", the first of them number {min(failed)}" if min(failed) > 1 else ""
    return f"{len(failed)} of {request.requests} requests{since}: "


def _exit_fault(left: Mapping[str, Any]) -> Fault | None:
    """A process that left with other than 0."""
    return Fault(FailureClass.OTHER, _left(left)) if left.get("signal") or left.get("code") else None


def _left(left: Mapping[str, Any]) -> str:
    number = left.get("signal")
    if not number:
        return f"exited with code {left.get('code')}"
    name = Signals(number).name if number in [s.value for s in Signals] else f"signal {number}"
    return f"was ended by {name}"


def _no_log() -> Reading:
    return Reading(LOG, 0, 0, (), Stage.UNKNOWN, None, Stage.UNKNOWN, None)
