"""What the baseline's log makes likely, noted once: it decides what is tried first, and proves nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ruleout.diagnosis.diagnose import diagnosed
from ruleout.diagnosis.factors import component_of, of_no_factor, priors
from ruleout.investigation.evidence import FOLDER as GATHERED
from ruleout.investigation.settings import resolved, setting_name
from ruleout.model import (
    Advice,
    Assumption,
    AssumptionSource,
    AssumptionStatus,
    Case,
    Component,
    Configuration,
    Diagnosis,
    Elsewhere,
    Evidence,
    FailureClass,
    Observation,
    OutcomeKind,
    Suspicion,
    Trial,
    Verdict,
    VerdictStatus,
)
from ruleout.model.diagnosis import ChosenBy, Suspect
from ruleout.model.verdict import MAY_HELP, OWN_CHOICE, SPEAKS_FOR
from ruleout.reading.diagnose import read_run

DIGITS = 4
WRONG = frozenset({FailureClass.WRONG_OUTPUT, FailureClass.NAN_INF, FailureClass.ACCURACY_LOSS})
SHARED = (
    "the cause is in none of the factors that were varied, and already the first answer is wrong: what all trials "
    "share is the checkpoint; compare its files with the published ones, look in them for values that are not finite, "
    "or serve it with another engine"
)
CHOICES = 8
"""How many of the engine's own choices are listed as never varied."""


def suspicion(
    case: Case,
    log: Path,
    observed: Sequence[Observation] = (),
    before: Sequence[Suspect] = (),
    *,
    watched: bool = False,
) -> Suspicion:
    """The suspects of a failing run, by its log and what was seen of it besides, and the factors they speak of.

    Args:
        before: what an audit made likely before the run; its share is what the log leaves unexplained.
    """
    if not log.is_file():
        return Suspicion()
    read = with_observed(diagnosis_of(log, watched=watched), observed)
    audited = [replace(one, probability=one.probability * read.unexplained) for one in before]
    suspects = tuple(sorted((*read.suspects, *audited), key=lambda one: -one.probability))
    told = priors(suspects, case.factors)
    warned = [Evidence(w.source, w.line, w.text) for w in read.warnings]
    engines = {s.name for s in read.settings if s.chosen_by is ChosenBy.ENGINE}
    chosen = {name: value for name, value in resolved(read).items() if name in engines}
    return Suspicion(
        suspects,
        {name: round(p, DIGITS) for name, p in told.items()},
        round(of_no_factor(_seen(observed), case.factors), DIGITS),
        _advised(case, warned),
        chosen,
    )


def _seen(observed: Sequence[Observation]) -> list[Suspect]:
    """What processes, devices and traces told, as suspects of their own.

    Only these may speak for a cause in no factor: logs name parts of the stack that no factor stands for as a rule.
    """
    return [Suspect(one.component, one.text, one.weight) for one in observed if one.component is not None]


def diagnosis_of(log: Path, *, watched: bool = False) -> Diagnosis:
    """What a run's log says, with its suspects. `watched`: every kernel was waited for, so its stack is the place."""
    run = read_run([log])
    read = run.diagnosis
    if watched and read.failure is not None:
        read = replace(read, failure=replace(read.failure, asynchronous=False))
    return diagnosed(read, run.near, run.lines)


def with_observed(read: Diagnosis, observed: Sequence[Observation]) -> Diagnosis:
    """The diagnosis with what processes and devices told: each observation takes its share from all other suspects."""
    for one in observed:
        if one.component is None or not one.weight:
            continue
        rest = [replace(s, probability=s.probability * (1 - one.weight)) for s in read.suspects]
        same = next((s for s in rest if s.component is one.component), Suspect(one.component, "", 0.0))
        claim = f"{one.text}; {same.claim}" if same.claim else one.text
        more = replace(
            same,
            claim=claim,
            probability=same.probability + one.weight,
            evidence=(*one.evidence[:1], *same.evidence),
        )
        suspects = sorted([more, *(s for s in rest if s is not same)], key=lambda s: -s.probability)
        read = replace(read, suspects=tuple(suspects), unexplained=read.unexplained * (1 - one.weight))
    return read


def _advised(case: Case, lines: Sequence[Evidence]) -> tuple[Advice, ...]:
    """The levels, other than the baseline's, that warnings name together with their factor."""
    found = []
    for factor in case.factors:
        for level in factor.others if not factor.proxy else ():
            names = {factor.name, factor.target.lstrip("-")} - {""}
            words = "|".join(re.escape(name) for name in sorted(names))
            both = re.compile(rf"(?i)(?:{words})\W{{1,4}}{re.escape(level)}(?![\w.]*\w)")
            line = next((line for line in lines if both.search(line.text)), None)
            if line is not None:
                found.append(Advice(factor.name, level, line))
    return tuple(found)


def to_test(case: Case, found: Suspicion, trials: Sequence[Trial]) -> Configuration | None:
    """The baseline with the first advised level that nobody has tried by itself: a person would try it at once."""
    for one in found.advised:
        configuration = case.baseline.moved({one.factor: one.level})
        forbidden = any(all(configuration.get(f) == level for f, level in never.items()) for never in case.never)
        if not forbidden and not any(t.configuration == configuration for t in trials):
            return configuration
    return None


def assumptions(case: Case, found: Suspicion, trials: Sequence[Trial]) -> tuple[Assumption, ...]:
    """What the log's own advice takes for granted, and what became of it in the trials."""
    return tuple(
        Assumption(
            f"{one.factor}={one.level} is a way out ({one.evidence.source}:{one.evidence.line} says so)",
            AssumptionSource.RULE,
            f"the baseline with {one.factor}={one.level}",
            _status(case.baseline.moved({one.factor: one.level}), trials),
        )
        for one in found.advised
    )


def _status(configuration: Configuration, trials: Sequence[Trial]) -> AssumptionStatus:
    """Held once it was clean by itself; refuted once it failed in whatever way, for then it is no way out."""
    kinds = {t.outcome.kind for t in trials if t.outcome and t.configuration == configuration}
    if kinds & {OutcomeKind.OTHER, OutcomeKind.REPRODUCED}:
        return AssumptionStatus.REFUTED
    return AssumptionStatus.HELD if OutcomeKind.CLEAN in kinds else AssumptionStatus.OPEN


def explained(case: Case, verdict: Verdict, found: Suspicion) -> Verdict:
    """The verdict with what the log's advice came to, and the likeliest component that no factor stands for."""
    verdict = replace(
        verdict,
        assumptions=(*verdict.assumptions, *assumptions(case, found, verdict.trials)),
        never_varied=(*verdict.never_varied, *_kept_choices(case, found, verdict.trials)),
    )
    outside = _outside(case, found)
    if outside is None and not found.suspects and _wrong_at_once(verdict):
        elsewhere = Elsewhere(verdict.elsewhere.probability, Component.WEIGHTS_CHECKPOINT, SHARED)
        return replace(verdict, elsewhere=elsewhere)
    if outside is None or not verdict.elsewhere.probability:
        return verdict
    seen = bool(outside.evidence) and outside.evidence[0].source.startswith(f"{GATHERED}/")
    tells = "what was seen of it" if seen else "the log"
    claim = f"the cause is in none of the factors that were varied; {tells} {SPEAKS_FOR}{outside.component}: "
    note = outside.fix.get("note")
    way_out = f"{MAY_HELP}{note}" if note else ""
    whole = claim + outside.claim + way_out
    elsewhere = Elsewhere(verdict.elsewhere.probability, outside.component, whole, outside.evidence)
    return replace(verdict, elsewhere=elsewhere)


def _wrong_at_once(verdict: Verdict) -> bool:
    """No setting is left, the log names no error, and the very first answer is wrong."""
    failure = verdict.failure
    return (
        verdict.status is VerdictStatus.ELSEWHERE
        and failure is not None
        and failure.class_ in WRONG
        and failure.exposure.step == 1
        and not any(line.line for line in failure.evidence)
    )


def _kept_choices(case: Case, found: Suspicion, trials: Sequence[Trial]) -> list[str]:
    """What the engine chose by itself, was the same wherever a trial says something, and no factor stands for."""
    factors = {setting_name(factor) for factor in case.factors}
    told = [t.outcome.resolved for t in trials if t.outcome and t.outcome.informative and t.outcome.resolved]
    return [
        f"{name}={value}{OWN_CHOICE}"
        for name, value in found.chosen.items()
        if name not in factors and all(seen.get(name, value) == value for seen in told)
    ][:CHOICES]


def _outside(case: Case, found: Suspicion) -> Suspect | None:
    varied = {component_of(factor) for factor in case.factors if not factor.proxy}
    return next((suspect for suspect in found.suspects if suspect.component not in varied), None)
