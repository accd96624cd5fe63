"""How an investigation went, beside what it concluded: what was believed when, how long stages took, what logs say.

A verdict is what is left in the end and stands by itself. This is what lets a person follow it, so every part of it may
be missing: a log that was deleted takes its excerpt along, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Belief:
    """What was believed once a trial was judged: the likeliest hypotheses in words, the best first.

    Attributes:
        after: the number of the trial.
        claims: with their probabilities; those that are not listed were less likely than the last one.
    """

    after: int
    claims: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Lap:
    """A stage of a trial, and when it began: seconds since the launch."""

    stage: str
    begin: float


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a file around one that is evidence.

    Attributes:
        source: the file, relative to the folder of the investigation.
        line: the one that counts, from 1; first: the number of the first of `lines`.
        shows: what it is evidence of, in words.
    """

    source: str
    line: int
    first: int
    lines: tuple[str, ...]
    shows: str

    @property
    def address(self) -> str:
        """As reports write it."""
        return f"{self.source}:{self.line}"


@dataclass(frozen=True, slots=True)
class BirthPlace:
    """Where a trace saw the first number that was not finite.

    Attributes:
        module: its path in the model, its parts with dots between; class_: of what class it is.
        operation: of torch; empty where only the module is known.
        moment: the phase, step and rank, in words.
        told: what the trace says, in a sentence; source: its document, relative to the folder of the investigation.
    """

    module: str
    class_: str
    operation: str
    moment: str
    told: str
    source: str


@dataclass(frozen=True, slots=True)
class Course:
    """How an investigation went.

    Attributes:
        laps: the stages of a trial, by its number, where its log or its agent told when they began.
        birth: of the last trace that was made of it and named a module.
    """

    beliefs: tuple[Belief, ...] = ()
    laps: Mapping[int, tuple[Lap, ...]] = field(default_factory=dict)
    excerpts: tuple[Excerpt, ...] = ()
    birth: BirthPlace | None = None
