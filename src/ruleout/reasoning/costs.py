"""What a trial is expected to take: the case's estimate, then what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ruleout.model import Case, Configuration, Trial

DEFAULT_MINUTES = 10.0


@dataclass(frozen=True)
class Costs:
    """Expected minutes: of a trial that runs to its end, and of one that another failure cuts short."""

    case: Case
    full: float
    masked: float

    @classmethod
    def of(cls, case: Case, trials: Sequence[Trial]) -> Costs:
        """From the estimates of the case and, unless it says not to, what the trials took."""
        estimate = case.cost.trial or DEFAULT_MINUTES
        full = [t.minutes for t in trials if t.outcome is not None and t.outcome.informative]
        masked = [t.minutes for t in trials if t.outcome is not None and t.outcome.masked]
        measured = case.cost.measured
        whole = fmean(full) if measured and full else estimate
        return cls(case, max(whole, 1e-6), max(fmean(masked) if measured and masked else whole / 2, 1e-6))

    def expected(self, configuration: Configuration, risk: float) -> float:
        """Expected minutes of a trial that is masked with probability `risk`."""
        listed = [
            self.case.cost.levels[factor][level]
            for factor, level in configuration.items()
            if level in self.case.cost.levels.get(factor, {})
        ]
        full = min(listed) if listed else self.full
        return (1 - risk) * full + risk * min(self.masked, full)
