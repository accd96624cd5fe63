"""A trial that is watched more closely: it says more of the failure, and nothing of the factors.

Watching changes what is watched. So an instrumented trial is no evidence about any configuration; that the failure is
gone while it is watched is itself something to know, and is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ruleout.diagnosis.ladder import ASYNC_ASSERT, CORE, NCCL, Step, reported_late, waiting_for_each
from ruleout.engines import recognise
from ruleout.investigation.evidence import FOLDER as GATHERED
from ruleout.model import (
    ABSENT,
    PRESENT,
    Case,
    Component,
    Configuration,
    Diagnosis,
    Evidence,
    Failure,
    FailureClass,
    Goal,
    NextStep,
    Observation,
    Outcome,
    OutcomeKind,
    Trial,
    Verdict,
    VerdictStatus,
    arguments,
)

WATCHED = "watched, since the failure is reported later than it happens: every kernel is waited for"
_DONE = (VerdictStatus.ISOLATED, VerdictStatus.WORKAROUND, VerdictStatus.NOT_REPRODUCED)


def instrument(case: Case, target: Failure | None, trials: Sequence[Trial]) -> Step | None:
    """How to watch the baseline once, where that would tell where the target is born; None: not, or not again.

    Of a command that is no known engine nobody knows what it makes of it: there it is offered only.
    """
    if target is None or case.engine == "command" or case.goal is not Goal.CAUSE or not reported_late(target):
        return None
    step = waiting_for_each(case.engine)
    known = case.env.keys() | set(case.command)
    return None if "CUDA_LAUNCH_BLOCKING" in known or any(t.instruments for t in trials) else step


def watched(case: Case, change: Configuration) -> Case:
    """The case with instruments on its command and in its environment, where no factor sets the same."""
    command, env = case.command, dict(case.env)
    for name, level in change.items():
        if any(factor.target == name for factor in case.factors):
            continue
        if arguments.variable(name) and (within := recognise(command).within) is not None:
            command = within.with_variable(name, level)
        elif arguments.variable(name):
            env[name] = level
        elif level in (PRESENT, ABSENT):
            command = (*arguments.without(command, name, lambda _: False), *([name] if level == PRESENT else []))
        else:
            command = (*arguments.without(command, name), name, level)
    return replace(case, command=command, env=env)


def watched_baseline(case: Case, change: Configuration) -> Configuration:
    """The baseline; a factor that sets what an instrument sets is moved to it, if it has such a level."""
    moved = {f.name: change[f.target] for f in case.factors if change.get(f.target) in f.others}
    return case.baseline.moved(moved)


def changes(step: Step) -> Configuration:
    """What a step of the ladder sets, as levels."""
    return Configuration({name: level or PRESENT for name, level in step.change.items() if level != ABSENT})


def seen_by(step: Step, outcome: Outcome, told: Diagnosis | None) -> Observation | None:
    """What an instrumented trial says of the target: where it is born, or that watching it changes it."""
    means = arguments.told(step.change)
    if outcome.kind is OutcomeKind.CLEAN:
        graphs = any(name.startswith("-") for name in step.change)
        text = f"observer effect: with {means} the failure did not show; {step.effect}"
        return Observation(text, Component.CUDA_GRAPH if graphs else None, 0.3 if graphs else 0.0)
    failure = told.failure if told is not None else None
    if outcome.failure is None or failure is None:
        return None
    line = (Evidence(failure.source, failure.line, failure.text),)
    if outcome.kind is OutcomeKind.OTHER:
        said = outcome.failure.message
        return Observation(f"observer effect: with {means} it fails otherwise: {said}", None, 0.0, line)
    if outcome.kind is OutcomeKind.REPRODUCED and failure.frames:
        text = f"with {means} it fails in {failure.frames[-1]}: there it is born, and not only noticed"
        return Observation(text, None, 0.0, line)
    return None


def offered(case: Case, verdict: Verdict) -> Verdict:
    """The verdict with the steps of the ladder that may still tell something, if the cause is not known."""
    target = verdict.failure
    if target is None or verdict.status in _DONE:
        return verdict
    minutes = max((t.minutes for t in verdict.trials), default=0.0)
    steps = tuple(
        NextStep(changes(step), f"gives {step.gives}; price: {step.price}; observer effect: {step.effect}", minutes)
        for step in _worth(case, target, verdict.trials)
        if not step.change.keys() & (case.env.keys() | set(case.command))
    )
    return replace(verdict, next=(*verdict.next, *steps))


def _worth(case: Case, target: Failure, trials: Sequence[Trial]) -> list[Step]:
    """By what the target is, and whether it was watched."""
    if reported_late(target):
        watched = any(trial.instruments for trial in trials)
        asserts = case.engine == "sglang" and target.class_ is FailureClass.DEVICE_SIDE_ASSERT
        return [*([] if watched else [waiting_for_each(case.engine)]), *([ASYNC_ASSERT] if asserts else []), CORE]
    waits = {one.component for t in trials if t.outcome for one in t.outcome.observed if _by_stacks(one)}
    together = target.class_ is FailureClass.NCCL_TIMEOUT_HANG or waits & {Component.NCCL, Component.ALLREDUCE}
    return [NCCL] if together else []


def _by_stacks(one: Observation) -> bool:
    return any(line.source == f"{GATHERED}/stacks.txt" for line in one.evidence)
