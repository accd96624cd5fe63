"""What a trial is expected to take: the estimate of the case, then what was measured; proxies have their own price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from ruleout.model import Case, Configuration, Trial
from ruleout.reasoning.space import FloatArray, IntArray, Space

DEFAULT_MINUTES = 10.0
LEAST = 1e-6


@dataclass(frozen=True)
class Costs:
    """Expected minutes: of a trial that runs to its end, and of one that another failure cuts short.

    `by_proxies` has the measured minutes under each setting of the proxies.
    """

    case: Case
    full: float
    masked: float
    by_proxies: dict[tuple[str, ...], float] = field(default_factory=dict)

    @classmethod
    def of(cls, case: Case, trials: Sequence[Trial]) -> Costs:
        """From the estimates of the case and, unless it says not to, what the trials took."""
        estimate = case.cost.trial or DEFAULT_MINUTES
        if not case.cost.measured:
            return cls(case, estimate, estimate / 2)
        by_proxies: dict[tuple[str, ...], list[float]] = {}
        trials = [t for t in trials if t.outcome is not None and not t.outcome.hearsay]
        for t in trials:
            if t.outcome is not None and t.outcome.informative:
                by_proxies.setdefault(_proxies(case, t.configuration), []).append(t.minutes)
        masked = [t.minutes for t in trials if t.outcome is not None and t.outcome.masked]
        means = {setting: max(fmean(minutes), LEAST) for setting, minutes in by_proxies.items()}
        full = means.get(_proxies(case, case.baseline), estimate)
        return cls(case, full, max(fmean(masked), LEAST) if masked else full / 2, means)

    def expected(self, configuration: Configuration, risk: float) -> float:
        """Expected minutes of a trial that is masked with probability `risk`."""
        full = self._full(configuration)
        return (1 - risk) * full + risk * min(self.masked, full)

    def of_rows(self, space: Space, rows: IntArray, risk: FloatArray) -> FloatArray:
        """The same for many rows at once."""
        priced = [f for f, name in enumerate(space.names) if space.proxy[f] or name in self.case.cost.levels]
        kinds, first, kind = np.unique(rows[:, priced], axis=0, return_index=True, return_inverse=True)
        full = np.array([self._full(space.configuration(rows[i])) for i in first] if len(kinds) else [self.full])
        each = full[kind.reshape(-1)]
        return np.asarray((1 - risk) * each + risk * np.minimum(self.masked, each), dtype=np.float64)

    def _full(self, configuration: Configuration) -> float:
        measured = self.by_proxies.get(_proxies(self.case, configuration))
        if measured is not None:
            return measured
        listed = [
            self.case.cost.levels[factor][level]
            for factor, level in configuration.items()
            if level in self.case.cost.levels.get(factor, {})
        ]
        return min(listed) if listed else self.full


def _proxies(case: Case, configuration: Configuration) -> tuple[str, ...]:
    return tuple(configuration.get(f.name, f.baseline) for f in case.factors if f.proxy)
