"""The lines of a log from which a cause may be concluded: those around the failure, and those that a format knows.

A gigabyte is not kept for that; what is kept is bounded, and each line knows its number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ruleout.model import Evidence
from ruleout.model.diagnosis import DiagnosedFailure
from ruleout.reading.facts import KEPT_LENGTH, FactsReader
from ruleout.reading.infer import EXCERPT
from ruleout.reading.records import Record, record

LAST = 60
"""Lines of the end of a log, which are near to a failure that no line tells."""


@dataclass(frozen=True, slots=True)
class Look:
    """The lines of one source: near to the failure, and all that were kept."""

    source: str
    near: tuple[Evidence, ...]
    lines: tuple[Evidence, ...]


def look(reader: FactsReader, failure: DiagnosedFailure | None, source: str) -> Look:
    """What was kept of a log that has been read to its end."""
    near = {} if failure is None else _near(reader, failure)
    known = {record.line: record for record in (*reader.head, *reader.kept.values(), *near.values())}
    return Look(source, _evidence(near.values(), source), _evidence(known.values(), source))


def _near(reader: FactsReader, failure: DiagnosedFailure) -> dict[int, Record]:
    if reader.read <= EXCERPT:
        return {record.line: record for record in reader.head}
    found: dict[int, Record] = {}
    for first, data in reader.around.values():
        lines = data.split(b"\n")
        if first <= failure.line < first + len(lines):
            found |= {n: record(n, line) for n, line in enumerate(lines, first)}
    if not found:  # nothing reported it, or it is the last that the log tells
        found = {record.line: record for record in reader.last(LAST)}
    return found


def _evidence(records: Iterable[Record], source: str) -> tuple[Evidence, ...]:
    ordered = sorted(records, key=lambda record: record.line)
    return tuple(Evidence(source, r.line, r.text[:KEPT_LENGTH]) for r in ordered if r.text.strip())
