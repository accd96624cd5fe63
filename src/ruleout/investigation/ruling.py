"""What an investigation gives to a rule: lines that failed and lines that did not, its cause, and the way out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ruleout.diagnosis.factors import component_of
from ruleout.diagnosis.scaffold import Traced
from ruleout.investigation.excerpting import excerpt, inside, length
from ruleout.investigation.folder import Folder
from ruleout.investigation.settings import setting_name
from ruleout.investigation.sharing import Sharer
from ruleout.investigation.suspecting import diagnosis_of
from ruleout.model import (
    ABSENT,
    PRESENT,
    Case,
    Component,
    Configuration,
    Factor,
    Failure,
    Mechanism,
    OutcomeKind,
    Suspicion,
    Trial,
    UsageError,
    Verdict,
    VerdictStatus,
    arguments,
)
from ruleout.model.codec import from_json, to_json
from ruleout.model.figures import percent

EXAMPLES = 2
BEFORE, AFTER = 8, 3
"""Lines of an example around the line that tells of the failure."""
LIKELY = 0.5
"""A suspect that is likelier than all others together."""
_TYPED = (Mechanism.FLAG, Mechanism.ENV)


def traced(folder: Folder, case: Case, verdict: Verdict, found: Suspicion, sharer: Sharer) -> Traced:
    """All of that, without secrets. Raises UsageError when nothing failed."""
    if verdict.failure is None:
        raise UsageError(f"{case.name}: it has not failed yet", "A rule is made from a failure that was seen.")
    causes = [[case.factor(c.factor) for c in cause if c.factor in case.baseline] for cause in verdict.causes]
    ways = _ways_out(case, verdict)
    claim, advice = _told(verdict, causes)
    alone = causes[0] if len(causes) == 1 else []  # of several, no log has to show all
    flags = [f for f in alone if f.mechanism is Mechanism.FLAG and f.baseline not in (ABSENT, PRESENT)]
    failing = _of(verdict, OutcomeKind.REPRODUCED)
    return Traced(
        _engine(folder, case, failing),
        from_json(Failure, sharer.value(to_json(verdict.failure))),
        _component(verdict, causes, found),
        sharer.text(claim),
        sharer.value(_typed(case, ways[0]) if ways else {}),
        tuple(sharer.text(_named(case, way)) for way in ways),
        sharer.value({setting_name(f): f.baseline for f in flags}),
        tuple(_unique(_around(folder, t, sharer) for t in failing)),
        (
            *_unique(_around(folder, t, sharer) for t in _of(verdict, OutcomeKind.OTHER)),
            *_unique(_healthy(folder, t, sharer) for t in _of(verdict, OutcomeKind.CLEAN)),
        ),
        sharer.text(advice),
    )


def _engine(folder: Folder, case: Case, failing: Sequence[Trial]) -> str:
    """Whose log it is: of a command that is only a command, the log says it. Empty where nothing does."""
    if case.engine != "command":
        return case.engine
    path = inside(folder.path, failing[0].log) if failing else None
    return diagnosis_of(path).engine.name if path else ""


def _component(verdict: Verdict, causes: Sequence[Sequence[Factor]], found: Suspicion) -> Component | None:
    """The part of the stack that the verdict stands for, or else the log, if more than all others; else None."""
    if verdict.status is VerdictStatus.ISOLATED:
        parts = {component_of(factor) for cause in causes for factor in cause}
        if parts != {None}:
            return parts.pop() if len(parts) == 1 else None
    elif verdict.status is VerdictStatus.ELSEWHERE and verdict.elsewhere.component is not Component.OTHER:
        return verdict.elsewhere.component
    likeliest = found.suspects[0] if found.suspects else None
    return likeliest.component if likeliest and likeliest.probability > LIKELY else None


def _told(verdict: Verdict, causes: Sequence[Sequence[Factor]]) -> tuple[str, str]:
    """The cause in words, no surer than the verdict, and what may help where no setting is to blame."""
    needed = [" together with ".join(f"{f.name}={f.baseline}" for f in cause) for cause in causes if cause]
    if verdict.status is VerdictStatus.ELSEWHERE or not needed:
        found = verdict.elsewhere
        return found.told.partition(": ")[2] or f"not traced to a setting: {found.brief}", found.advice
    told = f"it needs {needed[0]}" if len(needed) == 1 else f"any of these is enough: {'; '.join(needed)}"
    if verdict.status is VerdictStatus.ISOLATED:
        return told, ""
    return f"not proven, likeliest with {percent(verdict.probability)}: {told}", ""


def _ways_out(case: Case, verdict: Verdict) -> list[Configuration]:
    """What removes it; another model comes last."""
    models = {factor.name for factor in case.factors if factor.serves_another}
    return sorted((way.set for way in verdict.workarounds), key=lambda way: not models.isdisjoint(way))


def _typed(case: Case, way: Configuration) -> dict[str, str]:
    """A way out by flags and variables, as rules have it; empty where it takes more than those."""
    moved = [factor for factor in case.factors if factor.name in way]
    if any(factor.mechanism not in _TYPED for factor in moved):
        return {}
    return {f.target: "" if way[f.name] == PRESENT else way[f.name] for f in moved}


def _named(case: Case, way: Configuration) -> str:
    return arguments.told(_typed(case, way)) or str(way)


def _of(verdict: Verdict, kind: OutcomeKind) -> list[Trial]:
    return [t for t in verdict.trials if t.outcome and t.outcome.kind is kind and not t.instruments]


def _around(folder: Folder, trial: Trial, sharer: Sharer) -> str:
    """The line that tells of a trial's failure, with those around it."""
    failure = trial.outcome.failure if trial.outcome else None
    line = next((e for e in failure.evidence if e.line), None) if failure else None
    if line is None or line.source.startswith("evidence/"):
        return failure.message if failure and trial.outcome and trial.outcome.kind is OutcomeKind.OTHER else ""
    found = excerpt(folder.path, f"{trial.log.rpartition('/')[0]}/{line.source}", line.line, sharer.text)
    if found is None:
        return ""
    at = found.marked - found.first
    return "\n".join(text.rstrip() for text in found.lines[max(0, at - BEFORE) : at + AFTER + 1])


def _healthy(folder: Folder, trial: Trial, sharer: Sharer) -> str:
    """The end of a healthy log: what engines print when they are stopped looks like a failure to a loose pattern."""
    last = length(folder.path, trial.log)
    found = excerpt(folder.path, trial.log, last, sharer.text)
    return "\n".join(text.rstrip() for text in found.lines[-BEFORE - AFTER :]) if found else ""


def _unique(texts: Iterator[str]) -> list[str]:
    """The first few that differ."""
    return list(dict.fromkeys(text for text in texts if text.strip()))[:EXAMPLES]
