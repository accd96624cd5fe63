"""One pass over a log that collects its facts: stages, settings, environment, warnings and candidates for the failure.

All formats look at every line that any of their patterns hits. A pattern is given up after as many hits as it can teach
something (ranks and restarts repeat, requests repeat for hours), and then no longer stops the scan: so a gigabyte costs
what its unknown lines cost. Where prefill and decode have been given up, the bytes before a failure are searched
backwards for the one that was going on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ruleout.model import Stage
from ruleout.reading.book import Book
from ruleout.reading.formats import FORMATS, LogFormat, Says
from ruleout.reading.lines import pieces
from ruleout.reading.progress import Progress
from ruleout.reading.reading import LogReader, above
from ruleout.reading.records import Record, record
from ruleout.reading.spotted import Spotted
from ruleout.reading.stages import StagePatterns
from ruleout.reading.survival import Lives
from ruleout.reading.timeline import SERVING, Timeline
from ruleout.reading.times import has_year, in_year, seconds
from ruleout.reading.triggers import FAILURES, Searching, Trigger, Which, compiled
from ruleout.reading.warnings import LOOKED_AT, TRIGGER, Warnings

HEAD_LINES, HEAD_BYTES, TAIL = 200, 1 << 16, 1 << 16
"""What is kept of a log for the words around a failure: its first lines, and its last bytes."""
_BACK = 1 << 17
_BEFORE = (Stage.INSTALL_IMPORT, Stage.ARG_PARSING, Stage.MODEL_CONFIG)
AROUND, ABOVE, BELOW = 12, 1 << 13, 1 << 12
"""Of how many candidates for the failure the lines around are kept, and how many bytes on each side."""
KEPT, KEPT_LENGTH = 400, 500
"""How many of the lines that some format knows are kept, and how much of each."""
_DULL, _LONGEST = 20_000, 500
_VARIES = re.compile(rb"\d+(?:[:.,\-/]\d+)+|[0-9a-f]{16,}|\d{4,}")
"""Times, dates, addresses, ports, sizes, identifiers: lines that differ in these only are alike. Statuses, exit codes
and ranks are shorter, and count."""
_TELLS, _STAGES, _SERVING = 25, 200, 60


@dataclass(slots=True)
class _Watched:
    """A pattern and for how many more lines it is looked for. Exactly one of `says` and `stage` or none is set."""

    source: str
    pattern: Searching
    format: LogFormat
    left: int
    says: Says | None = None
    stage: Stage | None = None

    @property
    def tells(self) -> bool:
        """It tells the engine only."""
        return self.says is None and self.stage is None


class FactsReader(LogReader):
    """Goes through the chunks of a log."""

    def __init__(self, before: int = 0) -> None:
        """Args: before: lines of the file above those that are read."""
        super().__init__(StagePatterns({}))
        self.lines = self.before = before
        self.book, self.timeline, self.warnings = Book(), Timeline(), Warnings()
        self.head: list[Record] = []
        self.tail = b""
        self.clock: float | None = None
        """The first time of the head that has a year, by which the year of others is known."""
        self.times: dict[int, float] = {}
        self.lives, self.progress = Lives(), Progress()
        self.kept: dict[int, Record] = {}
        self.around: dict[int, tuple[int, bytes]] = {}
        self._head_bytes, self._warnings_left = 0, LOOKED_AT
        self._dull: set[bytes] = set()
        self._all = _watched()
        self._watched = self._all
        self._rebuild()

    @property
    def read(self) -> int:
        """How many lines were read."""
        return self.lines - self.before

    def chunk(self, chunk: bytes) -> None:
        """Read a chunk of whole lines."""
        if self.read < HEAD_LINES and self._head_bytes < HEAD_BYTES:
            for number, data in enumerate(chunk[:HEAD_BYTES].split(b"\n")[: HEAD_LINES - self.read], self.lines + 1):
                self.head.append(record(number, data))
                self._head_bytes += len(data)
            self.clock = next((t for r in self.head if (t := seconds(r.raw)) is not None and has_year(t)), None)
        super().chunk(chunk)
        self.tail = (self.tail + chunk[-TAIL:])[-TAIL:]
        self.lives.look(chunk[-TAIL:], self.lines)

    def last(self, most: int) -> list[Record]:
        """The last lines, at most so many; all of a short log."""
        if self.read <= min(most, len(self.head)):
            return [r for r in self.head if r.line <= self.lines]
        tail = self.tail[self.tail.find(b"\n") + 1 :].split(b"\n")
        tail = (tail[:-1] if not tail[-1] else tail)[-most:]
        return [record(number, data) for number, data in enumerate(tail, self.lines - len(tail) + 1)]

    def line(self, number: int, data: bytes, chunk: bytes, position: int) -> None:
        """Read one line, which is at that position of its chunk, unless one just like it has changed nothing."""
        if len(data) > _LONGEST or b"ssert" in data or self.failures.busy:
            self._line(number, data, chunk, position)
            return
        shape = _VARIES.sub(b"#", data)
        if shape in self._dull:
            return
        if self._line(number, data, chunk, position) and len(self._dull) < _DULL:
            self._dull.add(shape)

    def finish(self) -> None:
        """The log ends here, and with it what was still being told."""
        known = len(self.failures.candidates)
        self.failures.finish()
        found = self.failures.candidates
        if len(found) > known and (time := self._time(self.tail, len(self.tail))):
            self.times[found[-1].start] = time

    def _line(self, number: int, data: bytes, chunk: bytes, position: int) -> bool:
        """Read one line; whether it has changed nothing, nor would another like it."""
        before, read, told = self.failures.state, record(number, data), False
        if not self.failures.full:
            known = len(self.failures.candidates)
            stage = self._stage(chunk, position) if b"Traceback (most" in data else self.timeline.current
            told = self.failures.line(read, stage, above(data, chunk, position, number))
            if len(found := self.failures.candidates) > known:
                self._candidate(found, number, chunk, position)
        if self._any.search(data):
            self._facts(read, data, told)
            return False
        return (not told or self.failures.dropped) and self.failures.state == before and not self.failures.busy

    def _candidate(self, found: list[Spotted], number: int, chunk: bytes, position: int) -> None:
        """Add to a new candidate what only the bytes above it tell: its stage while serving, and its time."""
        self.lives.look(chunk[max(0, position - TAIL) : position], number - 1)
        if found[-1].start == number:
            found[-1] = found[-1].at(self._stage(chunk, position))
        if time := self._time(chunk, position):
            self.times[found[-1].start] = time
        if len(self.around) < AROUND:
            begin = chunk.rfind(b"\n", 0, max(0, position - ABOVE)) + 1
            first = number - chunk.count(b"\n", begin, position)
            self.around[found[-1].start] = first, chunk[begin : position + BELOW]

    def _facts(self, read: Record, data: bytes, told: bool) -> None:
        if len(self.kept) < KEPT:
            self.kept[read.line] = read
        if self._warnings_left and not told:
            self._warnings_left -= 1
            self.warnings.line(read)
        text = read.text if b"\r" not in data else "\n".join(pieces(data))
        raw, spent = read.raw.encode("utf-8", "replace"), not self._warnings_left and self._watching
        body = text.encode("utf-8", "replace")
        stages: dict[str, Stage] = {}
        fact = False
        for watched in (self._all[number] for number in _which(raw, body)):
            if watched.left <= 0 or (watched.stage is not None and (told or watched.format.name in stages)):
                continue
            found = watched.pattern.search(raw if watched.tells else body)
            if not found:
                continue
            watched.left -= 1
            spent = spent or watched.left <= 0
            fact = fact or watched.says is not None
            if watched.says is not None:
                watched.says.take(self.book, _text(found.groupdict()), text, read.line)
            elif watched.stage is not None:
                stages[watched.format.name] = watched.stage
            else:
                self.book.recognised(watched.format.name)
        stage = self._of_the_engine(stages) if stages else None
        if not told and (stage or fact):
            self.progress.line(read, stage)
        if stage:
            if stage is Stage.ARG_PARSING and self.timeline.current not in (Stage.UNKNOWN, *_BEFORE):
                self.lives.began(read.line)
            elif stage is Stage.READY:
                self.lives.alive(read.line)
            self.timeline.mark(stage, read.line, read.raw)
        if spent:
            self._rebuild()

    def _of_the_engine(self, stages: dict[str, Stage]) -> Stage | None:
        """Of the stages that the formats see in a line, the running engine's; any format's while that is unknown."""
        engine = self.book.engine
        if not engine:
            return next(iter(stages.values()))
        common = stages.get("")
        return stages.get(engine) or (None if common in _OWN[engine] else common)

    def _rebuild(self) -> None:
        self._watched = [watched for watched in self._watched if watched.left > 0]
        self._watching = bool(self._warnings_left)
        parts = [*(TRIGGER,) * self._watching, *(_unanchored(watched.source) for watched in self._watched)]
        self.trigger = Trigger({}, (*FAILURES, *parts))
        self.calm = Trigger({}, parts)
        self._any, _ = compiled(f"(?m:{'|'.join(f'(?:{part})' for part in parts)})" if parts else r"\z\A.")
        self.trigger.start()
        self.calm.start()

    def _stage(self, chunk: bytes, position: int) -> Stage:
        """The stage before a line: of prefill and decode, the one nearest above it."""
        if self.timeline.current not in SERVING:
            return self.timeline.current
        before = chunk[max(0, position - _BACK) : position]
        nearest = max((before.rfind(word), stage) for word, stage in _NEAREST)
        return nearest[1] if nearest[0] >= 0 else self.timeline.current

    def _time(self, chunk: bytes, position: int) -> float | None:
        """The time of the line or of the nearest one above it that bears one."""
        end = chunk.find(b"\n", position)
        for line in reversed(chunk[max(0, position - 8192) : end if end > 0 else None].split(b"\n")):
            if (time := seconds(line[:200].decode("utf-8", "replace"))) is not None:
                return in_year(time, self.clock)
        return None


_NAMED, _BEGIN = re.compile(r"\(\?P<\w+>"), re.compile(r"(?<![\[\\])\^")
_OWN = {form.name: {stage for stage, _ in form.stages} for form in FORMATS}
_NEAREST = ((b"Prefill batch", Stage.PREFILL), (b"Decode batch", Stage.DECODE))


def _watched() -> list[_Watched]:
    found = []
    for form in FORMATS:
        found += [_Watched(p, compiled(f"(?m:{p})")[0], form, _TELLS) for p in form.tells]
        for stage, p in form.stages:
            left = _SERVING if stage in SERVING else _STAGES
            found.append(_Watched(p, compiled(f"(?m:{p})")[0], form, left, None, stage))
        found += [_Watched(s.pattern, _capturing(s.pattern), form, s.often, s) for s in form.says]
    return found


@cache
def _sets() -> tuple[tuple[list[int], Which], ...]:
    """The numbers of those that are looked for in the raw line and of those in its text, each with all in one."""
    found = _watched()
    kinds = [[n for n, w in enumerate(found) if w.tells is tells] for tells in (True, False)]
    return tuple((numbers, Which([f"(?m:{found[n].source})" for n in numbers])) for numbers in kinds)


def _which(raw: bytes, body: bytes) -> list[int]:
    """The numbers of what a line tells, ascending."""
    return sorted(
        numbers[n] for (numbers, which), text in zip(_sets(), (raw, body), strict=True) for n in which.of(text)
    )


def _capturing(pattern: str) -> Searching:
    return compiled(f"(?m:{pattern})", captures=True)[0]


def _text(groups: Mapping[Any, bytes | None]) -> dict[str, str]:
    """Named groups as text: RE2 names the groups of a bytes pattern in bytes."""
    return {
        name.decode() if isinstance(name, bytes) else name: value.decode("utf-8", "replace")
        for name, value in groups.items()
        if value is not None
    }


@cache
def _unanchored(pattern: str) -> str:
    """For the scan: without names, and with a logger's or a container's prefix before what begins the line."""
    return _BEGIN.sub(r"(?:^|[\]|:)\"ZFP0-9] *)", _NAMED.sub("(?:", pattern))
