"""Why a trial was chosen, as numbers and in words that a person can follow and check.

A plan that cannot be argued with is not believed: each step says what it changes, how much of the probability would be
removed by that, how likely it fails, how likely it says nothing, what it tells for its price, and what came second.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ruleout.model import Configuration
from ruleout.model.configuration import shown

ALL_OF = 4
"""Changes that are named one by one; of more, the number."""


@dataclass(frozen=True)
class Explanation:
    """The arithmetic of a choice.

    Attributes:
        change: what it sets differently from the baseline.
        removed: the probability of causes that the change would remove.
        fails: how likely the target shows, if nothing masks it.
        risk: how likely another failure masks it.
        bits: the expected information about the causes, the risk included.
        minutes: what it is expected to take.
        leading: the likeliest causes, in words, their probability, and how likely the trial fails if they are right.
        next_best, next_best_bits, next_best_minutes: the trial that came second, if there was one.
    """

    change: Configuration
    removed: float
    fails: float
    risk: float
    bits: float
    minutes: float
    leading: tuple[tuple[str, float, float], ...] = ()
    next_best: Configuration | None = None
    next_best_bits: float = 0.0
    next_best_minutes: float = 0.0

    def words(self) -> tuple[str, ...]:
        """The same in sentences, one a line."""
        one = len(self.change) == 1
        lines = [
            f"It changes {_named(self.change)}{'' if one else ' together'}, since {self.removed:.0%} of the "
            f"probability lies on causes that {'this' if one else 'one of them'} would remove."
            if self.change
            else "It changes nothing: the baseline itself is run again.",
            f"{self.bits:.2f} bits for {self.minutes:.2g} min; a failure has a chance of {self.fails:.0%}; "
            f"risk of another failure {self.risk:.0%}.",
        ]
        lines += [
            f"If it is {claim} ({p:.0%}), it fails with a chance of {fails:.0%}." for claim, p, fails in self.leading
        ]
        if self.next_best is not None:
            price = f"{self.next_best_bits:.2f} bits for {self.next_best_minutes:.2g} min"
            lines.append(f"Next best: {_named(self.next_best) or 'the baseline'}: {price}.")
        return tuple(lines)


@dataclass(frozen=True)
class Step:
    """A trial to make, and why. `minutes`, `bits` and `risk` are expectations."""

    configuration: Configuration
    purpose: str
    minutes: float
    bits: float = 0.0
    risk: float = 0.0
    explanation: Explanation | None = field(default=None, compare=False)


def explained(step: Step) -> tuple[str, ...]:
    """Why this step is taken, in lines to print: its purpose, then the arithmetic."""
    return (step.purpose, *(step.explanation.words() if step.explanation is not None else ()))


def _named(change: Configuration) -> str:
    if len(change) > ALL_OF:
        return f"{len(change)} factors"
    return " and ".join(f"{factor}={shown(level)}" for factor, level in change.items())
