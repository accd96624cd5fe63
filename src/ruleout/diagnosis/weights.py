"""How much a warning says: how much more often failing starts print it than healthy ones, by a table of counts.

No line is weighed by its name. Which kind a warning is follows from its text (`kinds`); of each kind, the table has in
how many healthy and failing runs it was seen, by engine, since an engine can only print what it has. It is made from
logs by `tools/warning_weights.py`, and shipped with its counts. Of a kind that too few have printed nothing is said.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from ruleout.diagnosis.kinds import kind, names_of
from ruleout.model import Diagnosis
from ruleout.model.diagnosis import SURVIVED, LogWarning

FEW = 2
"""Of how many runs that print it one may conclude anything."""
CHANCE = 0.1
"""How likely it may be that so many of those that print it failed, were it printed regardless."""


@dataclass(frozen=True, slots=True)
class Seen:
    """In how many healthy runs of how many something was printed, and in how many failing ones of how many."""

    healthy: int
    of_healthy: int
    failing: int
    of_failing: int

    def __str__(self) -> str:
        healthy, failing = f"{self.healthy} of {self.of_healthy}", f"{self.failing} of {self.of_failing}"
        if not self.of_failing:
            return f"printed by {healthy} healthy runs; no failing one is known"
        return f"printed by {healthy} healthy and {failing} failing runs"

    @property
    def chance(self) -> float:
        """The probability that at least so many of those that print it failed, by chance alone; ties count half.

        Fisher's exact test, one-sided, with Lancaster's mid-P: https://doi.org/10.1080/01621459.1961.10482105
        """
        printed, runs = self.healthy + self.failing, self.of_healthy + self.of_failing
        ways = [
            math.comb(self.of_failing, n) * math.comb(self.of_healthy, printed - n)
            for n in range(self.failing, min(printed, self.of_failing) + 1)
        ]
        return (sum(ways) - ways[0] / 2) / math.comb(runs, printed)

    @property
    def log_ratio(self) -> float:
        """The logarithm of how many times as often failing runs print it, each rate with half a run more (Jeffreys)."""
        failing = (self.failing + 0.5) / (self.of_failing + 1)
        return round(math.log(failing * (self.of_healthy + 1) / (self.healthy + 0.5)), 2)


@dataclass(frozen=True, slots=True)
class Counts:
    """Of how many healthy and failing runs each kind of warning was seen in how many, by engine."""

    runs: dict[str, tuple[int, int]]
    kinds: dict[str, dict[str, tuple[int, int]]]

    def seen(self, name: str) -> Seen | None:
        """Where a kind was seen, among the runs of the engines that print it; None when nowhere."""
        rows = self.kinds.get(name)
        if not rows:
            return None
        healthy, failing = (sum(row[n] for row in rows.values()) for n in (0, 1))
        of_healthy, of_failing = (sum(self.runs[engine][n] for engine in rows) for n in (0, 1))
        return Seen(healthy, of_healthy, failing, of_failing)

    def __add__(self, other: Counts) -> Counts:
        kinds = {
            name: _added(self.kinds.get(name, {}), other.kinds.get(name, {})) for name in {*self.kinds, *other.kinds}
        }
        return Counts(_added(self.runs, other.runs), dict(sorted(kinds.items())))


def _added(one: dict[str, tuple[int, int]], two: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    none = (0, 0)
    return {k: (one.get(k, none)[0] + two.get(k, none)[0], one.get(k, none)[1] + two.get(k, none)[1])
            for k in sorted({*one, *two})}  # fmt: skip


def counted(runs: Iterable[Diagnosis]) -> Counts:
    """The table of these runs. In a failing one, only what was printed before its failure counts."""
    counts = Counts({}, {})
    for run in runs:
        one = (0, 1) if run.failure else (1, 0)
        names, engine = names_of(run), run.engine.name
        kinds = {kind(warning.text, names) for warning in run.warnings if _before_failure(run, warning)}
        counts += Counts({engine: one}, {name: {engine: one} for name in kinds})
    return counts


def _before_failure(run: Diagnosis, warning: LogWarning) -> bool:
    failure = run.failure
    if failure is None or failure.inferred or (warning.source and warning.source != failure.source):
        return True
    return warning.line < failure.line


def weight(seen: Seen | None) -> float | None:
    """The log of how many times as often failing runs print it, 0 when healthy ones do so about as often.

    None when too few have printed it to say.
    """
    if seen is None:
        return None
    if seen.healthy + seen.failing >= FEW and seen.chance <= CHANCE:
        return seen.log_ratio
    return 0.0 if seen.healthy else None


def weighed(diagnosis: Diagnosis, counts: Counts | None = None) -> Diagnosis:
    """The diagnosis with its warnings weighed, those that nobody has judged yet."""
    known, names = shipped() if counts is None else counts, names_of(diagnosis)
    warnings = []
    for warning in diagnosis.warnings:
        if warning.weight is None and not warning.why and (seen := known.seen(kind(warning.text, names))):
            warning = replace(warning, weight=weight(seen), why=str(seen))
        warnings.append(warning)
    return replace(diagnosis, warnings=tuple(warnings))


def against(diagnosis: Diagnosis, good: Sequence[Diagnosis], counts: Counts | None = None) -> Diagnosis:
    """The diagnosis with its warnings weighed against runs that went well, and before all by those of its engine.

    A warning that one of them prints too weighs nothing. For another, the table's counts are added to theirs; of a kind
    that no table knows, these runs alone are counted, since they are the same start with and without the failure.

    Raises ValueError when one of `good` failed.
    """
    if any(run.failure for run in good):
        raise ValueError("a run to compare with has failed itself")
    here, names = counted([replace(run, failure=None) for run in good]), names_of(diagnosis)
    known = (shipped() if counts is None else counts) + here
    engine = diagnosis.engine.name
    runs = here.runs.get(engine, (0, 0))[0]
    warnings = []
    for warning in diagnosis.warnings:
        name = kind(warning.text, names)
        if warning.why == SURVIVED:
            pass
        elif name in here.kinds:
            printed = sum(row[0] for row in here.kinds[name].values())
            warning = replace(warning, weight=0.0, why=f"printed by {printed} of {len(good)} good runs too")
        elif seen := known.seen(name):
            warning = replace(warning, weight=weight(seen), why=str(seen))
        elif runs and _before_failure(diagnosis, warning):
            seen = Seen(0, runs, 1, 1)
            warning = replace(warning, weight=seen.log_ratio, why=f"{seen}, those compared here")
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
    kinds = {name: {engine: (h, f) for engine, (h, f) in rows.items()} for name, rows in data["kinds"].items()}
    return Counts({engine: (h, f) for engine, (h, f) in data["runs"].items()}, kinds)


def written(counts: Counts) -> str:
    """A table as JSON, a kind a line."""
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in counts.kinds.items())
    return f'{{"runs": {json.dumps(counts.runs)}, "kinds": {{\n{rows}\n}}}}\n'
