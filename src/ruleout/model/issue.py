"""What a bug report is made of besides the verdict: lines of the log, a request, where it ran, what is known."""

from __future__ import annotations

from dataclasses import dataclass

from ruleout.model.case import Case
from ruleout.model.outcome import Failure
from ruleout.model.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a log around one of them.

    Attributes:
        source: the file, relative to the folder of the investigation.
        first: the number of the first line; numbers count from 1.
        marked: the number of the line that it is about.
    """

    source: str
    first: int
    marked: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OwnReport:
    """What an engine's own script says of its environment; `command` is empty where only its text was kept."""

    command: str
    text: str


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """A rule of the catalogue that holds for the failing run."""

    rule: str
    claim: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """The request that showed the failure."""

    name: str
    method: str
    path: str
    body: str
    concurrency: int = 1


@dataclass(frozen=True, slots=True)
class IssueMaterial:
    """All that a bug report says. Nothing in it is trusted to be harmless in Markdown.

    Attributes:
        excerpt: the first error with the lines around it; None where no line tells of it.
        sent: None where the failure needs no client.
        model: what was served, in words; empty where nothing tells.
        config: its config.json, where that is at hand; a folder's name says nothing to others.
        engine: which engine failed, with its version where that is known; empty where nothing tells.
    """

    case: Case
    verdict: Verdict
    excerpt: Excerpt | None = None
    sent: Sent | None = None
    environments: tuple[OwnReport, ...] = ()
    known: tuple[KnownFailure, ...] = ()
    model: str = ""
    config: str = ""
    engine: str = ""

    @property
    def failure(self) -> Failure:
        """What is reported. Raises ValueError where nothing failed, which is nothing to report."""
        if self.verdict.failure is None:
            raise ValueError("nothing failed")
        return self.verdict.failure
