"""What moves the odds of a component: a pattern in a place, and weights, in nats of log-odds.

A weight says how much more often the words stand where the component was the cause than where it was not: 1 is about
2.7 times, 2 about 7, 3 about 20. They are rounded judgements, held against labelled failures by cross-validation
(`docs/decisions.md`), not fitted to single ones. No clue is about one thread; each names a kernel family, a package, a
setting or a phrase of several engines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ruleout.diagnosis.view import Place
from ruleout.model import Component, FailureClass, Stage

C, F, S, P = Component, FailureClass, Stage, Place

SILENT = frozenset({F.WRONG_OUTPUT, F.NAN_INF, F.ACCURACY_LOSS, F.DEVICE_SIDE_ASSERT})
"""Failures whose place says nothing about their origin: the numbers were wrong before anybody looked."""
RUNTIME = frozenset({*SILENT, F.ILLEGAL_MEMORY_ACCESS, F.KERNEL_LAUNCH_ERROR, F.HANG, F.NCCL_TIMEOUT_HANG, F.OTHER})


@dataclass(frozen=True, slots=True)
class Clue:
    """A pattern in a place, and what it moves.

    Attributes:
        says: in words, what was found; `{0}` is the matched text.
        classes, stages: where it counts; everywhere when empty.
        absent: what counts is that the pattern stands in none of the places.
    """

    places: tuple[Place, ...]
    pattern: re.Pattern[str]
    weights: dict[Component, float]
    says: str
    classes: frozenset[FailureClass] = frozenset()
    stages: frozenset[Stage] = frozenset()
    absent: bool = False


def clue(
    places: tuple[Place, ...],
    pattern: str,
    weights: dict[Component, float],
    says: str,
    classes: frozenset[FailureClass] | set[FailureClass] = frozenset(),
    stages: frozenset[Stage] | set[Stage] = frozenset(),
    *,
    absent: bool = False,
) -> Clue:
    """A clue, from the text of its pattern."""
    return Clue(places, re.compile(pattern), weights, says, frozenset(classes), frozenset(stages), absent)


SAID, NEAR = (P.FAILURE,), (P.FAILURE, P.NEAR)
"""Where words are looked for: in the failure, or near it too; and below, in what was asked for, or ran too."""
ASKED, RAN = (P.SETTINGS,), (P.SETTINGS, P.ENVIRONMENT)
