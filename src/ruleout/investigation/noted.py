"""Trials that notes tell of: they say where to look, and what was run here says what is so.

Nobody has seen their logs, so they are hearsay: they move what is believed, and so the next trial; a cause is
confirmed, and a factor ruled out, by trials that were made here. What was made here as well is not asked any more.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ruleout.investigation.givens import Choice, factor_name
from ruleout.investigation.settings import same
from ruleout.model import (
    ABSENT,
    PRESENT,
    UNSET,
    Case,
    Configuration,
    Exposure,
    Factor,
    Failure,
    FailureClass,
    Mechanism,
    Notes,
    Outcome,
    OutcomeKind,
    Stage,
    ToldTrial,
    Unused,
    UsageError,
    arguments,
)
from ruleout.reading import signature
from ruleout.reading.notes import read_notes
from ruleout.reading.readable import check

MOST_BYTES = 16 << 20
"""Bytes of notes that are read."""
MOST_TIMES = 20
"""Runs of one kind that a place in notes counts for."""
MOST_CHOICES = 6
"""Factors of a command alone that come from notes."""
_SHORT = {"tp": "tensor-parallel-size", "pp": "pipeline-parallel-size", "dp": "data-parallel-size"}
"""Names of one setting that engines and people use."""
_SWITCHED_OFF = re.compile(r"(?:no|disable|skip|without)_")
_SWITCHES = {"on": True, "off": False, PRESENT: True, ABSENT: False}


@dataclass(frozen=True)
class Noted:
    """A trial of notes, as one of the case at hand. `digest`: by which it is known again."""

    source: str
    told: ToldTrial
    configuration: Configuration
    effective: Mapping[str, str]
    digest: str

    @property
    def purpose(self) -> str:
        """Where it comes from, as the trial's purpose."""
        return f"told: {Path(self.source).name}, line {self.told.line}"

    def outcome(self, target: Failure) -> Outcome:
        """What it says about the target: a failure that nobody here has seen is taken for what the notes call it."""
        kind = self.told.outcome
        reached, failure = target.exposure.stage, None
        if kind is OutcomeKind.REPRODUCED:
            failure = target
        elif kind is OutcomeKind.OTHER:
            message = self.told.failure or "another failure"
            reached = Stage.UNKNOWN
            said = signature(FailureClass.OTHER, "", message)
            failure = Failure(FailureClass.OTHER, Exposure(reached), message, said)
        reason = f"told by {self.source}, line {self.told.line}: {self.told.text}"
        return Outcome(kind, reached, reason, failure, self.effective, by_person=True, hearsay=True)


def read_note(path: str, data: bytes | None = None) -> Notes:
    """The notes in a file, or in `data` that came from elsewhere. Raises UsageError for what cannot be read."""
    if data is None:
        try:
            check(Path(path))
            with Path(path).open("rb") as stream:
                data = stream.read(MOST_BYTES)
        except OSError as problem:
            raise UsageError(f"{path}: {problem.strerror or problem}", "Name notes that can be read.") from None
    return read_notes(data, path)


def noted(case: Case, notes: Notes) -> tuple[list[Noted], list[Unused]]:
    """The trials of notes that are trials of this case, in their order, and why the others are none."""
    taken: list[Noted] = []
    left: list[Unused] = list(notes.unused)
    for told in notes.trials:
        changed, why = _levels(case, told.changes, exact=told.exact)
        effective, _ = _levels(case, told.effective, exact=told.exact, any_level=True)
        if told.outcome is OutcomeKind.UNRESOLVED:
            why = "it came to no end, so it tells nothing"
        if why:
            left.append(Unused(told.line, told.text, why))
            continue
        configuration = case.baseline.moved(changed)
        for number in range(min(told.times, MOST_TIMES)):
            mark = f"{notes.source}\0{told.line}\0{sorted(configuration.items())}\0{told.outcome}\0{number}"
            digest = hashlib.sha256(mark.encode("utf-8", "replace")).hexdigest()
            taken.append(Noted(notes.source, told, configuration, effective, digest))
    return taken, sorted(left, key=lambda one: one.line)


def choices(case: Case, notes: Sequence[Notes]) -> Iterator[Choice]:
    """What notes varied and the case does not, as factors: flags and variables, the first few."""
    levels: dict[str, list[str]] = {}
    where: dict[str, str] = {}
    for one in notes:
        for told in one.trials:
            for name, level in told.changes.items():
                if _target(case, name) is None and (name.startswith("--") or arguments.variable(name)):
                    levels.setdefault(name, []).append(level)
                    where.setdefault(name, f"varied in {Path(one.source).name}, line {told.line}")
    for name in list(levels)[:MOST_CHOICES]:
        flag = name.startswith("--")
        baseline = _baseline(case, name) if flag else case.env.get(name, UNSET)
        rows = tuple(dict.fromkeys([baseline, *levels[name]]))
        if len(rows) > 1:
            mechanism = Mechanism.FLAG if flag else Mechanism.ENV
            yield Choice(Factor(factor_name(name), mechanism, name, rows, baseline), where[name])


def _baseline(case: Case, flag: str) -> str:
    value = arguments.value_of(case.command, flag)
    return value if value is not None else PRESENT if flag in case.command else ABSENT


# -- names and levels of notes, as those of the case -----------------------------------------------------------


def _levels(
    case: Case, changes: Mapping[str, str], *, exact: bool, any_level: bool = False
) -> tuple[dict[str, str], str]:
    """The levels that changes are, and why they are none of this case; empty where they are.

    Args:
        exact: names are those of factors; any_level: levels that the case does not have are kept.
    """
    found: dict[str, str] = {}
    for name, level in changes.items():
        factor = next((f for f in case.factors if f.name == name), None) if exact else _target(case, name)
        if factor is None:
            return {}, f"{name} is no factor of the case"
        known = level if exact and level in factor.levels else _level(factor, name, level)
        if known is None and not any_level:
            has = ", ".join(factor.levels[:8])
            return {}, f"{name} {level}: {factor.name} has no such level ({has})"
        found[factor.name] = level if known is None else known
    return found, ""


def _target(case: Case, name: str) -> Factor | None:
    """The factor that a name means: by its own name, by its flag or variable, or by the words of them."""
    plain = _plain(name)
    for factor in case.factors:
        if plain in (_plain(factor.name), _plain(factor.target)) or name == factor.target:
            return factor
    words = _words(plain)
    alike = [f for f in case.factors if words in (_words(_plain(f.name)), _words(_plain(f.target)))]
    return alike[0] if len(alike) == 1 else None


def _plain(name: str) -> str:
    word = name.lstrip("-").replace("-", "_").lower()
    return _SHORT.get(word, word).replace("-", "_")


def _words(plain: str) -> frozenset[str]:
    """The words of a name, whether it switches on or off: `no_cuda_graph` and `cuda_graphs` speak of one thing."""
    words = re.split(r"[_.]+", _SWITCHED_OFF.sub("", plain, count=1).removeprefix("enable_").removeprefix("use_"))
    return frozenset(word.removesuffix("s").removesuffix("ing") for word in words if word)


def _level(factor: Factor, name: str, level: str) -> str | None:
    """The level of a factor that is meant; None where it has none such."""
    known = next((one for one in factor.levels if one == level), None)
    turned = bool(_SWITCHED_OFF.match(_plain(name))) != bool(_SWITCHED_OFF.match(_plain(factor.target or factor.name)))
    if level in _SWITCHES and (turned or known is None):
        on = _SWITCHES[level] != turned
        spelt = (PRESENT, "on", "1", "true") if on else (ABSENT, "off", "0", "false", UNSET)
        return next((one for one in factor.levels for s in spelt if same(one, s)), None)
    return known or next((one for one in factor.levels if same(one, level)), None)
