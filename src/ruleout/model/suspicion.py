"""What is suspected before anything was varied: it orders the trials, and no verdict rests on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ruleout.model.diagnosis import Suspect
from ruleout.model.outcome import Evidence


@dataclass(frozen=True, slots=True)
class Advice:
    """A level that the log itself recommends, and the line that does."""

    factor: str
    level: str
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What the log of the failing baseline makes likely.

    Attributes:
        suspects: best first.
        priors: by factor, the probability that it takes part; they add up to 1. Empty when the log favours none.
        elsewhere: how likely what was seen besides the log makes a cause in no factor.
        advised: levels that a line of the log offers as a way out.
        chosen: settings that the engine chose by itself, by name.
    """

    suspects: tuple[Suspect, ...] = ()
    priors: Mapping[str, float] = field(default_factory=dict)
    elsewhere: float = 0.0
    advised: tuple[Advice, ...] = ()
    chosen: Mapping[str, str] = field(default_factory=dict)
