"""Of a cause whose levels have an order, the answer that is asked for: how far it works, and from where on it fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ruleout.model import Case, Factor, Limit, OutcomeKind, Trial, Verdict, VerdictStatus


def limited(case: Case, verdict: Verdict) -> Verdict:
    """The verdict with the limits of its cause, if that is one ordered factor; the nearest way out comes first.

    Where there are several causes, what fails at a level may be another one of them: then there is no limit to tell.
    """
    if verdict.status is not VerdictStatus.ISOLATED or len(verdict.causes) != 1 or len(verdict.causes[0]) != 1:
        return verdict
    factor = next((f for f in case.factors if f.name == verdict.causes[0][0].factor and f.ordered), None)
    if factor is None:
        return verdict
    limits = tuple(_limits(factor, verdict.trials))
    nearest = [{factor.name: limit.works} for limit in limits]
    ways = sorted(verdict.workarounds, key=lambda way: (len(way.set), dict(way.set) not in nearest))
    return replace(verdict, limits=limits, workarounds=tuple(ways))


def _limits(factor: Factor, trials: Sequence[Trial]) -> Iterator[Limit]:
    """On each side of the baseline, where there is one: the change between a level that fails and one that does not."""
    clean, failed = _levels(factor, trials, OutcomeKind.CLEAN), _levels(factor, trials, OutcomeKind.REPRODUCED)
    base = factor.levels.index(factor.baseline)
    for side in (factor.levels[base:], factor.levels[base::-1]):
        works = next((i for i, level in enumerate(side) if level in clean and level not in failed), None)
        if works is not None:
            fails = max(i for i, level in enumerate(side[:works]) if level in failed)
            between = side[fails + 1 : works]
            yield Limit(factor.name, side[works], clean[side[works]], side[fails], failed[side[fails]], between)


def _levels(factor: Factor, trials: Sequence[Trial], kind: OutcomeKind) -> dict[str, int]:
    """The levels that a trial of this kind had, with the first of them."""
    found: dict[str, int] = {}
    for trial in trials:
        if trial.outcome is not None and trial.outcome.kind is kind and not trial.without:
            found.setdefault(trial.configuration.get(factor.name, factor.baseline), trial.id)
    return found
