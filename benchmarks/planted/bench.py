"""What a strategy has: launches that cost minutes, and an answer to give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from benchmarks.planted.scenario import Config, Conjunction, Launch, Scenario
from benchmarks.planted.serve import minutes, shown

BUDGET = 80
"""Launches after which a strategy has to say what it believes."""


@dataclass(frozen=True)
class Answer:
    """What a strategy came to.

    Attributes:
        causes: each a conjunction. Where `levels` is false, only the factors are meant.
        levels: whether the levels of the causes are claimed to be those that carry the fault.
        workarounds: what to set on the baseline to be rid of it.
        probability: of exactly these causes, where the strategy states one.
        status: `isolated`, `elsewhere` and other words of `ruleout.verdict/1`; of the others `answered`, `undecided`
            or `unsuited`.
        refuted: assumptions that trials refuted.
    """

    causes: tuple[Conjunction, ...] = ()
    levels: bool = False
    workarounds: tuple[Mapping[str, str], ...] = ()
    probability: float | None = None
    status: str = "answered"
    note: str = ""
    refuted: tuple[str, ...] = ()


class SpentError(Exception):
    """There are no launches left."""


@dataclass
class Bench:
    """The simulated deployment without its process: the same outcomes, the same minutes."""

    scenario: Scenario
    budget: int = BUDGET
    launches: list[Launch] = field(default_factory=list)

    def run(self, config: Config) -> str:
        """Launch; the outcome. Raises SpentError."""
        if len(self.launches) >= self.budget:
            raise SpentError
        before = sum(earlier.config == config for earlier in self.launches)
        outcome = self.scenario.outcome(config, before)
        self.launches.append(Launch(dict(config), outcome, minutes(shown(self.scenario, config, outcome))))
        return outcome

    def moved(self, **levels: str) -> dict[str, str]:
        """The baseline with these levels."""
        return {**self.scenario.baseline, **levels}


Strategy = Callable[[Bench], Answer]


def factors_only(*groups: Iterable[str]) -> tuple[Conjunction, ...]:
    """Causes of which only the factors are known."""
    return tuple({name: frozenset() for name in group} for group in groups)
