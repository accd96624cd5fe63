"""A run that served for minutes proves little against a failure that took hours to show: it may not have got there yet.

How long a failure takes hangs on load and chance, so that only a run that is shorter by far counts as too short.
"""

from __future__ import annotations

from collections.abc import Iterable

from ruleout.reading.diagnose import Run

SHORTER, LEAST = 3.0, 600.0
"""How many times shorter than the shortest run with the target a good one must be, and after how many seconds a failure
is one that takes long."""


def needed(shown: Iterable[Run]) -> float | None:
    """Seconds that the target took at least to show after the server was ready; None where a log does not tell."""
    lasted = [run.lasted for run in shown]
    known = [time for time in lasted if time is not None]
    return min(known) if known and len(known) == len(lasted) else None


def too_short(run: Run, seconds: float | None) -> bool:
    """The run served far shorter than the target took to show."""
    if run.lasted is None or seconds is None or seconds < LEAST:
        return False
    return run.lasted * SHORTER < seconds


def why(run: Run, seconds: float | None) -> str:
    """That a run is too short, in words."""
    return f"served {span(run.lasted or 0)}, where the target took {span(seconds or 0)} to show: it proves little"


def span(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"
