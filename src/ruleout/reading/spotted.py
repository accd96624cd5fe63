"""What may be a failure, before it is known which of them came first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from ruleout.model import FailureClass, Stage


class Weight(IntEnum):
    """How much a line deserves to be called the failure: the least weight wins, then the earliest line."""

    STRONG = 0
    WEAK = 1  # it says that something else failed, or that one request did
    CONSEQUENCE = 2  # it can only follow a failure, and alone it is none


@dataclass(frozen=True, slots=True)
class Spotted:
    """A candidate for the first failure.

    Attributes:
        start: the first line of it; for a traceback, its header.
        line: the deciding line, whose text is `text`.
        rank: the process or rank, empty when unknown.
        stage: the last stage begun before `start`.
        deadly: its process said that it dies of it.
        logged: a logger printed it, not a shell, an interpreter or a device.
    """

    class_: FailureClass
    exception: str
    message: str
    start: int
    line: int
    text: str
    weight: Weight = Weight.STRONG
    frames: tuple[str, ...] = ()
    rank: str = ""
    stage: Stage = Stage.UNKNOWN
    asynchronous: bool = False
    deadly: bool = False
    logged: bool = False

    def at(self, stage: Stage) -> Spotted:
        """The same, seen in that stage."""
        return replace(self, stage=stage)
