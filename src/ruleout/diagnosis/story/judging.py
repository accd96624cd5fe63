"""The target is the failure that most runs share; every other run is judged by whether it came past the place of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ruleout.model import Diagnosis, LogOutcome, OutcomeKind, Stage
from ruleout.model.story import Target
from ruleout.reading.signature import similar

_ORDER = {stage: number for number, stage in enumerate(Stage)}
_ORDER[Stage.UNKNOWN] = -1
_SOUND = (LogOutcome.HEALTHY, LogOutcome.STOPPED)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a run says about the target, and why."""

    says: OutcomeKind
    why: str


def target_of(runs: Sequence[Diagnosis], names: Sequence[str]) -> tuple[Target | None, list[int]]:
    """The target, and the numbers of the runs that show it, the one that tells most first."""
    kinds: list[list[int]] = []
    for number, run in enumerate(runs):
        if run.failure is None:
            continue
        kind = next((k for k in kinds if (f := runs[k[0]].failure) and similar(f, run.failure)), None)
        if kind is None:
            kinds.append([number])
        else:
            kind.append(number)
    if not kinds:
        return None, []
    kinds.sort(key=lambda kind: (_mistyped(runs[kind[0]]), -len(kind), min(_vague(runs[n]) for n in kind)))
    shown = sorted(kinds[0], key=lambda n: (_vague(runs[n]), -len(runs[n].settings)))
    lead = runs[shown[0]]
    assert lead.failure
    exposure = max((reached(runs[n]) for n in shown), key=_ORDER.__getitem__)
    why = _why(kinds, runs)
    shows = tuple(names[n] for n in sorted(shown))
    return Target(lead.failure.class_, lead.failure.signature, lead.stage, exposure, shows, why), shown


def judged(run: Diagnosis, target: Target, *, shows: bool) -> Judgement:
    """What a run says about a target."""
    if shows:
        return Judgement(OutcomeKind.REPRODUCED, "shows the target")
    where, came = _ORDER[target.exposure], reached(run)
    if run.failure is None:
        if run.outcome not in _SOUND:
            return Judgement(OutcomeKind.UNRESOLVED, f"does not say how it ended; {_reason(run)}")
        if _ORDER[came] < where:
            return Judgement(OutcomeKind.UNRESOLVED, f"never came to {target.exposure}, where the target shows")
        return Judgement(OutcomeKind.CLEAN, "nothing failed")
    if run.failure.inferred and _ORDER[came] <= where:
        return Judgement(OutcomeKind.UNRESOLVED, "no line tells what it failed of")
    if Stage.UNKNOWN in (target.exposure, run.stage):
        return Judgement(OutcomeKind.OTHER, "failed otherwise, and how far is not told")
    if run.outcome in _SOUND and _ORDER[came] >= where:
        return Judgement(OutcomeKind.CLEAN, "a request failed otherwise, and the server went on")
    if _ORDER[came] > where:
        return Judgement(
            OutcomeKind.CLEAN, f"came past {target.exposure}, where the target shows, and failed otherwise"
        )
    place = f"before {target.exposure}" if _ORDER[run.stage] < where else "no later than the target"
    return Judgement(OutcomeKind.OTHER, f"failed in {run.stage}, {place}")


def reached(run: Diagnosis) -> Stage:
    """The furthest stage that a run came to."""
    began = [span.name for span in run.stages if isinstance(span.name, Stage) and span.name is not Stage.SHUTDOWN]
    return max((*began, run.stage), key=_ORDER.__getitem__)


def sound(run: Diagnosis) -> bool:
    """A run that can be held against failing ones: nothing failed, and it came as far as serving or to its end."""
    if run.failure or run.outcome not in _SOUND:
        return False
    return run.outcome is LogOutcome.HEALTHY or _ORDER[reached(run)] >= _ORDER[Stage.READY]


def _mistyped(run: Diagnosis) -> bool:
    """It ended on its own arguments: a slip of the hand is the story of nobody who has another failure."""
    return run.stage is Stage.ARG_PARSING


def _vague(run: Diagnosis) -> tuple[bool, int]:
    """A failure that a line reports comes before one that was concluded, a later one before an earlier one."""
    assert run.failure
    return run.failure.inferred, -_ORDER[run.stage]


def _why(kinds: Sequence[Sequence[int]], runs: Sequence[Diagnosis]) -> str:
    shown = f"{len(kinds[0])} of {len(runs)} runs show it"
    if len(kinds) == 1:
        return f"{shown}, and nothing else failed"
    most = max(len(kind) for kind in kinds[1:])
    if len(kinds[0]) < most:
        return f"{shown}; what more runs failed of are their arguments"
    if len(kinds[0]) > most:
        return f"{shown}, more than any other failure"
    first, second = (max(_ORDER[runs[n].stage] for n in kind) for kind in kinds[:2])
    return f"{shown}, as often as another failure, but " + (
        "it came furthest" if first > second else "it was given first"
    )


def _reason(run: Diagnosis) -> str:
    return run.reason or "nothing failed as far as it tells"
