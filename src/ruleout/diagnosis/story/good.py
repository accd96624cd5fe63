"""What a run that is known to be good says about a failing one, and what may be held to be a good run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ruleout.diagnosis.weights import kind
from ruleout.model import Diagnosis


def without_common_warnings(run: Diagnosis, goods: Sequence[Diagnosis]) -> Diagnosis:
    """The diagnosis with weight 0 for every warning that a good run printed too."""
    printed = {kind(w.text): w for good in reversed(goods) for w in good.warnings}
    warnings = []
    for warning in run.warnings:
        if other := printed.get(kind(warning.text)):
            address = f"{other.source}:{other.line}" if other.source else f"line {other.line}"
            warning = replace(warning, weight=0.0, why=f"printed by a good run too ({address})")
        warnings.append(warning)
    return replace(run, warnings=tuple(warnings))
