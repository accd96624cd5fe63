"""Several runs of one story: which failure is the target, which runs say something about it, what was never changed.

A run in which another failure struck before the target could show is masked: it neither refutes nor confirms. What was
changed in masked runs only counts as never varied, for nobody has seen what the change does to the target.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ruleout.model.diagnosis import ChosenBy, LogOutcome
from ruleout.model.naming import DOCUMENT_NAMES
from ruleout.model.outcome import Evidence
from ruleout.model.vocabulary import Component, FailureClass, OutcomeKind, Stage


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels that a setting of an engine has.

    Attributes:
        name: the setting, by its flag's name in snake_case.
        component: the part of the stack that it decides on, None when nobody has said.
        said_by: who lists them: a release of the engine, or a line of a log.
    """

    name: str
    levels: tuple[str, ...]
    component: Component | None = None
    said_by: str = ""


@dataclass(frozen=True, slots=True)
class RunFailure:
    """The first failure of one of the runs."""

    __pydantic_config__: ClassVar = DOCUMENT_NAMES
    class_: FailureClass
    signature: str
    message: str
    line: int
    source: str


@dataclass(frozen=True, slots=True)
class StoryRun:
    """One run, and what it says about the target.

    Attributes:
        source: its log, or the first of them.
        logs: how many logs it has.
        stage: where it failed; without a failure, how far it came.
        says: `reproduced`: it shows the target; `clean`: it came past it; `other`: masked; `unresolved`: nothing.
        varied: the settings that were asked of it and not of all others, and versions that differ; where its log does
            not say what was asked, those of its configuration that differ.
        why: the judgement in words.
    """

    source: str
    logs: int
    outcome: LogOutcome
    stage: Stage
    says: OutcomeKind
    failure: RunFailure | None
    varied: dict[str, str]
    why: str

    @property
    def masked(self) -> bool:
        """Another failure struck before the target could show."""
        return self.says is OutcomeKind.OTHER

    @property
    def informative(self) -> bool:
        """It says whether the target shows under its settings."""
        return self.says in (OutcomeKind.REPRODUCED, OutcomeKind.CLEAN)


@dataclass(frozen=True, slots=True)
class Target:
    """The failure that the story is about, and why that one.

    Attributes:
        exposure: the furthest stage at which it struck. A run says something only if it came so far; kernels compile
            anywhere, so that this may be later than the stage in which the failure happened.
    """

    __pydantic_config__: ClassVar = DOCUMENT_NAMES
    class_: FailureClass
    signature: str
    stage: Stage
    exposure: Stage
    runs: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Varied:
    """A setting that differs between runs.

    Attributes:
        levels: each level with the runs that had it.
        asked: somebody asked for one of them, or chose it as far as a log tells that does not say what was asked;
            otherwise the engine changed it along with something else.
        informative: the levels that an informative run had.
    """

    name: str
    levels: dict[str, tuple[str, ...]]
    asked: bool
    informative: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shared:
    """A setting that all runs with the target share, and that no informative run had otherwise.

    Attributes:
        only_masked: levels that only runs had which say nothing, with their runs.
        spoken_of: the failure of a masked run that speaks of it.
        good: a run without the failure shares it too, so that it cannot be the cause alone.
        runs: all that have it, whatever they say.
    """

    name: str
    value: str
    chosen_by: ChosenBy | None
    line: int
    source: str
    only_masked: dict[str, tuple[str, ...]] = field(default_factory=dict)
    spoken_of: Evidence | None = None
    good: bool = False
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Untried:
    """The levels of a setting that no informative run had.

    Attributes:
        masked: those of `untried` that only runs had which say nothing.
        said_by: who lists the levels.
    """

    name: str
    tried: tuple[str, ...]
    untried: tuple[str, ...]
    masked: tuple[str, ...] = ()
    said_by: str = ""


@dataclass(frozen=True, slots=True)
class MaskedRun:
    """A run that says nothing about the target, since it failed otherwise before."""

    source: str
    failure: str
    line: int
    stage: Stage
    why: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What a run that is known to be good had otherwise.

    Attributes:
        good_source: the good run's log.
        every: so had every good run that tells it; otherwise another good run has it as the bad one does, so that it
            cannot be the cause alone.
    """

    name: str
    good: str
    bad: str
    good_source: str
    every: bool = True


@dataclass(frozen=True, slots=True)
class Brief:
    """A run that is known to be good but served far shorter than the target took to show: it proves little.

    Attributes:
        seconds: how long it went on after it was ready.
        needed: how long the target took at least after that.
    """

    source: str
    seconds: float
    needed: float


@dataclass(frozen=True, slots=True)
class Story:
    """What several runs say together.

    Attributes:
        target: None when none of the runs failed.
        shared: what was never varied, what matters most first.
        against: what differs from the good runs; what differs from all of them first.
        copies: logs that are copies of another, with the one that was read for both.
        brief: those of the good runs that served far shorter than the target took to show.
    """

    target: Target | None = None
    runs: tuple[StoryRun, ...] = ()
    varied: tuple[Varied, ...] = ()
    masked: tuple[MaskedRun, ...] = ()
    untried: tuple[Untried, ...] = ()
    shared: tuple[Shared, ...] = ()
    against: tuple[Difference, ...] = ()
    good: tuple[str, ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
    brief: tuple[Brief, ...] = ()
