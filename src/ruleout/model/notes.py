"""What a person's notes tell of trials: each with the line that tells it, and what in them could not be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ruleout.model.configuration import Configuration
from ruleout.model.vocabulary import OutcomeKind


@dataclass(frozen=True, slots=True)
class ToldTrial:
    """A trial as notes tell of it. Nobody has seen its log: it is hearsay until a trial of our own says the same.

    Attributes:
        line: where it is told, counted from 1.
        text: what stands there.
        changes: what was changed against the command as deployed, by flag (`--kv-cache-dtype`), variable, package or
            name; `absent` where a flag was taken off. Empty for the baseline.
        times: in how many runs that was the outcome.
        failure: what failed, in the note's words; empty for a clean one.
        label: what the notes call it (`3`, `run B`).
        effective: what was in effect instead of what was asked for, by the same names.
        minutes: what it took; 0 where that is not told.
        exact: the names are those of factors, as a case has them.
    """

    line: int
    text: str
    changes: Configuration
    outcome: OutcomeKind
    times: int = 1
    failure: str = ""
    label: str = ""
    effective: Mapping[str, str] = field(default_factory=dict)
    minutes: float = 0.0
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Unused:
    """What looks like a trial and could not be taken as one, and why not."""

    line: int
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes that were read.

    Attributes:
        command: the command as deployed, as far as they tell; `line` is where.
        problem: what fails, in their words.
    """

    source: str
    command: str = ""
    line: int = 0
    problem: str = ""
    trials: tuple[ToldTrial, ...] = ()
    unused: tuple[Unused, ...] = ()
