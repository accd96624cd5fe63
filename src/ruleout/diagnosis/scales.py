"""The few numbers that turn weights into probabilities: they are fitted, and the weights themselves are not.

Clues are not independent, rules are not as sure as who wrote them, and some causes leave no word in a log. How much of
each there is can be measured on labelled failures without learning anything about single ones: `benchmarks/diagnosis`
fits these numbers on two thirds of the cases at a time, and checks the probabilities on the third it has not used.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scales:
    """What all probabilities depend on.

    Attributes:
        sharpness: by what the sum of weights is multiplied; 1 would take clues for independent.
        inferred: the same once more, where the failure itself is only concluded.
        halving: what each further clue for the same component counts, relative to the one before it.
        unexplained: the share of failures whose cause is none of those that clues speak of.
        untold: the same where no clue was found at all.
        trust: the exponent of a rule's odds; 1 would take its confidence at its word.
    """

    sharpness: float
    inferred: float
    halving: float
    unexplained: float
    untold: float
    trust: float


SCALES = Scales(sharpness=0.95, inferred=1.0, halving=0.6, unexplained=0.10, untold=0.30, trust=1.0)
