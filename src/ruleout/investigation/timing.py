"""How long a single trial may take: a changed job that never ends must not hold up what comes after it for hours."""

from __future__ import annotations

from collections.abc import Sequence

from ruleout.model import Case, Mode, Trial

LONGEST_S = 6 * 3600.0
LEAST_S = 3600.0
TIMES = 10
"""Of the longest trial so far. A job that fails early may take far longer once it works: a case gives `timeout`."""


def time_limit(case: Case, trials: Sequence[Trial]) -> float:
    """Seconds after which a trial ends: what the case says; else, for a job, by the longest trial that was made."""
    if case.timeout is not None:
        return case.timeout
    longest = max((trial.minutes * 60 for trial in trials), default=None)
    if case.mode is not Mode.JOB or longest is None:
        return LONGEST_S
    return min(LONGEST_S, max(LEAST_S, TIMES * longest))
