"""Of a cause whose levels have an order, the answer that is asked for: how far it works, and from where on it fails.

A level that no longer shows the target but dies of something else later (a cache that fits, until it is filled) does
not work: the next one that was clean to its end does, and such a way out comes last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ruleout.model import Case, Cause, Factor, Limit, OutcomeKind, Trial, Verdict, VerdictStatus, Workaround, carried


def limited(case: Case, verdict: Verdict) -> Verdict:
    """The verdict with the limits of its cause's ordered factors; the nearest way out comes first.

    In a conjunction only those trials tell in which the rest of it was there: without the rest every level is clean.
    Where there are several causes, what fails at a level may be another one of them: then there is no limit to tell.
    """
    if verdict.status is not VerdictStatus.ISOLATED or len(verdict.causes) != 1:
        return replace(verdict, workarounds=_in_order(case, verdict))
    cause = verdict.causes[0]
    ordered = [f for carrier in cause for f in case.factors if f.name == carrier.factor and f.ordered]
    limits = tuple(limit for factor in ordered for limit in _limits(factor, _telling(case, cause, factor, verdict)))
    nearest = [{limit.factor: limit.works} for limit in limits]
    return replace(verdict, limits=limits, workarounds=_in_order(case, verdict, nearest))


def _in_order(case: Case, verdict: Verdict, nearest: Sequence[dict[str, str]] = ()) -> tuple[Workaround, ...]:
    """The ways out: those that last first, then those that keep the model, the smaller and the nearer ones."""
    died = {trial.id for trial in verdict.trials if not _lasts(trial)}
    models = {factor.name for factor in case.factors if factor.serves_another}

    def rank(way: Workaround) -> tuple[bool, bool, int, bool]:
        return way.trial in died, not models.isdisjoint(way.set), len(way.set), dict(way.set) not in nearest

    return tuple(sorted(verdict.workarounds, key=rank))


def _lasts(trial: Trial) -> bool:
    """No other failure came once the target could not show any more."""
    return trial.outcome is None or trial.outcome.failure is None


def _telling(case: Case, cause: Cause, factor: Factor, verdict: Verdict) -> list[Trial]:
    """The trials in which the rest of the cause was there."""
    made = (t for t in verdict.trials if not t.without and not (t.outcome and t.outcome.hearsay))
    return [t for t in made if carried(case, cause, t.configuration, factor.name)]


def _limits(factor: Factor, trials: Sequence[Trial]) -> Iterator[Limit]:
    """On each side of the baseline, where there is one: the change between a level that fails and one that does not."""
    clean = _levels(factor, [trial for trial in trials if _lasts(trial)], OutcomeKind.CLEAN)
    failed = _levels(factor, trials, OutcomeKind.REPRODUCED)
    died = {level for level in _levels(factor, trials, OutcomeKind.CLEAN) if level not in clean}
    base = factor.levels.index(factor.baseline)
    for side in (factor.levels[base:], factor.levels[base::-1]):
        works = next((i for i, level in enumerate(side) if level in clean and level not in failed), None)
        if works is not None:
            fails = max(i for i, level in enumerate(side[:works]) if level in failed)
            between = tuple(level for level in side[fails + 1 : works] if level not in died)
            yield Limit(factor.name, side[works], clean[side[works]], side[fails], failed[side[fails]], between)


def _levels(factor: Factor, trials: Sequence[Trial], kind: OutcomeKind) -> dict[str, int]:
    """The levels that a trial of this kind had, with the first of them."""
    found: dict[str, int] = {}
    for trial in trials:
        if trial.outcome is not None and trial.outcome.kind is kind:
            found.setdefault(trial.configuration.get(factor.name, factor.baseline), trial.id)
    return found
