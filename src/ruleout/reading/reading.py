"""Reads one log: its stages, its first failure and what followed, in one pass and in constant memory."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ruleout.model import Evidence, FailureClass, Stage
from ruleout.reading.failures import Failures, first
from ruleout.reading.lines import chunks
from ruleout.reading.records import Record, record
from ruleout.reading.signature import signature
from ruleout.reading.spotted import Spotted
from ruleout.reading.stages import StageMark, StagePatterns, Stages
from ruleout.reading.triggers import FAILURES, Trigger

CONSEQUENCES = 10
"""How many consequences of a failure are named."""

_COST = re.compile(rb"(?:^|\s)RULEOUT_COST_MINUTES=([0-9.eE+-]+)\s*$")


@dataclass(frozen=True, slots=True)
class LogFailure:
    """The first failure that a log tells of.

    Attributes:
        exception: its type as printed; empty when there was none.
        message: of the exception, or the device's assertion, or the asserted source line; without prefixes.
        line, text: of the deciding line, from 1.
        asynchronous: reported later than it happened, so the stack is not the place.
        frames: `file.py:function`, the innermost last.
        rank: the process or rank that printed it, empty when the log does not say.
        consequences: what followed, at most `CONSEQUENCES`, each kind once.
    """

    class_: FailureClass
    exception: str
    message: str
    signature: str
    line: int
    text: str
    asynchronous: bool
    frames: tuple[str, ...]
    consequences: tuple[Evidence, ...]
    rank: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a log says.

    Attributes:
        source: the name under which its lines are evidence.
        reached: the last stage begun, by the log's own sequence; UNKNOWN when there was none.
        failure_stage: the last stage begun before the failure; UNKNOWN without a failure or a stage.
        cost_minutes: what the command itself said that it cost.
    """

    source: str
    lines: int
    bytes: int
    stages: tuple[StageMark, ...]
    reached: Stage
    failure: LogFailure | None
    failure_stage: Stage
    cost_minutes: float | None


def read_log(path: Path, stages: Mapping[Stage, str], *, source: str | None = None) -> Reading:
    """Read a log. `stages` are regexes (RE2, else Python's) for the line with which each stage begins.

    Raises FileNotFoundError (OSError) when it cannot be opened, ValueError when a pattern is not a regex.
    """
    reader = LogReader(StagePatterns(stages))
    with path.open("rb") as stream:
        for chunk in chunks(stream):
            reader.chunk(chunk)
        size = stream.tell()
    reader.failures.finish()
    chosen, rest = first(reader.failures.candidates)
    name = source if source is not None else path.name
    return Reading(
        name,
        reader.lines,
        size,
        reader.stages.marks,
        reader.stages.current,
        _failure(chosen, rest, name) if chosen else None,
        chosen.stage if chosen else Stage.UNKNOWN,
        reader.cost,
    )


def _failure(chosen: Spotted, rest: list[Spotted], source: str) -> LogFailure:
    return LogFailure(
        chosen.class_,
        chosen.exception,
        chosen.message,
        signature(chosen.class_, chosen.exception, chosen.message, chosen.frames),
        chosen.line,
        chosen.text,
        chosen.asynchronous,
        chosen.frames,
        tuple(Evidence(source, other.line, other.text[:500]) for other in rest[:CONSEQUENCES]),
        chosen.rank,
    )


class LogReader:
    """Goes through chunks from hit to hit; while a traceback is open, from line to line."""

    def __init__(self, patterns: StagePatterns) -> None:
        self.stages, self.failures = Stages(patterns), Failures()
        self.lines, self.cost = 0, None
        self.trigger = Trigger(patterns.accepted, FAILURES)
        self.calm = Trigger(patterns.accepted, ("RULEOUT_COST_MINUTES=",))

    cost: float | None

    def chunk(self, chunk: bytes) -> None:
        """Read a chunk of whole lines."""
        self.trigger.start()
        self.calm.start()
        position, number = 0, self.lines
        while position < len(chunk):
            if not self.failures.busy:
                trigger = self.calm if self.failures.full else self.trigger
                hit = trigger.next(chunk, position)
                begin = chunk.rfind(b"\n", position, hit) + 1 or position
                number += chunk.count(b"\n", position, begin)
                position = begin
                if hit >= len(chunk):
                    break
            end = chunk.find(b"\n", position)
            end = len(chunk) if end < 0 else end
            number += 1
            self.line(number, chunk[position:end], chunk, position)
            position = end + 1
        self.lines += chunk.count(b"\n") + (not chunk.endswith(b"\n") and bool(chunk))

    def line(self, number: int, data: bytes, chunk: bytes, position: int) -> None:
        """Read one line, which is at that position of its chunk."""
        if cost := _COST.search(data[-200:]):
            self.cost = _minutes(cost[1], self.cost)
        if not self.failures.full:
            told = self.failures.line(record(number, data), self.stages.current, above(data, chunk, position, number))
            if told:
                return
        self.stages.line(number, data)


def above(data: bytes, chunk: bytes, position: int, number: int) -> Record | None:
    """The line above a traceback's header, where it is in the same chunk."""
    if b"Traceback (most" not in data or not position:
        return None
    return record(number - 1, chunk[chunk.rfind(b"\n", 0, position - 1) + 1 : position - 1])


def _minutes(text: bytes, before: float | None) -> float | None:
    try:
        minutes = float(text)
    except ValueError:
        return before
    return minutes if math.isfinite(minutes) and minutes >= 0 else before
