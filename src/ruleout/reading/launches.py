"""Whether two logs are ranks of one run or two runs: by what each was started with, when, and whose lines it holds.

Names deceive (`tp4.log` and `tp8.log` are trials, `4.log` and `8.log` may be ranks), so that what a log holds decides:
two launches with other settings, or one after the other, are two runs whatever their files are called.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from itertools import chain

from ruleout.model import Stage
from ruleout.reading.facts import FactsReader
from ruleout.reading.placing import rank_number
from ruleout.reading.times import in_year, seconds

_DATED, _WITH_YEAR = 900_000_000.0, 1_000_000_000.0
"""Seconds above which a clock has a date, and a year: others begin anew with each day or each start, and compare to
nothing. A log may have clocks of both kinds, which do not compare either."""
_LONGEST = 365 * 86400
"""Seconds that no run lasts: two clocks then."""
_OWN = re.compile(r"rank|port|host|addr|node|master|gpu_id|device_id|seed|pid|uuid", re.IGNORECASE)
"""Settings in which ranks of one run differ."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What a log tells of its beginning.

    Attributes:
        settings: what was asked for, or else what was printed as the configuration; empty when neither is told.
        span: its first and its last second on a clock with a date, None where the log has none.
        served: it tells that a server is ready, as one log of a run does.
        ranks: numbers of the ranks whose lines it begins or ends with.
        mark: the same for two copies of one log.
        lasted: seconds from when it was ready to its last line, None where the log does not tell.
    """

    engine: str
    version: str | None
    settings: dict[str, str]
    span: tuple[float, float] | None
    served: bool
    ranks: frozenset[int]
    mark: str
    lasted: float | None = None

    @property
    def told(self) -> bool:
        """The log holds a launch of its own."""
        return bool(self.settings)

    @property
    def begins(self) -> bool:
        """It holds the beginning of a run, if only the engine's greeting."""
        return self.told or bool(self.version)

    def unlike(self, other: Launch) -> bool:
        """The two cannot be ranks of one run."""
        if self.begins and other.begins and self.apart(other):
            return True
        if self.engine and other.engine and self.engine != other.engine:
            return True
        if self.version and other.version and self.version != other.version:
            return True
        if not (self.told and other.told):
            return False
        return self.settings != other.settings

    def apart(self, other: Launch) -> bool:
        """One was over before the other began."""
        if not (self.span and other.span and self._compares(other)):
            return False
        begin, end = (in_year(time, other.span[0]) for time in self.span)
        first, last = (in_year(time, begin) for time in other.span)
        return end < first or last < begin

    def overlaps(self, other: Launch) -> bool:
        """Both have clocks with dates, and were running at the same time."""
        return self._compares(other) and not self.apart(other)

    def _compares(self, other: Launch) -> bool:
        """Both have clocks with dates, and both of them or neither with years."""
        if self.span is None or other.span is None:
            return False
        return (self.span[0] > _WITH_YEAR) == (other.span[0] > _WITH_YEAR)


def launch_of(reader: FactsReader) -> Launch:
    """The launch of a log that has been read to its end."""
    asked = {name: entry.requested for name, entry in reader.book.settings.items() if entry.requested is not None}
    printed = {
        name: entry.resolved
        for name, entry in reader.book.settings.items()
        if entry.resolved is not None and not entry.by_engine
    }
    dumped = printed if len(printed) > 3 else {}
    settings = {name: value for name, value in (asked or dumped).items() if not _OWN.search(name)}
    told = {r.source for r in reader.head if r.source}
    ranks = frozenset(number for source in told if (number := rank_number(source)) is not None)
    mark = hashlib.sha256(str(reader.lines).encode())
    for data in chain((r.raw.encode("utf-8", "replace") for r in reader.head), (reader.tail,)):
        mark.update(data)
    engine = reader.book.engine
    served = any(begun.name is Stage.READY for begun in reader.timeline.spans)
    span, ready = _span(reader), reader.timeline.ready_at()
    ready = ready and in_year(ready, reader.clock)
    lasted = span[1] - ready if span and ready and 0 <= span[1] - ready < _LONGEST else None
    version = reader.book.version.get(engine)
    return Launch(engine, version, settings, span, served, ranks, mark.hexdigest(), lasted)


def _span(reader: FactsReader) -> tuple[float, float] | None:
    """From the first time of its head to the last of its tail, both by one clock: one with years, if it has any."""
    times = [_dated(r.raw) for r in reader.head]
    times += [_dated(line) for line in reader.tail.decode("utf-8", "replace").split("\n")]
    found = [time for time in times if time]
    found = [time for time in found if time > _WITH_YEAR] or found
    return (min(found[0], found[-1]), max(found[0], found[-1])) if found else None


def _dated(line: str) -> float | None:
    time = seconds(line[:200])
    return time if time is not None and time > _DATED else None
