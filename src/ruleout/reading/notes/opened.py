"""What was set and has no end yet: it ends when something else is set, with what was said of it meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ruleout.model import Unused
from ruleout.reading.notes.changes import Found, changes_in
from ruleout.reading.notes.claims import Claim
from ruleout.reading.notes.outcomes import Judged, Problem, judge, masked
from ruleout.reading.notes.text import Text, shown

MOST_SAID = 6


@dataclass(slots=True)
class Open:
    """What was set and has no end yet, with what was said since."""

    claim: Claim
    said: list[str] = field(default_factory=list)
    held: bool = False
    most: int = MOST_SAID


class Opened:
    """The claims that were collected, and the one that is open."""

    def __init__(self, problem: Problem, known: Mapping[str, str], before: bool) -> None:
        self.problem, self.known, self.before = problem, known, before
        self.claims: list[Claim] = []
        self.unused: list[Unused] = []
        self.open: Open | None = None
        self.default: Judged | None = None
        self.suggested: Found | None = None
        self.suggested_at = 0
        self.exported: dict[str, str] = {}
        self.ahead: Judged | None = None
        self.loose = True
        self.plain: frozenset[str] = frozenset()

    def begin(self, claim: Claim, held: bool = False, most: int = MOST_SAID) -> None:
        """Something was set: what was open before is over."""
        self.close()
        self.open = Open(replace(claim, loose=self.loose), [], held, most)

    def close(self) -> None:
        """What is open ends with what was said of it."""
        current, self.open = self.open, None
        if current is None:
            return
        judged = current.claim.judged or judge(" . ".join(current.said), self.problem, told=current.held)
        if judged is None:
            if current.claim.found.command is None and not current.claim.base:
                self.leave(current.claim.line, current.claim.text, "no outcome is told")
            return
        self._keep(current.claim.ended(judged, " ".join(current.said)))

    def add(self, claim: Claim) -> None:
        """A claim that is complete where it stands."""
        if self.open and not self.open.held:
            self.close()
        self._keep(replace(claim, loose=self.loose))

    def _keep(self, claim: Claim) -> None:
        if claim.judged is None:
            return
        if claim.judged.kind is None:
            self.leave(claim.line, claim.text, "not done yet")
            return
        self.claims.append(claim)

    def leave(self, line: int, text: str, why: str) -> None:
        """What looks like a trial and is none."""
        self.unused.append(Unused(line, shown(text), why))

    def say(self, text: str) -> None:
        """Something that is said of what is open."""
        if self.open and len(self.open.said) < self.open.most:
            self.open.said.append(masked(text, changes_in(text, self.known).spans))

    def _suggest(self, text: Text) -> None:
        found = changes_in(text.text, self.known)
        if found.settings:
            self.suggested, self.suggested_at = found, text.line()
