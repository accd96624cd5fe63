"""One file may hold several launches: a container starts anew, a shell tries again, ranks' logs are put together.

Settings, stages and failures of two launches must not be mixed, so each is read by itself, from the line with which its
engine prints what it was started with. Of several, the one that failed last is told; whoever reads the log wants to
know why it had to start anew, even if it runs well by now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ruleout.model import Stage
from ruleout.model.diagnosis import Diagnosis, Environment, LogOutcome
from ruleout.reading.facts import FactsReader
from ruleout.reading.launches import Launch
from ruleout.reading.spotted import Weight
from ruleout.reading.times import seconds

MOST = 200
"""Launches of a file that are read apart; the rest is read as part of the last one."""
SIBLING = 60.0
"""Seconds within which processes of one launch print the same words."""
_LAUNCH = re.compile(rb"server_args=(?:ServerArgs\(|\{)|vLLM API server version")
_WORDS = (b"server_args=", b"API server version")
_COMMAND = re.compile(rb"^\s*(?:\$|#|%|\S*[$#]) \S|^(?:[A-Z_]+=\S+ )*(?:python3? -m |vllm serve|sglang serve)")
_COMMANDS = 5
"""Lines above a launch in which the command that started it is looked for."""
_VARIES = re.compile(rb"\d+")
_BEGINNING = (Stage.UNKNOWN, Stage.INSTALL_IMPORT, Stage.ARG_PARSING, Stage.MODEL_CONFIG)
_FAILED = (LogOutcome.CRASH, LogOutcome.HANG, LogOutcome.KILLED, LogOutcome.WRONG_OUTPUT)


@dataclass(slots=True)
class Launches:
    """Reads the chunks of a file, each launch with a reader of its own; `readers` are in their order."""

    readers: list[FactsReader] = field(default_factory=lambda: [FactsReader()])
    _said: bytes = b""
    _at: float | None = None

    def chunk(self, chunk: bytes) -> None:
        """Read a chunk of whole lines."""
        begin = 0
        for position, line in _launches(chunk):
            reader = self.readers[-1]
            if self._said:
                above = _typed(chunk, begin, position)
                if above > begin:
                    reader.chunk(chunk[begin:above])
                    begin = above
                if self._anew(reader, line) and len(self.readers) < MOST:
                    self.readers.append(FactsReader(reader.lines))
            self._said, self._at = _words(line), _time(line)
        if begin < len(chunk):
            self.readers[-1].chunk(chunk[begin:])

    def _anew(self, reader: FactsReader, line: bytes) -> bool:
        """The line begins another launch than the reader's."""
        candidates = reader.failures.candidates
        ended = reader.timeline.current is Stage.SHUTDOWN or any(c.deadly for c in candidates)
        if ended or reader.timeline.current in (Stage.READY, Stage.PREFILL, Stage.DECODE):
            return True
        if reader.timeline.current in _BEGINNING:
            return any(c.weight is Weight.STRONG for c in candidates)
        time = _time(line)
        soon = time is not None and self._at is not None and abs(time - self._at) < SIBLING
        return not (soon and not candidates and _words(line) == self._said)


def _launches(chunk: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines with which launches begin, each with its position."""
    if not any(word in chunk for word in _WORDS):
        return
    last = -1
    for found in _LAUNCH.finditer(chunk):
        position = chunk.rfind(b"\n", 0, found.start()) + 1
        if position != last and b"prompt" not in chunk[position : found.start()]:
            end = chunk.find(b"\n", position)
            yield position, chunk[position : end if end > 0 else None][:4096]
        last = position


def _typed(chunk: bytes, begin: int, position: int) -> int:
    """Where the command was typed that begins the launch at a position, or that position."""
    at = position
    for _ in range(_COMMANDS):
        if at <= begin:
            break
        at = chunk.rfind(b"\n", begin, at - 1) + 1 or begin
        if _COMMAND.match(chunk[at : at + 200]):
            return at
    return position


def _words(line: bytes) -> bytes:
    """What the line says, whichever process and whenever."""
    found = _LAUNCH.search(line)
    return _VARIES.sub(b"#", line[found.start() if found else 0 :])


def _time(line: bytes) -> float | None:
    return seconds(line[:200].decode("utf-8", "replace"))


def chosen(facts: Sequence[Diagnosis]) -> int:
    """Which of the launches is told: the one that failed last by its own lines, or else the last one."""
    failed = [
        number
        for number, found in enumerate(facts)
        if found.outcome in _FAILED and (found.failure is None or not found.failure.inferred)
    ]
    last = len(facts) - 1
    return last if facts[last].outcome in _FAILED or not failed else failed[-1]


def told(facts: Sequence[Diagnosis]) -> Diagnosis:
    """The launch that is told, with how many there were and how the last one ended."""
    number = chosen(facts)
    words = f"launch {number + 1} of {len(facts)} in this log"
    if number < len(facts) - 1:
        last = facts[-1].outcome
        words += (
            f"; the last one is {last}" if last is not LogOutcome.UNKNOWN else "; how the last one ended is not told"
        )
    found = facts[number]
    return replace(
        found,
        reason=f"{found.reason}; {words}",
        environment=_on_the_machine(found.environment, [other.environment for other in facts]),
        sources=facts[-1].sources,
    )


def _on_the_machine(own: Environment, others: Sequence[Environment]) -> Environment:
    """What another launch in the same file tells of the machine, and not of itself."""
    return replace(
        own,
        gpu=own.gpu or next((e.gpu for e in others if e.gpu), None),
        sm=own.sm or next((e.sm for e in others if e.sm), None),
        gpus=own.gpus or next((e.gpus for e in others if e.gpus), None),
        driver=own.driver or next((e.driver for e in others if e.driver), None),
    )


def ranks(launches: Sequence[Launch]) -> bool:
    """The launches are those of ranks of one run, whose logs were put together: they ran at the same time."""
    pairs = [(a, b) for number, a in enumerate(launches) for b in launches[number + 1 :]]
    return all(a.ranks and b.ranks and not a.ranks & b.ranks and a.overlaps(b) and not a.unlike(b) for a, b in pairs)


def joined(launches: Sequence[Launch], number: int) -> Launch:
    """The launch that is told, over the time of all."""
    spans = [launch.span for launch in launches if launch.span]
    return replace(
        launches[number],
        span=(min(first for first, _ in spans), max(last for _, last in spans)) if spans else None,
        served=any(launch.served for launch in launches),
        mark=" ".join(launch.mark for launch in launches),
    )
