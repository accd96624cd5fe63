"""How a run went through its stages: each with the line where it first began and the seconds it took.

Stages are a sequence of the log itself. Ranks repeat each other's lines, and serving goes back and forth between
prefill and decode; so only the first beginning of each stage makes a span, while `current` follows every change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from ruleout.model import Stage
from ruleout.model.diagnosis import StageSpan
from ruleout.reading.times import seconds

SERVING = (Stage.PREFILL, Stage.DECODE, Stage.CONCURRENCY)
AFTER_READY = (Stage.READY, *SERVING, Stage.SHUTDOWN)
_TOOK = re.compile(
    r"(?:elapsed[=:]? ?|took (?:[\d.]+ GiB (?:memory )?and )?|takes |finished in "
    r"|total time[=:]? ?)(\d+(?:\.\d+)?) ?(s|secs?|seconds|ms)?\b"
)


@dataclass(slots=True)
class Timeline:
    """Stages in the order in which they first began."""

    spans: list[StageSpan] = field(default_factory=list)
    current: Stage = Stage.UNKNOWN
    line: int = 0
    _times: list[float | None] = field(default_factory=list)
    _stamp: float | None = None
    _told: dict[int, float] = field(default_factory=dict)

    def mark(self, stage: Stage, line: int, text: str) -> None:
        """A line with which a stage begins, or goes on, or which says how long it took."""
        began = [span.name for span in self.spans]
        if self.current is Stage.WARMUP and stage in SERVING and Stage.READY not in began:
            return  # its own first request is what the engine warms up with
        time = seconds(text)
        self._stamp = time if time is not None else self._stamp
        if time is None and stage in SERVING:
            time = self._stamp  # access logs bear none; the last before is the nearest that is known
        if stage not in began:
            self.spans.append(StageSpan(stage, line))
            self._times.append(time)
            began.append(stage)
        if took := _TOOK.search(text):
            index = began.index(stage)
            value = float(took[1]) / (1000 if took[2] == "ms" else 1)
            self._told[index] = max(value, self._told.get(index, 0.0))
        self.current, self.line = stage, line

    def finished(self, source: str, end: float | None = None) -> tuple[StageSpan, ...]:
        """The spans with their seconds: by the engine's own word, else until the next stage on the same clock.

        Args:
            end: when the failure was reported; the last stage went on until then.
        """
        found = []
        for index, span in enumerate(self.spans):
            begin = self._times[index]
            later = [time for time in (*self._times[index + 1 :], end) if time is not None]
            took = self._told.get(index)
            # Until the next stage it may have waited for requests for hours; until a failure it served.
            serving = span.name in AFTER_READY and (end is None or index + 1 < len(self.spans))
            if took is None and not serving and begin is not None and later and 0 <= later[0] - begin < 7 * 86400:
                took = round(later[0] - begin, 3)
            found.append(replace(span, seconds=took, source=source))
        return tuple(found)

    def ready_at(self) -> float | None:
        """When it was ready, or the latest time before that the log tells; None where it never was, or tells none."""
        began = [span.name for span in self.spans]
        if Stage.READY not in began:
            return None
        return next((t for t in reversed(self._times[: began.index(Stage.READY) + 1]) if t is not None), None)

    def furthest(self) -> Stage:
        """The furthest stage reached: serving counts for more than the shutdown after it."""
        began = [span.name for span in self.spans if isinstance(span.name, Stage)]
        for stage in (Stage.CONCURRENCY, Stage.DECODE, Stage.PREFILL, Stage.READY):
            if stage in began:
                return stage
        rest = [stage for stage in began if stage is not Stage.SHUTDOWN]
        return rest[-1] if rest else Stage.UNKNOWN
