"""How far a start came is read from the log's own sequence: the order of the stages is a habit, not a law."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ruleout.model import Stage
from ruleout.reading.lines import CHUNK, clean, shorten
from ruleout.reading.triggers import Searching, Trigger, compiled


@dataclass(frozen=True, slots=True)
class StageMark:
    """Where a stage began. `line` counts from 1."""

    stage: Stage | str
    line: int
    text: str


class StagePatterns:
    """The regexes of a log's stages. Raises ValueError for one that neither RE2 nor Python's `re` takes."""

    def __init__(self, stages: Mapping[Stage, str] | Mapping[str, str]) -> None:
        self.accepted: dict[str, bool] = {}
        self._patterns: list[tuple[Stage | str, Searching]] = []
        for name, pattern in stages.items():
            searching, takes = compiled(pattern)
            self.accepted[pattern] = takes
            stage: Stage | str = name
            with contextlib.suppress(ValueError):
                stage = Stage(name)
            self._patterns.append((stage, searching))

    def find(self, line: bytes) -> tuple[Stage | str, str] | None:
        """The stage that a line begins, and the piece of it that says so; of several, the last piece's first stage."""
        for data in reversed(shorten(line).split(b"\r")):
            for stage, pattern in self._patterns:
                if pattern.search(data):
                    return stage, data.decode("utf-8", "replace").strip()[:500]
        return None


class Stages:
    """Keeps, of every stage, the mark where it first began and the one where it last began anew."""

    def __init__(self, patterns: StagePatterns) -> None:
        self._patterns = patterns
        self._first: dict[Stage | str, StageMark] = {}
        self._last: dict[Stage | str, StageMark] = {}
        self.current: Stage = Stage.UNKNOWN
        self._name: Stage | str = ""

    def line(self, number: int, data: bytes) -> None:
        """Look at a line."""
        if (found := self._patterns.find(data)) and found[0] != self._name:
            self._name = found[0]
            self.current = self._name if isinstance(self._name, Stage) else self.current
            kept = self._last if self._name in self._first else self._first
            kept[self._name] = StageMark(found[0], number, found[1])

    @property
    def marks(self) -> tuple[StageMark, ...]:
        """In the order of the lines."""
        return tuple(sorted((*self._first.values(), *self._last.values()), key=lambda mark: mark.line))


class StageFollower:
    """Follows a growing log for a live display: each poll reads only what is new, in bounded memory."""

    def __init__(self, path: Path, stages: Mapping[Stage, str]) -> None:
        self._path, self._stages = path, Stages(StagePatterns(stages))
        self._trigger = Trigger(StagePatterns(stages).accepted)
        self._offset, self._rest = 0, b""

    def poll(self) -> Stage | None:
        """The last stage begun so far; None while there is none, or no log yet. A log that shrank is read anew."""
        with contextlib.suppress(OSError), self._path.open("rb") as stream:
            if os.fstat(stream.fileno()).st_size < self._offset:
                self._offset, self._rest = 0, b""
            stream.seek(self._offset)
            while block := stream.read(CHUNK):
                self._offset += len(block)
                data = self._rest + block
                end = data.rfind(b"\n") + 1
                self._rest = shorten(data[end:])
                self._read(clean(data[:end]))
        return None if self._stages.current is Stage.UNKNOWN else self._stages.current

    def _read(self, chunk: bytes) -> None:
        self._trigger.start()
        position = 0
        while (hit := self._trigger.next(chunk, position)) < len(chunk):
            begin, end = chunk.rfind(b"\n", 0, hit) + 1, chunk.find(b"\n", hit)
            self._stages.line(0, chunk[begin:end])
            position = end + 1
