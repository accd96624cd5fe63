"""A size that asks for too much memory is a search: for the largest that works, to the next of the preferred numbers.

They are twenty a decade, about an eighth apart (the series R20 of ISO 3), so that over three decades six trials tell.
Where memory is not suspected, what only sets memory apart is not worth a trial; nor is it where the log names another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from ruleout.model import Component, Factor
from ruleout.model.diagnosis import Suspect

LEAST = 0.05
"""A factor of which suspects of less than this speak is not worth a trial by itself."""
_R20 = (1, 1.12, 1.25, 1.4, 1.6, 1.8, 2, 2.24, 2.5, 2.8, 3.15, 3.55, 4, 4.5, 5, 5.6, 6.3, 7.1, 8, 9)
_RANGE, _RANGE_OF_SHARES = 1000, 10
_SETS_APART = re.compile(r"(?i).*(?:space|mem|bytes|utili[sz]ation)")
_TAKES = re.compile(r"(?i).*(?:max[-_]model[-_]len|context|ctx[-_]size|num[-_]seqs|tokens)")
_NAME = re.compile(r"(?<![\w-])--[a-z][\w-]+|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def sized(factor: Factor, suspects: Sequence[Suspect], *, failed: bool = True) -> Factor | None:
    """The factor, with smaller levels in order if memory is suspected and it is a size. None: it is worth no trial.

    Args:
        failed: a failure was seen, so that who is not suspected is not.
    """
    memory = sum(suspect.probability for suspect in suspects if suspect.component is Component.MEMORY)
    named = {size for suspect in suspects if suspect.component is Component.MEMORY for size in _sizes_named(suspect)}
    apart = bool(_SETS_APART.match(factor.target))
    if not _NUMBER.fullmatch(factor.baseline) or not (apart or _TAKES.match(factor.target)):
        return factor
    if memory < LEAST or (named and factor.target not in named):
        return None if apart and failed else factor
    levels = (factor.baseline, *smaller(factor.baseline))
    return replace(factor, levels=levels, ordered=True) if len(levels) > 1 else factor


def _sizes_named(suspect: Suspect) -> list[str]:
    """The flags and variables of sizes in the lines that speak for a suspect."""
    words = [word for line in suspect.evidence for word in _NAME.findall(line.text)]
    return [word for word in words if _SETS_APART.match(word) or _TAKES.match(word)]


def smaller(size: str) -> tuple[str, ...]:
    """Preferred numbers below a size, the largest first: whole ones of a whole one; of a share, down to its tenth."""
    number, whole = float(size), "." not in size
    least = max(1.0, number / _RANGE) if whole else number / _RANGE_OF_SHARES
    if number <= least:
        return ()
    decades = range(math.floor(math.log10(number)), math.floor(math.log10(least)) - 1, -1)
    numbers = [step * 10.0**decade for decade in decades for step in reversed(_R20)]
    fitting = [round(n) if whole else round(n, 4) for n in numbers if least <= n < number]
    return tuple(dict.fromkeys(f"{n:g}" if not whole else str(n) for n in fitting if 0 < n < number))
