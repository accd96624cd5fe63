"""Warnings are no evidence by themselves: most of them stand in healthy logs as often as in failing ones.

So they are collected here, each kind once, and not judged: what one weighs is a matter of counts, not of its words.
"""

from __future__ import annotations

import re

from ruleout.model.diagnosis import LogWarning
from ruleout.reading.records import Record
from ruleout.reading.signature import normalise

TRIGGER = (
    r"WARNING|Warning: |\bWARN\b|[Ww]arning:|[Mm]ight (?:cause|lead)|may (?:cause|lead to)"
    r"|If you experience"
)
"""What a line must contain to be looked at."""
MOST, LOOKED_AT = 40, 400
_SAYS = re.compile(TRIGGER)


class Warnings:
    """Collects each kind of warning once."""

    def __init__(self) -> None:
        self.found: list[LogWarning] = []
        self._seen: set[str] = set()

    def line(self, record: Record) -> None:
        """Look at a line."""
        text = record.text.strip()
        if len(self.found) >= MOST or not text or not (record.level == "WARNING" or _SAYS.search(text[:1000])):
            return
        if text.startswith(("warnings.warn", "[-", "usage:")) or record.level in ("ERROR", "CRITICAL", "FATAL"):
            return
        kind = normalise(text[:300])
        if kind in self._seen:
            return
        self._seen.add(kind)
        self.found.append(LogWarning(record.line, text[:500]))
