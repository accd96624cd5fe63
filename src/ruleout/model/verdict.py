"""A verdict says what is the cause, with which probability, by which trials, and, as carefully, what is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from ruleout.model.case import Case
from ruleout.model.configuration import Configuration, shown
from ruleout.model.naming import DOCUMENT_NAMES
from ruleout.model.outcome import Evidence, Failure, Trial
from ruleout.model.vocabulary import (
    AssumptionSource,
    AssumptionStatus,
    Component,
    HypothesisStatus,
    VerdictStatus,
)


@dataclass(frozen=True, slots=True)
class Carrier:
    """A factor that takes part in a cause, with those of its levels that were seen to carry the fault."""

    factor: str
    levels: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.factor}={'|'.join(shown(level) for level in self.levels)}"


Cause = tuple[Carrier, ...]
"""A minimal conjunction: all of its carriers are needed, and together they are enough."""


def carried(case: Case, cause: Cause, configuration: Configuration, apart: str) -> bool:
    """Whether each factor of the cause but `apart` has a level that was seen to carry it, or the baseline's."""
    return all(
        configuration.get(carrier.factor, baseline) in (baseline, *carrier.levels)
        for carrier in cause
        if carrier.factor != apart
        for baseline in [case.baseline.get(carrier.factor, "")]
    )


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The trials that make a cause more than the likeliest story.

    sufficient: the cause alone, everything else moved, fails. necessary: from there, each factor of it moved, clean.
    complete: the baseline with only the causes neutralised is clean. baseline_again: the baseline still fails.
    """

    sufficient: tuple[int, ...] = ()
    necessary: tuple[int, ...] = ()
    complete: tuple[int, ...] = ()
    baseline_again: int | None = None


@dataclass(frozen=True, slots=True)
class Workaround:
    """Levels to set on the baseline after which `trial` was clean, and so were all `clean` runs of it."""

    set: Configuration
    trial: int
    clean: int = 1


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A complete set of causes, or `elsewhere`; `because` names the trials that moved it most."""

    claim: str
    probability: float
    status: HypothesisStatus
    because: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RuledOut:
    """A factor that takes part with a probability under 1 %, and the trials that showed it."""

    factor: str
    because: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NotRuledOut:
    """A factor that may still take part: some of its levels failed alike, others were never seen."""

    factor: str
    tried: tuple[str, ...]
    untried: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Masked:
    """A trial in which another failure struck first: it says nothing about the target."""

    configuration: Configuration
    failure: str
    trial: int


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something taken for granted, who did so, and the test that would refute it."""

    text: str
    source: AssumptionSource
    test: str
    status: AssumptionStatus = AssumptionStatus.OPEN


@dataclass(frozen=True, slots=True)
class Pivot:
    """The leading hypothesis changed: after which trial, from what to what."""

    __pydantic_config__: ClassVar = DOCUMENT_NAMES
    after_trial: int
    from_: str
    to: str
    why: str


@dataclass(frozen=True, slots=True)
class Minimal:
    """The smallest command that was found to fail.

    Attributes:
        command: as a person types it, the program first.
        needed: flags without which the target did not show.
        dropped: flags that it does not take; all of them were off in `trial` (None when there are none).
        complete: each of the needed flags was taken off by itself.
    """

    command: tuple[str, ...]
    needed: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    trial: int | None = None
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """Of a factor whose levels have an order: the level nearest to the baseline that is clean, and the next that fails.

    Attributes:
        trial: in which `works` was clean; failed: in which `fails` showed the target.
        untried: the levels between them.
    """

    factor: str
    works: str
    trial: int
    fails: str
    failed: int
    untried: tuple[str, ...] = ()


OWN_CHOICE = " (the engine's choice)"
"""Behind a setting that was never varied, since nobody asked for it."""
SPEAKS_FOR, MAY_HELP = "speaks for ", "; what may help: "
"""Before the component, and before what to do, in the claim of what lies elsewhere."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The case that the cause is in none of the factors."""

    probability: float
    component: Component = Component.OTHER
    claim: str = "the cause is in none of the factors that were varied"
    evidence: tuple[Evidence, ...] = ()

    @property
    def brief(self) -> str:
        """The claim up to what the evidence speaks for, without why and without what may help."""
        before, speaks_for, told = self.claim.partition(SPEAKS_FOR)
        return before + speaks_for + told.partition(MAY_HELP)[0].partition(": ")[0]

    @property
    def told(self) -> str:
        """What the log, or what was seen besides, speaks for, and why; empty where that is nothing."""
        return self.claim.partition(SPEAKS_FOR)[2].partition(MAY_HELP)[0]

    @property
    def advice(self) -> str:
        """What may help; empty where nothing is known."""
        return self.claim.partition(MAY_HELP)[2]


@dataclass(frozen=True, slots=True)
class NextStep:
    """What would decide what is still open."""

    change: Configuration
    why: str
    minutes: float


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment that trials ran in.

    Attributes:
        python: its interpreter.
        facts: versions and hardware, by name.
        report: the file with the whole of it, relative to the folder of the investigation.
    """

    python: str
    facts: Mapping[str, str]
    report: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of an investigation.

    Attributes:
        causes: all independent causes; empty unless there is a leading set of them.
        probability: of exactly this set of causes.
        failure: the target failure; None when the baseline never showed one.
        manifest_rate: how often the cause shows when it is present, as estimated; 1 for a deterministic one.
        never_varied: settings that all trials shared.
        next: the steps that would decide what is left, with their price in minutes.
        minimal: the smallest command that fails, if it was asked for.
        installations: the environments that trials ran in.
        limits: of causes whose levels have an order, between which of them it changes.
        shows: with which requests the failure shows, and for what that speaks; empty where no client is involved.
    """

    status: VerdictStatus
    probability: float
    causes: tuple[Cause, ...] = ()
    confirmed_by: Confirmation = field(default_factory=Confirmation)
    workarounds: tuple[Workaround, ...] = ()
    failure: Failure | None = None
    manifest_rate: float = 1.0
    elsewhere: Elsewhere = field(default_factory=lambda: Elsewhere(0.0))
    trials: tuple[Trial, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    not_ruled_out: tuple[NotRuledOut, ...] = ()
    never_varied: tuple[str, ...] = ()
    masked: tuple[Masked, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    pivots: tuple[Pivot, ...] = ()
    next: tuple[NextStep, ...] = ()
    why: str = ""
    minimal: Minimal | None = None
    installations: tuple[Installation, ...] = ()
    limits: tuple[Limit, ...] = ()
    shows: str = ""
