"""The trials of a page: a row each with a cell for every factor that moved, or, of very many, the ones that tell most.

A browser lays out some thousand cells at once and not a hundred thousand. So of a long investigation the matrix shows
the trials that the verdict rests on, the first and the last; each level is counted; and all trials stand, a line each,
in parts that are laid out when they are opened.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ruleout.model import Case, Factor, Trial, Verdict
from ruleout.report import words

MARKS = {"reproduced": "✗", "clean": "✓", "masked": "▒", "unresolved": "?", "unfinished": "…"}
"""Outcomes are told apart without colour, too."""
MOST, ENDS, NAMED = 200, 20, 60
"""Trials with a row each; of more than that, the first and last that have one, and of those the verdict names."""
PART = 500
"""Trials of a part that is opened by itself."""
_LOG = re.compile(r"trials/\d+/[\w.-]+")


@dataclass(frozen=True, slots=True)
class Cell:
    """What a trial did with a factor: empty at its baseline, else `moved`; `replaced` where the engine set another."""

    state: str
    told: str


@dataclass(frozen=True, slots=True)
class Row:
    """A trial of the matrix. `settings`: each factor with its level and a note, then what else the engine told."""

    trial: Trial
    outcome: str
    mark: str
    stage: str
    time: str
    changed: str
    judged: str
    cells: tuple[Cell, ...]
    settings: tuple[tuple[str, str, str], ...]
    log: str


@dataclass(frozen=True, slots=True)
class Part:
    """Some hundred trials in a row, a line each."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """What a page shows of the trials.

    Attributes:
        factors: those that moved in some trial; still: the names of the others.
        levels, parts: only where not all trials have a row.
    """

    factors: tuple[Factor, ...]
    still: tuple[str, ...]
    rows: tuple[Row, ...]
    levels: tuple[tuple[str, str, Counter[str]], ...]
    parts: tuple[Part, ...]


def matrix(case: Case, verdict: Verdict) -> Matrix:
    """The trials of a verdict, condensed where there are very many."""
    trials = verdict.trials
    moved = {name for trial in trials for name in trial.configuration.difference(case.baseline)}
    factors = tuple(f for f in case.factors if f.name in moved)
    still = tuple(f.name for f in case.factors if f.name not in moved)
    told = trials if len(trials) <= MOST else telling(verdict)
    rows = tuple(_row(case, factors, trial) for trial in told)
    if len(trials) <= MOST:
        return Matrix(factors, still, rows, (), ())
    parts = tuple(_part(case, trials[i : i + PART]) for i in range(0, len(trials), PART))
    return Matrix(factors, still, rows, _levels(case, factors, trials), parts)


def telling(verdict: Verdict) -> tuple[Trial, ...]:
    """Of very many trials the first, the last, and those that the verdict names."""
    found = verdict.confirmed_by
    named = [*found.sufficient, *found.necessary, *found.complete, found.baseline_again or 0]
    named += [one.trial for one in verdict.workarounds] + [n for one in verdict.ruled_out for n in one.because]
    named += [one.trial for one in verdict.masked[:ENDS]] + [p.after_trial for p in verdict.pivots[:ENDS]]
    first = words.target_trial(verdict)
    named += [] if first is None else [first.id]
    ends = {trial.id for trial in (*verdict.trials[:ENDS], *verdict.trials[-ENDS:])}
    kept = ends | set(dict.fromkeys(named[:NAMED]))
    return tuple(trial for trial in verdict.trials if trial.id in kept)


def link(log: str) -> str:
    """A log's address relative to the page; empty for anything that is no file of a trial."""
    return log if _LOG.fullmatch(log) else ""


def _row(case: Case, factors: Sequence[Factor], trial: Trial) -> Row:
    outcome = words.outcome(trial.outcome)
    instead = trial.outcome.effective if trial.outcome else {}
    settings = []
    for f in case.factors:
        level = trial.configuration.get(f.name, f.baseline)
        note = f"in effect: {instead[f.name]}" if f.name in instead else ""
        note = note or ("as in the baseline" if level == f.baseline else f"baseline: {f.baseline}")
        settings.append((f.name, level, note))
    told = {(name, level) for name, level, _ in settings}
    said = trial.outcome.resolved.items() if trial.outcome else ()
    settings += [(name, value, "says the engine") for name, value in said if (name, value) not in told]
    return Row(
        trial,
        outcome,
        MARKS[outcome],
        words.reached(trial),
        "told in notes" if words.hearsay(trial) else words.took(trial),
        words.ran(trial, case.baseline),
        _judged(trial),
        tuple(_cell(f, trial, instead.get(f.name)) for f in factors),
        tuple(settings),
        link(trial.log),
    )


def _judged(trial: Trial) -> str:
    """How it ended and why it is called so, the outcome's name said once."""
    if trial.outcome is None:
        return "Not judged yet."
    outcome, failure = words.outcome(trial.outcome), trial.outcome.failure
    why = trial.outcome.reason.removeprefix(outcome).removeprefix(": ")
    parts = [outcome.capitalize(), *([why] if why else []), *([failure.message] if failure else [])]
    return ": ".join(parts)


def _cell(factor: Factor, trial: Trial, instead: str | None) -> Cell:
    level = trial.configuration.get(factor.name, factor.baseline)
    if instead is not None:
        return Cell("replaced", f"{factor.name}: {level} asked for, {instead} in effect")
    return Cell("" if level == factor.baseline else "moved", f"{factor.name}: {level}")


def _levels(
    case: Case, factors: Sequence[Factor], trials: Sequence[Trial]
) -> tuple[tuple[str, str, Counter[str]], ...]:
    """How trials with each level ended."""
    counts: dict[tuple[str, str], Counter[str]] = {(f.name, level): Counter() for f in factors for level in f.levels}
    for trial in trials:
        outcome = words.outcome(trial.outcome)
        for f in factors:
            level = trial.configuration.get(f.name, f.baseline)
            counts.setdefault((f.name, level), Counter())[outcome] += 1
    return tuple((name, level, count) for (name, level), count in counts.items())


def _part(case: Case, trials: Sequence[Trial]) -> Part:
    ended = Counter(words.outcome(trial.outcome) for trial in trials)
    said = ", ".join(f"{ended[outcome]} {outcome}" for outcome in MARKS if ended[outcome])
    lines = []
    for trial in trials:
        outcome = words.outcome(trial.outcome)
        how = f"{MARKS[outcome]} {outcome:<11}{words.took(trial):>8}  {words.reached(trial):<19}"
        lines.append(f"{trial.id:>6} {how} {words.ran(trial, case.baseline)}")
    return Part(f"Trials {trials[0].id} to {trials[-1].id}: {said}", "\n".join(lines))
