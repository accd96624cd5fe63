"""Why a trial was chosen, as numbers and in words that a person can follow and check.

A plan that cannot be argued with is not believed: each step says what it changes, how much of the probability would be
removed by that, how likely it fails, how likely it says nothing, what it tells for its price, and what came second.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ruleout.model import Configuration, figures
from ruleout.model.configuration import shown
from ruleout.model.figures import percent

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

    def words(self, purpose: str = "") -> tuple[str, ...]:
        """The same in sentences, one a line; what the purpose says already is not said again."""
        one = len(self.change) == 1
        price = worth(self.bits, self.minutes, self.fails)
        risk = percent(self.risk)
        lines = [
            f"It changes {_named(self.change)}{'' if one else ' together'}, since {percent(self.removed)} of the "
            f"probability lies on causes that {'this' if one else 'one of them'} would remove."
            if self.change
            else "It changes nothing: the baseline itself is run again.",
            f"{price}; risk of another failure {risk}."
            if price not in purpose
            else f"Risk of another failure: {risk}.",
        ]
        lines += [
            f"If it is {claim} ({percent(p)}), it fails with a chance of {percent(fails)}."
            for claim, p, fails in self.leading
        ]
        if self.next_best is not None:
            second = told(self.next_best_bits, self.next_best_minutes)
            lines.append(f"Next best: {_named(self.next_best) or 'the baseline'}: {second}.")
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
    return (step.purpose, *(step.explanation.words(step.purpose) if step.explanation is not None else ()))


def worth(bits: float, minutes: float, fails: float) -> str:
    """What a trial is expected to tell, for which time, and how likely it is to fail."""
    return f"{told(bits, minutes)}; a failure has a chance of {percent(fails)}"


def told(bits: float, minutes: float) -> str:
    """`0.81 bits for 7:04`."""
    return f"{bits:.2f} bits for {figures.minutes(minutes)}"


def _named(change: Configuration) -> str:
    if len(change) > ALL_OF:
        return f"{len(change)} factors"
    return " and ".join(f"{factor}={shown(level)}" for factor, level in change.items())
