"""Several logs of one run: the first failure among them is the run's, by time where all bear one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from ruleout.model import Evidence, FailureClass
from ruleout.model.diagnosis import DiagnosedFailure, Diagnosis, EngineId, Environment, LogOutcome
from ruleout.reading.reading import CONSEQUENCES
from ruleout.reading.times import has_year, in_year

Read = tuple[Diagnosis, float | None]
_ENDS = (LogOutcome.STOPPED, LogOutcome.HEALTHY, LogOutcome.UNKNOWN)


def merged(parts: Sequence[Read]) -> Diagnosis:
    """One diagnosis of all. Raises ValueError when there is none."""
    if not parts:
        raise ValueError("the folder holds no log")
    if len(parts) == 1:
        return parts[0][0]
    failed = [part for part in parts if part[0].failure]
    like = next((time for _, time in failed if time is not None and has_year(time)), None)
    lead = min(failed, key=lambda part: _order(part, like))[0] if failed else _quiet([part[0] for part in parts])
    others = [part[0] for part in parts if part[0] is not lead]
    everything = [lead, *others]
    engine = next(
        (d.engine for d in everything if d.engine.version),
        next((d.engine for d in everything if d.engine.name), EngineId()),
    )
    return replace(
        lead,
        engine=engine,
        stages=lead.stages or next((d.stages for d in others if d.stages), ()),
        failure=lead.failure and _followed(lead.failure, others),
        environment=_joined([d.environment for d in everything]),
        settings=tuple({s.name: s for d in reversed(everything) for s in d.settings}.values()),
        warnings=tuple({w.text: w for d in reversed(everything) for w in d.warnings}.values()),
        command=next((d.command for d in everything if d.command), ""),
        sources=tuple(source for part in parts for source in part[0].sources),
    )


def _order(part: Read, like: float | None) -> tuple[bool, bool, float]:
    """What was read comes before what was concluded and before what only says that something else failed."""
    failure, time = part[0].failure, part[1]
    assert failure
    vague = failure.class_ in (FailureClass.OTHER, FailureClass.NCCL_TIMEOUT_HANG)
    return failure.inferred, vague and time is None, in_year(time, like) if time is not None else float("inf")


def _quiet(parts: Sequence[Diagnosis]) -> Diagnosis:
    return min(parts, key=lambda d: _ENDS.index(d.outcome) if d.outcome in _ENDS else len(_ENDS))


def _followed(failure: DiagnosedFailure, others: Sequence[Diagnosis]) -> DiagnosedFailure:
    """The failure with those of the other logs among its consequences."""
    theirs = [Evidence(f.source, f.line, f.text[:500]) for d in others if (f := d.failure) and not f.inferred]
    return replace(failure, consequences=(*failure.consequences, *theirs)[:CONSEQUENCES])


def _joined(found: Sequence[Environment]) -> Environment:
    values = {}
    for field in fields(Environment):
        values[field.name] = next((v for e in found if (v := getattr(e, field.name)) is not None), None)
    return Environment(**values)
