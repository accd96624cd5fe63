"""How a run ended, from what failed in it and from how its log ends.

An orderly shutdown without a failure before it is its operator's; a failed request in a server that went on answering
is a failure, and no crash; a log that ends before the server was ready ended for a reason that it does not say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ruleout.model import FailureClass, Stage
from ruleout.model.diagnosis import LogOutcome
from ruleout.reading.last_words import refused
from ruleout.reading.spotted import Spotted, Weight
from ruleout.reading.timeline import AFTER_READY, Timeline

_CLASSES = {
    FailureClass.HANG: LogOutcome.HANG,
    FailureClass.NCCL_TIMEOUT_HANG: LogOutcome.HANG,
    FailureClass.HOST_OOM_KILL: LogOutcome.KILLED,
    FailureClass.WRONG_OUTPUT: LogOutcome.WRONG_OUTPUT,
    FailureClass.ACCURACY_LOSS: LogOutcome.WRONG_OUTPUT,
}
_SILENT = {FailureClass.NAN_INF: LogOutcome.WRONG_OUTPUT, FailureClass.MEMORY_LEAK: LogOutcome.UNKNOWN}
_SIGNAL = re.compile(r"^(?:Killed|Terminated)\b|\bSIGKILL\b")
_SHUT_DOWN = re.compile(
    rb"\[shutdown\]|Shutting down|Application shutdown complete|SIGTERM received|Gracefully exiting"
    rb"|cleaning up before exit"
)
_ANSWERED = re.compile(rb"\"POST /[\w/]+ HTTP/[\d.]+\" 200|slot +release:")


@dataclass(frozen=True, slots=True)
class Judged:
    """The outcome, and why."""

    outcome: LogOutcome
    reason: str


def of_class(class_: FailureClass, *, inferred: bool) -> LogOutcome:
    """The outcome that a failure's class implies."""
    silent = _SILENT.get(class_) if inferred else None
    return silent or _CLASSES.get(class_, LogOutcome.CRASH)


def of_failure(failure: Spotted, tail: bytes) -> Judged:
    """How a run ended in which this failed."""
    if failure.weight is Weight.WEAK and failure.class_ is FailureClass.OTHER and _ANSWERED.search(tail):
        stopped = bool(_SHUT_DOWN.search(tail))
        outcome = LogOutcome.STOPPED if stopped else LogOutcome.HEALTHY
        return Judged(outcome, "a request failed, the server went on answering")
    if failure.weight is Weight.WEAK and refused(failure.text):
        return Judged(LogOutcome.UNKNOWN, "a request was refused; of the server it says nothing")
    if _SIGNAL.search(failure.message):
        return Judged(LogOutcome.KILLED, "a signal ended it")
    return Judged(of_class(failure.class_, inferred=False), "the log reports a failure")


def of_requests(survived: Sequence[Spotted]) -> list[Spotted]:
    """Those of the survived exceptions that a request brought up: what a run that was stopped has for a failure."""
    return [c for c in survived if c.weight is Weight.WEAK and c.stage in AFTER_READY]


def of_silence(timeline: Timeline, tail: bytes, engine: str, lines: int, interrupted: bool = False) -> Judged:
    """How a run ended in which nothing failed."""
    if interrupted:
        return Judged(LogOutcome.STOPPED, "it was interrupted from the keyboard, nothing failed before")
    if _SHUT_DOWN.search(tail):
        return Judged(LogOutcome.STOPPED, "it was shut down in order, nothing failed before")
    began = {span.name for span in timeline.spans}
    if began & {*AFTER_READY}:
        return Judged(LogOutcome.HEALTHY, "it became ready, nothing failed")
    if not lines:
        return Judged(LogOutcome.UNKNOWN, "there is nothing to read")
    if Stage.WEIGHT_LOAD in began and engine == "transformers":
        return Judged(LogOutcome.HEALTHY, "no server; it ended without a failure")
    if began:
        return Judged(LogOutcome.UNKNOWN, "it ends before it was ready, and does not say why")
    return Judged(LogOutcome.UNKNOWN, "it says neither that it ran nor that it failed")
