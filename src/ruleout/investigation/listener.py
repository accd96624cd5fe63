"""Who watches an investigation: the terminal, later a page. Watching changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ruleout.investigation.givens import Choice
from ruleout.investigation.noted import Noted
from ruleout.model import Case, Configuration, Notes, Trial, Unused
from ruleout.model.audit import Audit
from ruleout.reasoning import Assessment


@dataclass(frozen=True)
class Plan:
    """A trial to make: with these flags taken off the command, or these instruments put on it.

    `why` is the arithmetic of the choice, in sentences.
    """

    configuration: Configuration
    purpose: str
    without: frozenset[str] = frozenset()
    why: tuple[str, ...] = ()
    instruments: Configuration = field(default_factory=Configuration)


class Listener(Protocol):
    """What is told while an investigation runs."""

    def started(self, number: int, plan: Plan, assessment: Assessment | None) -> None:
        """A trial is being launched. `assessment` is None while the baseline has not failed yet."""

    def event(self, number: int, event: Mapping[str, Any]) -> None:
        """The agent of that trial reports (`ruleout.event/1`); from a thread of its own where several run at once."""

    def finished(self, trial: Trial) -> None:
        """A trial was judged."""

    def audited(self, found: Audit) -> None:
        """The model's folder and the command were looked at, before the first trial."""

    def chosen(self, case: Case, choices: Sequence[Choice]) -> None:
        """The factors of a case that began as a command alone were chosen."""

    def told(self, notes: Notes, taken: Sequence[Noted], left: Sequence[Unused]) -> None:
        """Notes were read: which of their trials count as trials of the case, and which do not."""

    def interrupted(self) -> None:
        """A Ctrl-C ended the trial under way; what follows is short and should not be cut off."""


class Silent:
    """Watches nothing."""

    def started(self, number: int, plan: Plan, assessment: Assessment | None) -> None:
        """Nothing."""

    def event(self, number: int, event: Mapping[str, Any]) -> None:
        """Nothing."""

    def finished(self, trial: Trial) -> None:
        """Nothing."""

    def audited(self, found: Audit) -> None:
        """Nothing."""

    def chosen(self, case: Case, choices: Sequence[Choice]) -> None:
        """Nothing."""

    def told(self, notes: Notes, taken: Sequence[Noted], left: Sequence[Unused]) -> None:
        """Nothing."""

    def interrupted(self) -> None:
        """Nothing."""
