"""What to do next: the step that is likeliest to settle the cause comes first, for each minute that it takes.

The chance that a step settles it is the probability of the suspects that it speaks of, times how far its answer decides
(a trial of another backend decides less than the change that a rule names: what backends share may be at fault). The
minutes are those that the log itself tells: a start that fails after seconds is cheap to try again, a failure in decode
costs the load. Where it tells none, the order rests on what such steps usually take, and no number is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ruleout.diagnosis.alternatives import AFTER_CACHE, alternative
from ruleout.diagnosis.commandline import changed
from ruleout.diagnosis.flags import cost
from ruleout.diagnosis.ladder import BLOCKING, NCCL, reported_late, waiting_for_each
from ruleout.diagnosis.looks import looks
from ruleout.diagnosis.ran import on_cpu
from ruleout.diagnosis.view import View
from ruleout.model import Component, FailureClass, Stage, arguments
from ruleout.model.diagnosis import Diagnosis, ProposedStep, StepKind, Suspect

STEPS, WORTH_TRYING = 4, 0.08
"""How many steps are proposed, and how likely a suspect must be to be worth one; the first always is."""
OWN, OTHER, NOTED, DEBUG, VAGUE = 1.0, 0.6, 0.8, 0.4, 0.2
"""How far an answer decides: of a rule's change, a component's, a mending in words, a debug run, an advice in words."""
LOOKING, MENDING, STARTING, LOADING = 0.5, 3.0, 2.0, 10.0
"""Minutes for the order where the log tells none: of a look, a mending in words, a short start, one that loads."""

LATE = 600.0
"""From how many seconds of serving on a failure is late: a trial that went well for less proves nothing."""

TRACED = frozenset({"vllm", "sglang", "transformers"})
"""Engines that compute with torch's modules, so that a tracer sees them."""
_SHELL = re.compile(r"[;|&<>$`\n()]")
"""What a shell would do something with: such a command does not stand behind `--` as it is."""
_SERVING = frozenset({Stage.PREFILL, Stage.DECODE, Stage.CONCURRENCY})
_SHORT = frozenset({Stage.INSTALL_IMPORT, Stage.ARG_PARSING, Stage.MODEL_CONFIG, Stage.DISTRIBUTED_INIT})


@dataclass(frozen=True, slots=True)
class _Option:
    """A step with the suspects that it speaks of."""

    step: ProposedStep
    about: tuple[Component, ...]
    decides: float
    takes: float


def steps(view: View, found: Sequence[Suspect]) -> tuple[ProposedStep, ...]:
    """The next steps, the likeliest to settle the cause per minute first."""
    chance = {suspect.component: suspect.probability for suspect in found}
    options: list[_Option] = []
    for suspect in found:
        if options and suspect.probability < WORTH_TRYING:
            break
        for option in _options(view, suspect):
            _add(options, option)
    if found and (debug := _debugging(view.diagnosis, found)):
        _add(options, debug)
    if found and (trace := _tracing(view.diagnosis, found)):
        _add(options, trace)
    options.sort(key=lambda o: -sum(chance[c] for c in o.about) * o.decides / o.takes)
    return tuple(option.step for option in options[:STEPS])


def minutes(diagnosis: Diagnosis) -> float | None:
    """What another run takes until it fails, by this run's own times; None where the log tells none.

    The wait for a first request counts for nothing: a trial sends its own.
    """
    end = diagnosis.failure.line if diagnosis.failure else None
    spans = [s for s in diagnosis.stages if s.name is not Stage.READY and s.seconds and (end is None or s.line <= end)]
    return round(sum(s.seconds or 0.0 for s in spans) / 60, 2) or None


def served(diagnosis: Diagnosis) -> float:
    """How many seconds it served before it failed, as far as the log tells; the wait for a first request is none."""
    end = diagnosis.failure.line if diagnosis.failure else 0
    return sum(s.seconds or 0.0 for s in diagnosis.stages if s.name in _SERVING and s.line <= end)


def _lasting(diagnosis: Diagnosis) -> str:
    """What a good trial has to outlast, in words; empty where it failed soon."""
    seconds = served(diagnosis)
    if seconds < LATE:
        return ""
    return f"; a clean trial must last longer than {_told(seconds)} under this load: it failed after as long"


def _told(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def _options(view: View, suspect: Suspect) -> Iterator[_Option]:
    about = (suspect.component,)
    looked = list(looks(view, suspect))
    for look, command, says in looked:
        yield _Option(ProposedStep(StepKind.READ, says, {}, command), about, look.decides, LOOKING)
    change, note = alternative(view.diagnosis, suspect), suspect.fix.get("note")
    if change:
        rule = bool(suspect.rule) and ("set" not in suspect.fix or suspect.fix["set"] == change)
        yield _trial(view.diagnosis, change, about, OWN if rule else OTHER)
    roomy = suspect.component is Component.MEMORY  # of which there may be more by many ways
    if suspect.rule and "set" not in suspect.fix and isinstance(note, str) and (roomy or not change):
        mending = ProposedStep(StepKind.READ, f"if it is {suspect.component}: {note}")
        yield _Option(mending, about, NOTED, LOADING if change else MENDING)
    elif not change and not looked:
        yield _Option(
            ProposedStep(StepKind.READ, f"see whether {suspect.test}: then it is not {suspect.component}"),
            about,
            VAGUE,
            max(minutes(view.diagnosis) or 0.0, LOADING),  # it takes a run
        )


def _trial(diagnosis: Diagnosis, change: Mapping[str, str], about: tuple[Component, ...], decides: float) -> _Option:
    told = minutes(diagnosis)
    command = changed(diagnosis.command, change) if diagnosis.command else ""
    step = ProposedStep(
        StepKind.TRIAL, _refuted(about) + _lasting(diagnosis), dict(change), command, told, cost(change)
    )
    usual = STARTING if diagnosis.stage in _SHORT else LOADING
    return _Option(step, about, decides, max(told or usual, LOOKING))


def _debugging(diagnosis: Diagnosis, found: Sequence[Suspect]) -> _Option | None:
    """A run that fails where the fault is, for failures that are reported late; one that shows who waits for whom."""
    failure = diagnosis.failure
    about = tuple(suspect.component for suspect in found)
    if not failure or on_cpu(diagnosis):
        return None
    if reported_late(failure) and "probability tensor" not in failure.text:
        watched = waiting_for_each(diagnosis.engine.name) if diagnosis.stage in AFTER_CACHE else BLOCKING
        option = _trial(diagnosis, watched.change, about, DEBUG)
        gone = f"; if it is gone then, watching changed it ({watched.effect})"
        why = f"the error then names the kernel that failed{gone}{_lasting(diagnosis)}"
        return replace(option, step=replace(option.step, why=why))
    if failure.class_ is FailureClass.NCCL_TIMEOUT_HANG:
        option = _trial(diagnosis, NCCL.change, about, DEBUG)
        return replace(
            option, step=replace(option.step, why="each rank then says what it waits for, and over which path")
        )
    return None


def _tracing(diagnosis: Diagnosis, found: Sequence[Suspect]) -> _Option | None:
    """A run that is watched from inside, for failures of numbers: where they go bad is a place, and no cause yet."""
    failure = diagnosis.failure
    numbers = failure is not None and (
        failure.class_ in (FailureClass.NAN_INF, FailureClass.WRONG_OUTPUT) or "probability tensor" in failure.message
    )
    if not numbers or diagnosis.engine.name not in TRACED:
        return None
    command = arguments.uncommented(diagnosis.command.strip().lstrip("$ "))
    plain = command and not _SHELL.search(command)
    told = minutes(diagnosis)
    why = "it names the module and the operation in which a number first went bad, or the weight that brought it along"
    how = "" if plain else "ruleout trace -- COMMAND: "
    step = ProposedStep(StepKind.TRACE, f"{how}{why}", {}, f"ruleout trace -- {command}" if plain else "", told)
    return _Option(step, tuple(suspect.component for suspect in found), VAGUE, max(told or LOADING, LOOKING))


def _add(options: list[_Option], option: _Option) -> None:
    """A step once: one that would be proposed for two suspects speaks of both."""
    for number, other in enumerate(options):
        same = (
            option.step.change == other.step.change if option.step.change else option.step.command == other.step.command
        )
        if same and bool(option.step.change or option.step.command):
            about = tuple(dict.fromkeys((*other.about, *option.about)))
            why = other.step.why
            if option.step.kind is StepKind.TRIAL:
                why = why.replace(_refuted(other.about), _refuted(about))
            options[number] = replace(other, about=about, step=replace(other.step, why=why))
            return
    options.append(option)


def _refuted(about: Sequence[Component]) -> str:
    if tuple(about) == (Component.MEMORY,):
        return "it works then, or this frees too little, or it is not memory"
    return f"it works then, or it is {'neither' if about[1:] else 'not'} {' nor '.join(about)}"
