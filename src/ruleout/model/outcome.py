"""What a trial showed: a failure with an address, and what it says about the failure that is to be explained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from ruleout.model.configuration import Configuration
from ruleout.model.naming import DOCUMENT_NAMES
from ruleout.model.vocabulary import Component, FailureClass, OutcomeKind, Stage


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line that can be looked up: `source` is a file or `probe N`; `line` counts from 1, 0 when there is none."""

    source: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Exposure:
    """The moment at which a failure shows: a stage of the start or of serving and, for a probe, its step (from 1).

    A trial can only speak about a failure if it got past the failure's exposure.
    """

    stage: Stage
    step: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """The first failure of a run.

    Attributes:
        message: the deciding line, normalised for people (no prefix of the logger).
        exception: its type, as the engine named it; empty when there was none.
        signature: a short hash, stable under ranks, addresses, line numbers, times, paths and sizes.
        asynchronous: it was reported later than it happened, so the stack is not the place.
        client: what a client saw, in words; empty when no client was involved.
        consequences: what the first failure brought about.
    """

    __pydantic_config__: ClassVar = DOCUMENT_NAMES
    class_: FailureClass
    exposure: Exposure
    message: str
    signature: str
    exception: str = ""
    asynchronous: bool = False
    client: str = ""
    evidence: tuple[Evidence, ...] = ()
    consequences: tuple[Evidence, ...] = ()


UNTOLD = "?"
"""In effect instead of a level that was refused, where the log does not say what."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen of a failing trial besides its log and its answers, before it was stopped.

    Attributes:
        text: in words, as it stands in a report.
        component: the part that it speaks for; None for a circumstance.
        weight: the probability of that component by this alone, 0 to 1.
        evidence: where it can be looked up; sources are relative to the trial's folder.
    """

    text: str
    component: Component | None = None
    weight: float = 0.0
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a trial says about the target failure, and why it was judged so.

    Attributes:
        failure: what failed in this trial, the target or another; None for a clean one.
        reached: the furthest stage the trial came to.
        reason: the judgement in words.
        effective: the factors whose level the engine replaced, with the one that was in effect instead, `?` if
            the log does not tell.
        resolved: what else the engine said of settings in effect, by name.
        by_person: a person overruled what was read.
        observed: what was seen of it besides, if it failed.
        hearsay: notes tell of it, and nobody here has seen it: it moves what is believed, and confirms nothing.
    """

    kind: OutcomeKind
    reached: Stage
    reason: str
    failure: Failure | None = None
    effective: Mapping[str, str] = field(default_factory=dict)
    resolved: Mapping[str, str] = field(default_factory=dict)
    by_person: bool = False
    observed: tuple[Observation, ...] = ()
    hearsay: bool = False

    @property
    def masked(self) -> bool:
        """Another failure struck before the target could have shown."""
        return self.kind is OutcomeKind.OTHER

    @property
    def informative(self) -> bool:
        """It says whether the target shows under its configuration."""
        return self.kind in (OutcomeKind.REPRODUCED, OutcomeKind.CLEAN)


@dataclass(frozen=True, slots=True)
class Trial:
    """One launch of the deployment under one configuration.

    Attributes:
        purpose: why the planner chose it, in words.
        outcome: None while it has not been judged.
        minutes: what it took, as measured or as the command reported it.
        log: path of the server's log, relative to the folder of the investigation.
        why: the arithmetic of the choice, in sentences.
        without: flags that were taken off the command besides, to find the smallest one that fails.
        instruments: what was set besides, to see more of the failure: levels by flag or variable. Such a trial says
            nothing about factors.
    """

    id: int
    configuration: Configuration
    purpose: str
    outcome: Outcome | None = None
    minutes: float = 0.0
    log: str = ""
    without: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    instruments: Configuration = field(default_factory=Configuration)
