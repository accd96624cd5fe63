"""A claim: what some place in notes says was set, and what it says became of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ruleout.reading.notes.changes import Found
from ruleout.reading.notes.outcomes import Judged

BASELINE, PREVIOUS, REPEAT = "\0baseline", "\0previous", "\0repeat"


@dataclass(frozen=True, slots=True)
class Claim:
    """What one place says.

    Attributes:
        base: what it is told against: a label of an earlier claim, or one of the names above.
        levels: settings told by the columns of a table, already as a difference to its baseline.
        said: what it says became of it, where that stands apart.
        loose: told outside of lists and tables.
        prose: told in running text, where a trial is often told twice.
    """

    line: int
    text: str
    found: Found = field(default_factory=Found)
    judged: Judged | None = None
    base: str = ""
    label: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    exported: Mapping[str, str] = field(default_factory=dict)
    prose: bool = False
    loose: bool = False
    said: str = ""

    def ended(self, judged: Judged | None, said: str = "") -> Claim:
        """The claim with what became of it."""
        return replace(self, judged=judged, said=said or self.said)
