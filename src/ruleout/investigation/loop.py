"""The investigation: plan, journal, run, read, judge, update, stop. The only place where the parts meet.

Each round starts from the journal alone, so a round that was cut short by a crash is simply begun again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ruleout.engines import Engine
from ruleout.investigation.byhand import Given, judged
from ruleout.investigation.folder import NO_ROOM, Folder, require_room, write_whole
from ruleout.investigation.journal import Journal
from ruleout.investigation.judging import judge
from ruleout.investigation.launching import prepare, refuse_elsewhere
from ruleout.investigation.listener import Listener
from ruleout.investigation.run import LOG, Run, read_run
from ruleout.investigation.settings import replaced, resolved, settings_in
from ruleout.investigation.suspecting import explained, suspicion, to_test
from ruleout.model import (
    Budget,
    Case,
    Configuration,
    Goal,
    Mechanism,
    MissingError,
    OutcomeKind,
    Suspicion,
    Trial,
    Verdict,
    VerdictStatus,
    Workaround,
)
from ruleout.model.codec import to_json
from ruleout.reasoning import Assessment, assess, conclude, leading_claim
from ruleout.runners.base import Event, Runner

BASELINE_RUNS = 5
"""Clean baselines until the failure counts as not reproduced: five exclude a rate above 45 % at 95 %."""
DEFAULT_TRIALS = 100
ADVISED = "the log itself advises it: to be seen once, by itself"


class Investigation:
    """One investigation in its folder."""

    def __init__(
        self,
        case: Case,
        folder: Folder,
        journal: Journal,
        engine: Engine,
        runner: Runner,
        listener: Listener,
        given: Sequence[Given] = (),
    ) -> None:
        self.case, self.folder, self.journal, self.given = case, folder, journal, given
        self.engine, self.runner, self.listener = engine, runner, listener
        self.cwd = Path(journal.cwd or ".")

    def run(self, budget: Budget) -> Verdict:
        """Trials until there is a verdict. Ctrl-C ends the trial under way and gives the verdict so far.

        Raises:
            MissingError: the deployment cannot even be launched (command, port, room on the disk).
            UsageError: a factor cannot be set on this command.
        """
        check_launches(self.case, self.engine)
        try:
            self._recover()
            verdict = self._trials(budget)
        except KeyboardInterrupt:
            self.listener.interrupted()
            self._recover()
            verdict = self._conclude(None, VerdictStatus.INTERRUPTED)
        self.journal.add("verdict", verdict=to_json(verdict))
        return verdict

    def _trials(self, budget: Budget) -> Verdict:
        while True:
            trials = self.journal.trials
            assessment, step, purpose = None, None, ""
            if self.journal.target is None:
                if (verdict := self._baseline_verdict(trials)) is not None:
                    return verdict
                step, purpose = self.case.baseline, "the baseline"
            elif taken := self._take(trials):
                self.listener.finished(taken)
                continue
            else:
                assessment = self._assess(trials)
                if found := self._workarounds(trials):
                    verdict = self._conclude(assessment, VerdictStatus.WORKAROUND)
                    # The reasoning asks for more clean runs where the failure may be rare; here the first one is it.
                    return verdict if verdict.workarounds else replace(verdict, workarounds=found)
                advised = to_test(self.case, self._suspicion(), trials)
                if advised is not None:
                    step, purpose = advised, ADVISED
                elif assessment.step is not None:
                    step, purpose = assessment.step.configuration, assessment.step.purpose
            if step is None:
                return self._conclude(assessment, None)
            minutes = assessment.step.minutes if assessment is not None and assessment.step is not None else 0.0
            if _spent(budget, trials, minutes):
                return self._conclude(assessment, VerdictStatus.EXHAUSTED)
            self._trial(step, purpose, assessment)

    def _suspicion(self) -> Suspicion:
        """What the log of the first trial that showed the target makes likely; read once, then kept."""
        if self.journal.suspicion is None:
            shown = (t for t in self.journal.trials if t.outcome and t.outcome.kind is OutcomeKind.REPRODUCED)
            first = next(shown, None)
            self.journal.suspected(suspicion(self.case, self.folder.path / first.log) if first else Suspicion())
        assert self.journal.suspicion is not None
        return self.journal.suspicion

    def _assess(self, trials: tuple[Trial, ...]) -> Assessment:
        assessment = assess(self.case, trials, priors=self._suspicion().priors)
        claim, probability = leading_claim(assessment)
        last = trials[-1].id
        if self.journal.leader_after != last:
            self.journal.add("leading", last, claim=claim, probability=round(probability, 4))
        return assessment

    def _conclude(self, assessment: Assessment | None, stopped: VerdictStatus | None) -> Verdict:
        trials = self.journal.trials
        if assessment is None and self.journal.target is not None and trials:
            assessment = assess(self.case, trials, priors=self._suspicion().priors)
        if assessment is None:
            status = stopped or VerdictStatus.NOT_REPRODUCED
            return Verdict(status, 0.0, trials=trials, why=self._not_reproduced(trials))
        verdict = conclude(self.case, trials, assessment, self.journal.target, self.journal.pivots, stopped)
        return explained(self.case, verdict, self._suspicion())

    # -- the baseline ------------------------------------------------------------------------------------------

    def _baseline_verdict(self, trials: tuple[Trial, ...]) -> Verdict | None:
        """A verdict while the baseline has not shown the target: it does not fail, or fails otherwise."""
        kinds = [t.outcome.kind for t in trials if t.outcome is not None]
        if kinds[-2:] == [OutcomeKind.UNRESOLVED] * 2:
            reason = trials[-1].outcome.reason if trials[-1].outcome else ""
            raise MissingError(f"the baseline could not be run: {reason}", f"See {self.folder.path / trials[-1].log}.")
        if kinds.count(OutcomeKind.CLEAN) >= BASELINE_RUNS or kinds.count(OutcomeKind.OTHER) >= 2:
            return self._conclude(None, VerdictStatus.NOT_REPRODUCED)
        return None

    def _not_reproduced(self, trials: tuple[Trial, ...]) -> str:
        clean = sum(t.outcome is not None and t.outcome.kind is OutcomeKind.CLEAN for t in trials)
        other = next((t for t in trials if t.outcome is not None and t.outcome.kind is OutcomeKind.OTHER), None)
        if other is not None and other.outcome is not None:
            return f"the baseline fails, but otherwise than asked for: {other.outcome.reason}"
        if not clean:
            return "no trial of the baseline has ended"
        bound = 1 - 0.05 ** (1 / clean)
        return f"the baseline failed in 0 of {clean} runs, which excludes a rate above {bound:.0%} at 95 % confidence"

    # -- one trial ---------------------------------------------------------------------------------------------

    def _trial(self, configuration: Configuration, purpose: str, assessment: Assessment | None) -> None:
        number = self.journal.next_number
        require_room(self.folder.path)
        spool = self.folder.trial(number)
        prepared = prepare(self.case, self.engine, configuration, number, spool, self.cwd)
        self.journal.planned(number, configuration, purpose, prepared.token)
        self.listener.started(number, configuration, purpose, assessment)
        events = prepared.run(self.runner, lambda event: self.listener.event(number, event))
        if prepared.refused:
            self.journal.add("abandoned", number, reason=prepared.refused)
            raise MissingError(f"trial {number}: {prepared.refused}", "Then go on with --resume.")
        try:
            require_room(self.folder.path, NO_ROOM)
        except MissingError as problem:
            self.journal.add("abandoned", number, reason=problem.what)
            raise
        self._judged(number, self._read(number, configuration, events))

    def _read(self, number: int, configuration: Configuration, events: Sequence[Event]) -> Run:
        spool = self.folder.trial(number)
        answers = [event for event in events if event["kind"] == "probe"]
        write_whole(spool / "answers.json", json.dumps(answers, indent=1, ensure_ascii=False) + "\n")
        return read_run(self.case, self.engine, self.engine.requests(self.case, configuration), spool, events)

    def _judged(self, number: int, run: Run) -> None:
        outcome = judge(self.journal.target, run, self.case.target)
        configuration = self.journal.open[number].configuration
        settings = settings_in(self.folder.path / self.folder.log(number))
        outcome = replace(outcome, effective=replaced(self.case, configuration, settings), resolved=resolved(settings))
        trial = self.journal.finished(number, outcome, run.minutes, self.folder.log(number))
        self.listener.finished(trial)

    def _take(self, trials: tuple[Trial, ...]) -> Trial | None:
        """The next log that was run by hand, taken in as a trial; None when there is none left."""
        target = self.journal.target
        log = next((one for one in self.given if one.digest not in self.journal.taken), None)
        if log is None or target is None:
            return None
        number = self.journal.next_number
        require_room(self.folder.path, log.path.stat().st_size)
        spool = self.folder.trial(number)
        spool.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log.path, spool / LOG)
        self.journal.planned(number, log.configuration, log.purpose, log.digest)
        outcome = judged(self.case, target, log, LOG)
        return self.journal.finished(number, outcome, log.minutes, self.folder.log(number))

    def _recover(self) -> None:
        """Trials that were under way at a crash or a Ctrl-C: finished ones count, others will be begun again."""
        for number, plan in list(self.journal.open.items()):
            events = list(self.runner.recover(self.folder.trial(number)))
            run = self._read(number, plan.configuration, events)
            if run.broken_off:
                self.journal.add("abandoned", number, reason=run.broken_off)
            else:
                self._judged(number, run)

    def _workarounds(self, trials: tuple[Trial, ...]) -> tuple[Workaround, ...]:
        """The clean trials that leave what is to be kept, if that is the goal."""
        if self.case.goal is not Goal.WORKAROUND:
            return ()
        return tuple(
            Workaround(t.configuration.difference(self.case.baseline), t.id)
            for t in trials
            if t.outcome is not None
            and t.outcome.kind is OutcomeKind.CLEAN
            and t.configuration != self.case.baseline
            and all(t.configuration.get(f) == level for f, level in self.case.keep.items())
        )


def check_launches(case: Case, engine: Engine) -> None:
    """Every level can be set on the command, before any of them costs a trial. Raises UsageError, MissingError."""
    refuse_elsewhere(case)
    for factor in case.factors:
        for level, program in factor.values.items() if factor.mechanism is Mechanism.PYTHON else ():
            if shutil.which(program or "") is None:
                raise MissingError(
                    f"case {case.name}: factor {factor.name}: no interpreter {program} (level {level})",
                    "Install it, correct its path, or leave the level out.",
                )
    baseline = case.baseline
    rows = [baseline, *(baseline.moved({f.name: level}) for f in case.factors for level in f.others)]
    for configuration in rows:
        engine.launch(case, configuration)
        engine.requests(case, configuration)


def _spent(budget: Budget, trials: tuple[Trial, ...], minutes: float) -> bool:
    """Whether a trial of so many minutes would go beyond the budget."""
    if len(trials) >= (budget.trials or DEFAULT_TRIALS):
        return True
    spent = sum(t.minutes for t in trials)
    return budget.minutes is not None and (spent >= budget.minutes or spent + minutes > budget.minutes)
