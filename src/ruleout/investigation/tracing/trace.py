"""A trace of a deployment: one launch with a tracer in its processes, and another only where that one left a question.

Two questions are worth another launch: which operation it was, where the engine died of the first bad number before it
could come again; and whether the failure is there at all, where what had to be changed in order to see made it go away.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ruleout.engines import Engine, engine_named
from ruleout.investigation.folder import TRACES
from ruleout.investigation.launching import refuse_elsewhere
from ruleout.investigation.tracing.eager import Eager, eager
from ruleout.investigation.tracing.error import engine_error, of_numbers
from ruleout.investigation.tracing.launch import CACHE, Launched, Tracer, clear, launch
from ruleout.investigation.tracing.reach import refuse_unreachable, why_unheard
from ruleout.investigation.tracing.replay import replay
from ruleout.model import Case, FailureClass, MissingError, Mode
from ruleout.model.traced import Effect, Presence, Trace, TraceLaunch
from ruleout.numerics.conclusion import Concluded, concluded
from ruleout.numerics.speaking import speaks_for
from ruleout.numerics.telling import told
from ruleout.runners.base import Event, Runner

CHEAP_MINUTES = 5.0
"""Of a launch, from which on another one only for the effect of eager mode is left to whoever asks for it."""
NUMERIC = frozenset({FailureClass.WRONG_OUTPUT, FailureClass.NAN_INF, FailureClass.ACCURACY_LOSS})
"""Failures that only a model that ran can show."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is asked for besides.

    Attributes:
        record: statistics of every tensor of every module call are kept.
        keep_graphs: the command is launched as it is, graphs and compiled code included.
    """

    record: bool = False
    keep_graphs: bool = False


def next_folder(home: Path) -> Path:
    """The folder of the next trace, below that of the investigation."""
    taken = [int(path.name) for path in (home / TRACES).glob("[0-9]*") if path.name.isdecimal()]
    return home / TRACES / f"{max(taken, default=0) + 1:04d}"


def trace_case(case: Case, folder: Path, runner: Runner, wishes: Wishes, tell: Tell) -> Trace:
    """Trace the baseline of a case; its logs, records, tensors and replay scripts stay in `folder`.

    Raises:
        MissingError: it cannot be launched, or no process with the model took the tracer in; the message says why.
        UsageError: the command cannot be handled.
    """
    refuse_elsewhere(case)
    refuse_unreachable(case, folder.parent)
    return _Tracing(case, engine_named(case.engine), folder, runner, wishes, tell).trace()


@dataclass
class _Look:
    """A launch and what its records came to."""

    launched: Launched
    concluded: Concluded

    @property
    def bad(self) -> bool:
        """A number was bad, or the command failed."""
        return self.concluded.born is not None or self.launched.run.failure is not None


def _tells(look: _Look) -> tuple[bool, bool, bool]:
    """How much a launch tells: an operation more than a module, that more than a failure."""
    born = look.concluded.born
    return born is not None and bool(born.operation), born is not None, look.bad


def _refuses(look: _Look, seen: Eager) -> bool:
    """The command failed in its start, and names a flag that was set in order to see."""
    failure = look.launched.run.failure
    if failure is None or failure.exposure.step:
        return False
    told = [failure.message, *(line.text for line in failure.evidence)]
    return any(flag in text for flag in seen.levels for text in told)


@dataclass
class _Tracing:
    case: Case
    engine: Engine
    folder: Path
    runner: Runner
    wishes: Wishes
    tell: Tell
    looks: list[_Look] = field(default_factory=list)
    launched: int = 0

    def trace(self) -> Trace:
        seen = Eager(self.case) if self.wishes.keep_graphs else eager(self.case)
        if seen.change:
            self.tell(f"  set for it: {seen.change}, since graphs and compiled code hide modules")
        first = self._look(seen.case)
        if _refuses(first, seen):
            self.tell(f"  it does not take {seen.change}; launched once more, without")
            self.looks.clear()
            seen = Eager(self.case)
            first = self._look(seen.case)
        self._require_heard(first)
        effects = [Effect(seen.change, Presence.STAYS if first.bad else Presence.UNTESTED)] if seen.change else []
        born = first.concluded.born
        if born is not None and not born.explained:
            self.tell(f"  a bad number is born in {born.module}; launched once more, for its operation")
            self._look_again(seen.case, arm=born.module if born.exact else "*")
        elif seen.change and not first.bad and first.launched.run.minutes <= CHEAP_MINUTES:
            self.tell(f"  all was finite with {seen.change}; launched once more, without")
            second = self._look_again(self.case)
            if second is not None and second.bad:
                effects = [Effect(seen.change, Presence.GONE)]
        return self._answer(tuple(effects))

    def _look_again(self, case: Case, arm: str = "") -> _Look | None:
        """Another launch; None where it could not be made: then the first has to do."""
        try:
            return self._look(case, arm)
        except MissingError as problem:
            self.tell(f"  that launch told nothing: {problem.what}")
            return None

    def _look(self, case: Case, arm: str = "") -> _Look:
        self.launched += 1
        spool = self.folder / f"launch-{self.launched}"
        if case.engine == "vllm" and "--enforce-eager" not in case.command:
            # What is compiled with hooks in place must not be found by a start without them.
            case = replace(case, env={**case.env, "VLLM_CACHE_ROOT": str(spool / CACHE)})
        tracer = Tracer(self.wishes.record, arm)
        launched = launch(case, self.engine, self.launched, spool, Path.cwd(), tracer, self.runner, self._event)
        clear(launched)
        if launched.run.broken_off:
            raise MissingError(f"it was broken off: {launched.run.broken_off}", "Trace it again.")
        self.looks.append(_Look(launched, concluded(launched.records, len(self.looks) + 1)))
        return self.looks[-1]

    def _event(self, event: Event) -> None:
        if event["kind"] == "started":
            waits = "waiting until it is ready" if self.case.mode is Mode.SERVE else "waiting for its end"
            self.tell(f"  launched with the tracer; {waits}")
        elif event["kind"] == "ready":
            self.tell(f"  ready after {float(event.get('seconds') or 0):.0f} s; asking")

    def _require_heard(self, look: _Look) -> None:
        """Raises MissingError when no process with the model can have been seen, so that nothing can be said."""
        found, run = look.concluded, look.launched.run
        ran = run.steps > 0 or run.failure is None or run.failure.class_ in NUMERIC
        if found.handshakes and (found.called or not ran):
            return
        if not found.handshakes and found.pythons and not ran:
            return  # it failed before torch was even imported: the log has the answer
        if found.handshakes:
            reason = "processes with torch took the tracer in, but none of them called a module of a model"
            remedy = "The model runs elsewhere: give the command that starts its process, or leave out graphs."
        else:
            reason, remedy = why_unheard(self.case, found.pythons)
        error = engine_error(look.launched, self.folder)
        failed = f"; the command itself failed: {error.message}" if error is not None else ""
        log = look.launched.log
        raise MissingError(f"no process with the model could be traced: {reason}{failed}", f"{remedy} Log: {log}")

    def _answer(self, effects: tuple[Effect, ...]) -> Trace:
        best = max(self.looks, key=_tells)  # of those that tell as much, the first
        born, weights = best.concluded.born, best.concluded.weights
        if born is not None and born.tensors:
            script = replay(best.concluded.operation, self.folder / "replay")
            tensors = Path(born.tensors) if script is None else script.with_suffix(".safetensors")
            born = replace(born, tensors=self._named(tensors), replay=self._named(script) if script else "")
        failures = [look.launched.run.failure for look in self.looks if look.launched.run.failure is not None]
        errors = [error for look in self.looks if (error := engine_error(look.launched, self.folder)) is not None]
        found = best.concluded.found(bool(failures), any(of_numbers(failure) for failure in failures))
        trace = Trace(
            found,
            born,
            weights,
            errors[0] if errors else None,
            best.concluded.handshakes,
            best.concluded.coverage,
            effects,
            tuple(self._launch(look) for look in self.looks),
            speaks_for(found, born)[0],
        )
        return replace(trace, told=told(trace))

    def _launch(self, look: _Look) -> TraceLaunch:
        launched = look.launched
        command = self.engine.launch(launched.case, launched.case.baseline).argv
        log, records = self._named(launched.log), self._named(launched.records)
        return TraceLaunch(command, log, records, round(launched.run.minutes, 4))

    def _named(self, path: Path) -> str:
        return os.path.relpath(path, self.folder)
