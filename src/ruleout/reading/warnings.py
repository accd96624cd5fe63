"""Warnings are no evidence by themselves: most of them stand in healthy logs as often as in failing ones.

What is known to be printed by healthy starts has weight 0; everything else has no weight until a rule gives it one.
"""

from __future__ import annotations

import re

from ruleout.model.diagnosis import LogWarning
from ruleout.reading.records import Record
from ruleout.reading.signature import normalise

TRIGGER = (
    r"WARNING|Warning: |\bWARN\b|[Ww]arning:|[Mm]ight (?:cause|lead)|may (?:cause|lead to)|If you experience"
    r"|as a workaround"
)
"""What a line must contain to be looked at."""
MOST, LOOKED_AT = 40, 400
_SAYS = re.compile(TRIGGER)
_HEALTHY_TOO = (
    (r"scale_fmt of checkpoint is not ue8m0", "healthy starts of the same checkpoint print it too"),
    (r"issues related to RoPE|Unrecognized keys in `rope_(?:parameters|scaling)`", "healthy starts print it too"),
    (r"deprecated|FutureWarning|DeprecationWarning", "about a future version, not about this run"),
    (r"leaked (?:semaphore|shared_memory)|resource_tracker", "printed whenever a process did not clean up at its end"),
    (
        r"unauthenticated requests|ulimit|RLIMIT|tcmalloc|libiomp|slow tokenizer|NUMA binding",
        "about the host, not about this run",
    ),
    (r"Enforce eager set|Inductor compilation was disabled by user", "says what the user asked for"),
    (r"Only CUDA, .*support|Ignore import error|Triton is not", "about other hardware or models"),
)
_KNOWN = tuple((re.compile(pattern), why) for pattern, why in _HEALTHY_TOO)


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
        if text.startswith("warnings.warn") or record.level in ("ERROR", "CRITICAL", "FATAL"):
            return
        kind = normalise(text[:300])
        if kind in self._seen:
            return
        self._seen.add(kind)
        why = next((why for pattern, why in _KNOWN if pattern.search(text[:1000])), "")
        self.found.append(LogWarning(record.line, text[:500], 0.0 if why else None, why))
