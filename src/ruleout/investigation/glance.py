"""Where a very long investigation stands, at a glance: of ten thousand trials only those are read that are told of.

The database counts; the last verdict is taken without its trials, and then those trials are looked up that it rests on.
Nothing is concluded here: while no verdict holds for all trials, the last leading hypothesis is what can be told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import yaml

from ruleout.investigation.folder import Folder
from ruleout.model import (
    Case,
    Configuration,
    Factor,
    Hypothesis,
    HypothesisStatus,
    Masked,
    Mechanism,
    Outcome,
    OutcomeKind,
    Trial,
    UsageError,
    Verdict,
    VerdictStatus,
)
from ruleout.model.plain import plain
from ruleout.store import DAMAGED, Store

MANY = 500
"""Trials from which on an investigation is glanced at instead of being read."""
JUDGED = (
    "$.outcome.kind",
    "$.minutes",
    "$.outcome.effective",
    "$.outcome.failure.exception",
    "$.outcome.failure.message",
)
IN_PASSING = "there are too many trials to conclude in passing"
REPLACED = 100
"""Trials with a setting that the engine replaced that are looked up at most."""


@dataclass(frozen=True, slots=True)
class Glance:
    """What is told.

    Attributes:
        case: its name, engine, command, environment and factors; nothing else is read of it.
        verdict: the last one if it holds for all trials, with those trials that it rests on and the last ones; else
            one without a conclusion, of which only what led is known.
        last: the last trials; open: the configurations under way.
        ended: how many trials ended how; minutes: of all of them together.
        concluded: the verdict holds for all trials.
    """

    case: Case
    verdict: Verdict
    last: tuple[Trial, ...]
    open: Mapping[int, Configuration]
    ended: Counter[str]
    minutes: float
    concluded: bool


def glance(folder: Folder, shown: int) -> Glance | None:
    """A glance with so many of the last trials; None for an investigation that is short enough to be read.

    Raises UsageError when there is none, or when it is damaged.
    """
    with Store(folder.path, writing=False) as store:
        judged = list(store.parts(("finished", "marked"), *JUDGED))
        if len(judged) <= MANY:
            return None
        try:
            return _glance(folder, store, judged, shown)
        except (ValueError, TypeError, KeyError) as problem:
            raise UsageError(
                f"{store.path}: an event is damaged: {' '.join(str(problem).split())[:120]}",
                DAMAGED,
            ) from None


def _glance(folder: Folder, store: Store, judged: list[tuple[Any, ...]], shown: int) -> Glance | None:
    case = _case(folder)
    kinds = {trial: OutcomeKind(outcome) for _, trial, outcome, *_ in judged}
    minutes = sum(minutes or 0.0 for _, _, _, minutes, *_ in judged)
    numbers = sorted(kinds)
    watched = {t for _, t in store.parts(("planned",), given="$.instruments") if t in kinds}
    first = next((t for t in numbers if kinds[t] is OutcomeKind.REPRODUCED and t not in watched), 0)
    replaced = [trial for _, trial, _, _, effective, *_ in judged if effective not in (None, "{}")]
    failures = {trial: ": ".join(filter(None, failure)) for _, trial, _, _, _, *failure in judged}
    verdict = _verdict(store, max(number for number, *_ in judged))
    concluded = verdict is not None
    if verdict is None:
        verdict = Verdict(VerdictStatus.INTERRUPTED, 0.0, hypotheses=_leading(store), why=IN_PASSING)
    elif any(factor.ordered and factor.name in _named(verdict) for factor in case.factors):
        return None  # which levels of a row were clean is told by all trials
    found = verdict.confirmed_by
    told = {*numbers[-shown:], *watched, first, *found.complete[:1], *replaced[:REPLACED]}
    told |= {one.trial for one in verdict.workarounds[:3]}
    trials = _trials(store, told & kinds.keys())
    other = (Masked(Configuration(), failures[t], t) for t in numbers if kinds[t] is OutcomeKind.OTHER)
    verdict = replace(verdict, trials=trials, masked=tuple(other))
    ended = Counter("masked" if kind is OutcomeKind.OTHER else kind.value for kind in kinds.values())
    last = tuple(trial for trial in trials if trial.id >= numbers[-shown:][0])
    return Glance(case, verdict, last, _open(store), ended, minutes, concluded)


def _verdict(store: Store, judged: int) -> Verdict | None:
    """The last verdict, without its trials; None where a trial was judged after it, by number of the event."""
    event = store.last("verdict", "$.verdict.trials", "$.verdict.masked")
    return None if event is None or event.id < judged else plain(Verdict, event.body["verdict"])


def _leading(store: Store) -> tuple[Hypothesis, ...]:
    event = store.last("leading")
    if event is None:
        return ()
    return (Hypothesis(event.body["claim"], event.body["probability"], HypothesisStatus.OPEN, (event.trial or 0,)),)


def _named(verdict: Verdict) -> set[str]:
    return {carrier.factor for cause in verdict.causes for carrier in cause}


def _trials(store: Store, numbers: Iterable[int]) -> tuple[Trial, ...]:
    plans: dict[int, Mapping[str, Any]] = {}
    found: dict[int, Trial] = {}
    for event in store.of_trials(sorted(numbers)):
        number, body = event.trial or 0, event.body
        if event.kind == "planned":
            plans[number] = body
        elif event.kind == "finished":
            plan = plans[number]
            found[number] = Trial(
                number,
                Configuration(plan["configuration"]),
                plan["purpose"],
                plain(Outcome, body["outcome"]),
                body["minutes"],
                body["log"],
                tuple(plan.get("without", ())),
                tuple(plan.get("why", ())),
                Configuration(plan.get("instruments", {})),
            )
        elif event.kind == "marked" and number in found:
            found[number] = replace(found[number], outcome=plain(Outcome, body["outcome"]))
    return tuple(found[number] for number in sorted(found))


def _open(store: Store) -> dict[int, Configuration]:
    """The trials that have not ended."""
    going = store.unended()
    planned = (e for e in store.of_trials(going) if e.kind == "planned") if going else ()
    return {event.trial or 0: Configuration(event.body["configuration"]) for event in planned}


def _case(folder: Folder) -> Case:
    """What is needed of a case that was read with all checks before it was kept. Raises UsageError."""
    try:
        document = yaml.load(folder.case.read_text(encoding="utf-8"), getattr(yaml, "CBaseLoader", yaml.BaseLoader))
        factors = document.get("factors") or {}
        command = document["command"]
        return Case(
            document["name"],
            document.get("engine") or "command",
            (command,) if isinstance(command, str) else tuple(command),
            tuple(_factor(name, factor) for name, factor in factors.items()),
            document.get("env") or {},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError):
        raise UsageError(f"{folder.case}: gone or not readable", "Put the case file back there.") from None


def _factor(name: str, told: Mapping[str, Any]) -> Factor:
    for mechanism in Mechanism:
        with suppress(KeyError):
            target = told[mechanism.value]
            levels = tuple(told.get("levels") or (target if isinstance(target, Mapping) else ()))
            ordered, proxy = (told.get(key) == "true" for key in ("ordered", "proxy"))
            return Factor(
                name,
                mechanism,
                target if isinstance(target, str) else "",
                levels,
                told["baseline"],
                ordered=ordered,
                proxy=proxy,
            )
    raise ValueError(name)
