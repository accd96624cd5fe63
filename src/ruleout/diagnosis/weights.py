"""How much a warning says: how much more often failing starts print it than healthy ones, by a table of counts.

No line is weighed by its name. A kind of warning is its text without numbers and paths, kept as a hash; the table is
made from logs by `tools/warning_weights.py`, and shipped with its counts.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from ruleout.model import Diagnosis
from ruleout.reading.signature import normalise

NOTHING = 2.0
"""How many times as often failing starts must print a warning before it says anything."""
FEW = 2
"""Of how many runs that print it one may conclude anything."""
_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Counts:
    """Of how many healthy and failing runs each kind of warning was seen in how many."""

    healthy: int
    failing: int
    kinds: dict[str, tuple[int, int]]


def kind(text: str) -> str:
    """The kind of a warning."""
    return hashlib.sha256(normalise(text[:_LENGTH]).encode()).hexdigest()[:12]


def counted(runs: Iterable[Diagnosis]) -> Counts:
    """The table of these runs. In a failing one, only what was printed before its failure counts."""
    runs = list(runs)
    totals, seen = Counter[bool](), (Counter[str](), Counter[str]())
    for run in runs:
        failed = run.failure is not None
        totals[failed] += 1
        end = run.failure.line if run.failure else 0
        seen[failed].update({kind(w.text) for w in run.warnings if not failed or w.line < end})
    kinds = {name: (seen[False][name], seen[True][name]) for name in sorted({*seen[False], *seen[True]})}
    return Counts(totals[False], totals[True], kinds)


def weight(counts: Counts, name: str) -> float | None:
    """The log of how many times as often failing runs print it, 0 when healthy ones do so about as often.

    None when too few have printed it to say.
    """
    if name not in counts.kinds:
        return None
    healthy, failing = counts.kinds[name]
    if healthy + failing < FEW:
        return None
    ratio = (failing + 0.5) / (counts.failing + 1) * (counts.healthy + 1) / (healthy + 0.5)
    if ratio > NOTHING:
        return round(math.log(ratio), 2)
    return 0.0 if healthy else None


def weighed(diagnosis: Diagnosis, counts: Counts | None = None) -> Diagnosis:
    """The diagnosis with its warnings weighed, those that nobody has judged yet."""
    known = shipped() if counts is None else counts
    warnings = []
    for warning in diagnosis.warnings:
        name = kind(warning.text)
        found = None if warning.weight is not None or warning.why else weight(known, name)
        if found is not None:
            healthy, failing = known.kinds[name]
            why = f"printed by {healthy} of {known.healthy} healthy and {failing} of {known.failing} failing runs"
            warning = replace(warning, weight=found, why=why)
        warnings.append(warning)
    return replace(diagnosis, warnings=tuple(warnings))


@cache
def shipped() -> Counts:
    """The table that comes with ruleout."""
    text = (files("ruleout.diagnosis") / "warnings.json").read_text(encoding="utf-8")
    return read(text)


def read(text: str) -> Counts:
    """A table from its JSON."""
    data = json.loads(text)
    return Counts(data["healthy"], data["failing"], {name: (h, f) for name, (h, f) in data["kinds"].items()})


def written(counts: Counts) -> str:
    """A table as JSON, a kind a line."""
    rows = ",\n".join(f'  "{name}": [{h}, {f}]' for name, (h, f) in counts.kinds.items())
    return f'{{"healthy": {counts.healthy}, "failing": {counts.failing}, "kinds": {{\n{rows}\n}}}}\n'
