"""When a line was printed, as seconds on the log's own clock; only differences of one clock mean anything."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_HEAD = 160
"""Characters at the beginning of a line in which its time is looked for."""
_FULL = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[ T_](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_AMERICAN = re.compile(r"(\d\d)/(\d\d)/(\d{4})[-, ]+(\d\d):(\d\d):(\d\d)")
_SHORT = re.compile(r"(?:^|[ \[])(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_GLOG = re.compile(r"(?:^|\[)[EWIF](\d{1,2})(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_SINCE = re.compile(r"^(\d+)\.(\d\d)\.(\d{3})\.(\d{3}) [IWED] ")
_CLOCK = re.compile(r"(?:^|[ \[])(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
_YEAR = 2000
"""For clocks without a year; a leap year, so that every day exists."""
_YEARLESS = range(946_684_800, 978_307_200)
"""The seconds of that year."""


def seconds(text: str) -> float | None:
    """The line's time in seconds, or None where it bears none. Clocks without a date count from midnight."""
    head = text[:_HEAD]
    if found := _FULL.search(head):
        year, month, day, hour, minute, second, fraction = found.groups()
        return _stamp(year, month, day, hour, minute, second, fraction)
    if found := _SHORT.search(head) or _GLOG.search(head):
        month, day, hour, minute, second, fraction = found.groups()
        return _stamp(_YEAR, month, day, hour, minute, second, fraction)
    if found := _AMERICAN.search(head):
        month, day, year, hour, minute, second = found.groups()
        return _stamp(year, month, day, hour, minute, second, None)
    if found := _SINCE.match(head):
        minutes, whole, milli, micro = (int(part) for part in found.groups())
        return minutes * 60 + whole + milli / 1e3 + micro / 1e6
    if found := _CLOCK.search(head):
        hour, minute, second, fraction = found.groups()
        return int(hour) * 3600 + int(minute) * 60 + int(second) + _fraction(fraction)
    return None


def has_year(time: float) -> bool:
    """The clock that gave this time has a date with a year."""
    return time >= _YEARLESS.stop


def in_year(time: float, like: float | None) -> float:
    """A time of a clock without a year, in the year that brings it nearest to one with a year; others as they are.

    torch's and NCCL's lines (`[rank0]:[E912 11:33:26.1`) stand among those of engines, which know the year or do not.
    """
    if like is None or int(time) not in _YEARLESS or not has_year(like):
        return time
    day, year = datetime.fromtimestamp(time, UTC), datetime.fromtimestamp(like, UTC).year
    moved = [day.replace(year=y).timestamp() for y in (year - 1, year, year + 1) if _exists(day, y)]
    return min(moved, key=lambda other: abs(other - like), default=time)


def _exists(day: datetime, year: int) -> bool:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return leap or (day.month, day.day) != (2, 29)


def _fraction(digits: str | None) -> float:
    return float(f"0.{digits}") if digits else 0.0


def _stamp(
    year: str | int, month: str, day: str, hour: str, minute: str, second: str, fraction: str | None
) -> float | None:
    try:
        whole = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    except ValueError:
        return None
    return whole.timestamp() + _fraction(fraction)
