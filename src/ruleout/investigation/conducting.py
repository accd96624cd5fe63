"""One trial after another: written down, launched, read, judged, written down again. What a crash broke off is found.

The only place that launches anything. What to try, and what follows from it, is decided elsewhere.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from ruleout.diagnosis.ladder import waiting_for_each
from ruleout.engines import Engine
from ruleout.investigation.byhand import Given, judged
from ruleout.investigation.evidence import gathered
from ruleout.investigation.folder import NO_ROOM, Folder, require_room, write_whole
from ruleout.investigation.instruments import seen_by, watched
from ruleout.investigation.journal import Journal
from ruleout.investigation.judging import judge
from ruleout.investigation.launching import Prepared, prepare
from ruleout.investigation.listener import Listener, Plan
from ruleout.investigation.noted import Noted
from ruleout.investigation.reducing import without as taken_off
from ruleout.investigation.run import LOG, Run, read_run
from ruleout.investigation.settings import read_settings, replaced, resolved
from ruleout.investigation.timing import time_limit
from ruleout.investigation.tracing.launch import Tracer
from ruleout.investigation.tracing.step import is_trace, traced
from ruleout.model import Case, Configuration, MissingError, Observation, Trial
from ruleout.reasoning import Assessment
from ruleout.runners.base import Event, Runner


@dataclass(frozen=True)
class _Launched:
    number: int
    case: Case
    configuration: Configuration
    prepared: Prepared


class Conductor:
    """Runs the trials of one investigation."""

    def __init__(
        self, case: Case, folder: Folder, journal: Journal, engine: Engine, runner: Runner, listener: Listener
    ) -> None:
        self.case, self.folder, self.journal = case, folder, journal
        self.engine, self.runner, self.listener = engine, runner, listener
        self.cwd = Path(journal.cwd or ".")

    def trial(self, plan: Plan, assessment: Assessment | None = None) -> Trial:
        """Launch a plan and judge what came of it.

        Raises:
            MissingError: it could not even be launched, or the disk is full.
            UsageError: a factor cannot be set on this command.
        """
        launched = self._launched(plan, assessment)
        return self._ended(launched, self._run(launched))

    def batch(self, plans: Sequence[Plan], assessment: Assessment | None = None) -> None:
        """Launch several at once, and judge them in the order in which they were planned.

        Raises as `trial` does; what has ended by then is judged. A Ctrl-C ends all of them.
        """
        if len(plans) == 1:
            self.trial(plans[0], assessment)
            return
        launched = [self._launched(plan, assessment) for plan in plans]
        with ThreadPoolExecutor(len(launched), "trial") as pool:
            running = [pool.submit(self._run, one) for one in launched]
            try:
                wait(running)
            except KeyboardInterrupt:
                self.runner.interrupt()
                raise
        problems = []
        for one, events in zip(launched, running, strict=True):
            try:
                self._ended(one, events.result())
            except MissingError as problem:
                problems.append(problem)
        if problems:
            raise problems[0]

    def _launched(self, plan: Plan, assessment: Assessment | None) -> _Launched:
        """A trial that is written down and may be launched now."""
        number = self.journal.next_number
        require_room(self.folder.path)
        case = self._case(plan.without, plan.instruments)
        spool = self.folder.trial(number)
        launched = Tracer().on(case, spool) if is_trace(plan.instruments) else case
        prepared = prepare(launched, self.engine, plan.configuration, number, spool, self.cwd)
        without = tuple(sorted(plan.without))
        self.journal.planned(
            number, plan.configuration, plan.purpose, prepared.token, without, plan.why, plan.instruments
        )
        self.listener.started(number, plan, assessment)
        return _Launched(number, case, plan.configuration, prepared)

    def _run(self, launched: _Launched) -> list[Event]:
        return launched.prepared.run(self.runner, lambda event: self.listener.event(launched.number, event))

    def _ended(self, launched: _Launched, events: Sequence[Event]) -> Trial:
        number, refused = launched.number, launched.prepared.refused
        if refused:
            self.journal.add("abandoned", number, reason=refused)
            raise MissingError(f"trial {number}: {refused}", "Then go on with --resume.")
        try:
            require_room(self.folder.path, NO_ROOM)
        except MissingError as problem:
            self.journal.add("abandoned", number, reason=problem.what)
            raise
        return self._judged(number, self._read(launched.case, number, launched.configuration, events))

    def take(self, log: Given) -> Trial:
        """Take a log that was run by hand as a trial. The target has to be known."""
        target = self.journal.target
        assert target is not None
        number = self.journal.next_number
        require_room(self.folder.path, log.path.stat().st_size)
        spool = self.folder.trial(number)
        spool.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log.path, spool / LOG)
        self.journal.planned(number, log.configuration, log.purpose, log.digest)
        outcome = judged(self.case, target, log, LOG)
        trial = self.journal.finished(number, outcome, log.minutes, self.folder.log(number))
        self.listener.finished(trial)
        return trial

    def tell(self, one: Noted) -> Trial:
        """Take a trial that notes tell of. The target has to be known."""
        target = self.journal.target
        assert target is not None
        number = self.journal.next_number
        self.journal.planned(number, one.configuration, one.purpose, one.digest)
        trial = self.journal.finished(number, one.outcome(target), one.told.minutes, "")
        self.listener.finished(trial)
        return trial

    def recover(self) -> None:
        """Trials that were under way at a crash or a Ctrl-C: finished ones count, others will be begun again."""
        for number, plan in list(self.journal.open.items()):
            if plan.purpose.startswith("told: "):
                self.journal.add("abandoned", number, reason="it is told once more")
                continue
            events = list(self.runner.recover(self.folder.trial(number)))
            case = self._case(frozenset(plan.without), plan.instruments)
            run = self._read(case, number, plan.configuration, events)
            if run.broken_off:
                self.journal.add("abandoned", number, reason=run.broken_off)
            else:
                self._judged(number, run)

    def _case(self, without: frozenset[str], instruments: Configuration) -> Case:
        """The case as it is launched now."""
        limit = time_limit(self.case, self.journal.trials)
        case = watched(taken_off(self.case, without), instruments)
        return replace(case, times=self.journal.times, timeout=limit)

    def _read(self, case: Case, number: int, configuration: Configuration, events: Sequence[Event]) -> Run:
        spool = self.folder.trial(number)
        answers = [event for event in events if event["kind"] == "probe"]
        write_whole(spool / "answers.json", json.dumps(answers, indent=1, ensure_ascii=False) + "\n")
        gathered(events).keep(spool)
        return read_run(case, self.engine, self.engine.requests(case, configuration), spool, events)

    def _judged(self, number: int, run: Run) -> Trial:
        outcome = replace(judge(self.journal.target, run, self.case.target), observed=run.observed)
        configuration = self.journal.open[number].configuration
        told = read_settings(self.folder.path / self.folder.log(number))
        if told is not None:
            effective = replaced(self.case, configuration, told.settings)
            outcome = replace(outcome, effective=effective, resolved=resolved(told))
        if instruments := self.journal.open[number].instruments:
            if is_trace(instruments):
                seen: Observation | None = traced(self.case, instruments, outcome, self.folder.trial(number))
            else:
                seen = seen_by(waiting_for_each(self.case.engine), outcome, told)
            outcome = replace(outcome, observed=(*(() if seen is None else (seen,)), *outcome.observed))
        trial = self.journal.finished(number, outcome, run.minutes, self.folder.log(number))
        self.listener.finished(trial)
        return trial
