"""The investigation: plan, journal, run, read, judge, update, stop. The only place where the parts meet.

Each round starts from the journal alone, so a round that was cut short by a crash is simply begun again.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace

from ruleout.engines import Engine
from ruleout.investigation.bare import widened
from ruleout.investigation.byhand import Given
from ruleout.investigation.casewriting import case_text
from ruleout.investigation.conducting import Conductor
from ruleout.investigation.folder import Folder, write_whole
from ruleout.investigation.instruments import WATCHED, changes, instrument, offered, watched_baseline
from ruleout.investigation.journal import Journal, is_hearsay
from ruleout.investigation.launching import refuse_elsewhere
from ruleout.investigation.limits import limited
from ruleout.investigation.listener import Listener, Plan
from ruleout.investigation.noted import Noted, noted
from ruleout.investigation.noted import choices as noted_choices
from ruleout.investigation.reducing import NoMoreTrials, flags_of, minimise, raise_load, runs_to_see
from ruleout.investigation.reducing import without as taken_off
from ruleout.investigation.references import check_references
from ruleout.investigation.settings import read_settings, replaced
from ruleout.investigation.showing import shows, workloads
from ruleout.investigation.surroundings import Surroundings
from ruleout.investigation.suspecting import explained, suspicion, to_test
from ruleout.investigation.tracing.step import TRACED, is_trace, trace_step
from ruleout.model import (
    Budget,
    Case,
    Configuration,
    Goal,
    Mechanism,
    Minimal,
    MissingError,
    Notes,
    Observation,
    OutcomeKind,
    Suspect,
    Suspicion,
    Trial,
    UsageError,
    Verdict,
    VerdictStatus,
    Workaround,
)
from ruleout.model.codec import to_json
from ruleout.model.figures import percent
from ruleout.reasoning import Assessment, Step, assess, assess_batch, conclude, leading_claim, top_claims
from ruleout.runners.base import Runner

BASELINE_RUNS = 7
"""Clean baselines until the failure counts as not reproduced: seven exclude a rate above 35 % at 95 %."""
DEFAULT_TRIALS = 100
KEPT_CLAIMS = 6
"""How many hypotheses are noted after each trial."""
SMALLEST = "the smallest command that still fails"
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
        reduce: bool = False,
        before: Sequence[Suspect] = (),
        notes: Sequence[Notes] = (),
    ) -> None:
        self.case, self.folder, self.journal, self.given = case, folder, journal, given
        self.notes = notes
        self._noted: list[Noted] | None = None
        self.before = before
        self.engine, self.listener, self.reduce = engine, listener, reduce
        self.conductor = Conductor(case, folder, journal, engine, runner, listener)
        self.surroundings = Surroundings(folder, journal, engine)

    def run(self, budget: Budget) -> Verdict:
        """Trials until there is a verdict. Ctrl-C ends the trial under way and gives the verdict so far.

        Raises:
            MissingError: the deployment cannot even be launched (command, port, room on the disk).
            UsageError: a factor cannot be set on this command.
        """
        check_launches(self.case, self.engine)
        try:
            self.conductor.recover()
            verdict = self._trials(budget)
            if self.reduce and verdict.failure is not None:
                verdict = replace(verdict, minimal=self._smallest(budget, verdict), trials=self.journal.trials)
        except KeyboardInterrupt:
            self.listener.interrupted()
            self.conductor.recover()
            verdict = self._conclude(None, VerdictStatus.INTERRUPTED)
        verdict = replace(verdict, installations=self.journal.installations)
        self.journal.add("verdict", verdict=to_json(verdict))
        return verdict

    def _trials(self, budget: Budget) -> Verdict:
        while True:
            self.surroundings.look(self.case)
            trials = self.journal.evidence
            assessment: Assessment | None = None
            if self.journal.target is None:
                if self.reduce and raise_load(self.case, self.journal):
                    continue
                if (verdict := self._baseline_verdict(trials)) is not None:
                    return verdict
                plans = [Plan(self.case.baseline, "the baseline")]
            elif (step := instrument(self.case, self.journal.target, self.journal.trials)) is not None:
                change = changes(step)
                plans = [Plan(watched_baseline(self.case, change), WATCHED, instruments=change)]
            elif (levels := self._trace()) is not None:
                plans = [Plan(watched_baseline(self.case, levels), TRACED, instruments=levels)]
            elif self.journal.bare and not self.journal.chosen:
                self._choose()
                continue
            elif log := next((one for one in self.given if one.digest not in self.journal.taken), None):
                self.conductor.take(log)
                continue
            elif told := next((one for one in self._told() if one.digest not in self.journal.taken), None):
                self.conductor.tell(told)
                continue
            else:
                assessment = self._assess(trials)
                if found := self._workarounds(trials):
                    verdict = self._conclude(assessment, VerdictStatus.WORKAROUND)
                    # The reasoning asks for more clean runs where the failure may be rare; here the first one is it.
                    return verdict if verdict.workarounds else replace(verdict, workarounds=found)
                plans = self._plans(trials, assessment, self._room(budget))
            if not plans:
                return self._conclude(assessment, None)
            minutes = assessment.step.minutes if assessment is not None and assessment.step is not None else 0.0
            if _spent(budget, self.journal.trials, minutes):
                return self._conclude(assessment, VerdictStatus.EXHAUSTED)
            self.conductor.batch(plans, assessment)

    def _plans(self, trials: tuple[Trial, ...], assessment: Assessment, most: int) -> list[Plan]:
        """What to launch next, as many at once as there are workers, at most `most`; nothing when all is told."""
        advised = to_test(self.case, self._suspicion(), own(trials))
        if advised is not None:
            return [Plan(advised, ADVISED)]
        if assessment.step is None:
            return []
        steps: Sequence[Step] = [assessment.step]
        if most > 1:
            told = self._suspicion()
            weighed = self._weighed(trials, assessment)
            steps = assess_batch(self.case, weighed, most, priors=told.priors, elsewhere=told.elsewhere)
        return [Plan(step.configuration, step.purpose, why=_arithmetic(step)) for step in steps]

    def _trace(self) -> Configuration | None:
        """What is set for a trace, if one is worth it now: before anything is suspected, since it says of what."""
        if self.journal.suspicion is not None or self.journal.chosen:
            return None
        return trace_step(self.case, self.journal.target, self.journal.trials, self.journal.installations)

    def _room(self, budget: Budget) -> int:
        """How many trials may run at once: by the workers, and by what is left of the budget."""
        left = (budget.trials or DEFAULT_TRIALS) - self.journal.made
        return max(1, min(self.case.workers, left))

    def _choose(self) -> None:
        """The factors of a command, from the log of its failure. The case is written first: a crash loses nothing."""
        first, watched, observed = self._telling()
        log = self.folder.path / first.log if first else None
        told = log if log is not None and log.is_file() else None
        self.case, choices = widened(self.case, told, observed, watched=watched)
        asked = workloads(replace(self.case, times=self.journal.times), self.engine, self.journal.target)
        self.case = replace(self.case, factors=(*self.case.factors, *(choice.factor for choice in asked)))
        varied = tuple(noted_choices(self.case, self.notes))
        self.case = replace(self.case, factors=(*self.case.factors, *(choice.factor for choice in varied)))
        choices += asked + varied
        check_launches(self.case, self.engine)
        text = case_text(self.case, choices)
        write_whole(self.folder.case, text)
        for trial in self.journal.trials:
            read = read_settings(self.folder.path / trial.log)
            if read is not None and (instead := replaced(self.case, trial.configuration, read.settings)):
                self.journal.in_effect(trial.id, instead)
        self.journal.chose(text, {choice.factor.name: choice.why for choice in choices})
        self.conductor.case = self.case
        self.listener.chosen(self.case, choices)

    def _first_shown(self) -> Trial | None:
        shown = (t for t in self.journal.evidence if t.outcome and t.outcome.kind is OutcomeKind.REPRODUCED)
        return next(shown, None)

    def _telling(self) -> tuple[Trial | None, bool, tuple[Observation, ...]]:
        """The trial that tells most of the target, whether it was watched, and what was seen of it besides."""
        first = self._first_shown()
        looks = [t for t in self.journal.trials if t.instruments and t.outcome]
        closer = next((t for t in looks if not is_trace(t.instruments)), None)
        shown = closer is not None and closer.outcome is not None and closer.outcome.kind is OutcomeKind.REPRODUCED
        told = [t.outcome.observed for t in (first, *looks) if t is not None and t.outcome is not None]
        return (closer if shown else first), shown, tuple(one for observed in told for one in observed)

    def _suspicion(self) -> Suspicion:
        """What the log of the first trial that showed the target makes likely; read once, then kept."""
        if self.journal.suspicion is None:
            first, watched, observed = self._telling()
            log = self.folder.path / first.log if first else None
            found = suspicion(self.case, log, observed, self.before, watched=watched) if log else Suspicion()
            self.journal.suspected(found)
        assert self.journal.suspicion is not None
        return self.journal.suspicion

    def _told(self) -> list[Noted]:
        """The trials of the notes, as trials of the case: worked out once its factors are known."""
        if self._noted is None:
            taken = [(one, *noted(self.case, one)) for one in self.notes]
            for one, trials, left in taken:
                self.listener.told(one, trials, left)
            self._noted = [trial for _, trials, _ in taken for trial in trials]
        return self._noted

    def _weighed(self, trials: tuple[Trial, ...], assessment: Assessment) -> tuple[Trial, ...]:
        """The trials that an assessment rests on."""
        return own(trials) if len(assessment.beliefs.seen.ids) < len(trials) else trials

    def _assess(self, trials: tuple[Trial, ...]) -> Assessment:
        assessment = self._believed(trials)
        if assessment.step is None and len(made := own(trials)) < len(trials):
            # What was told has led here; whether it is so, what was seen here has to say by itself.
            alone = self._believed(made)
            if not assessment.settled or alone.beliefs.leader != assessment.beliefs.leader:
                assessment = alone
        claim, probability = leading_claim(assessment)
        last = trials[-1].id
        if self.journal.leader_after != last:
            others = [[other, round(p, 4)] for other, p in top_claims(assessment, KEPT_CLAIMS) if other != claim]
            self.journal.add("leading", last, claim=claim, probability=round(probability, 4), others=others)
        return assessment

    def _believed(self, trials: tuple[Trial, ...]) -> Assessment:
        """What these trials say, and what the suspicion made likely before them."""
        told = self._suspicion()
        return assess(self.case, trials, priors=told.priors, elsewhere=told.elsewhere)

    def _conclude(self, assessment: Assessment | None, stopped: VerdictStatus | None) -> Verdict:
        trials = self.journal.evidence
        if assessment is None and self.journal.target is not None and trials:
            assessment = self._believed(trials)
        if assessment is None:
            status = stopped or VerdictStatus.NOT_REPRODUCED
            return Verdict(status, 0.0, trials=self.journal.trials, why=self._not_reproduced(trials))
        verdict = conclude(self.case, trials, assessment, self.journal.target, self.journal.pivots, stopped)
        when = shows(replace(self.case, times=self.journal.times), self.engine, verdict)
        verdict = replace(explained(self.case, verdict, self._suspicion()), trials=self.journal.trials, shows=when)
        return limited(self.case, offered(self.case, verdict))

    def _smallest(self, budget: Budget, verdict: Verdict) -> Minimal:
        """The smallest command that still shows the target, each set of flags run as often as its rate asks for."""
        runs = runs_to_see(verdict.manifest_rate)

        def fails(off: frozenset[str]) -> int | None:
            known = [t for t in self.journal.trials if frozenset(t.without) == off and not t.instruments]
            for attempt in range(runs):
                if attempt == len(known):
                    if _spent(budget, self.journal.trials, 0.0):
                        raise NoMoreTrials
                    try:
                        known.append(self.conductor.trial(Plan(self.case.baseline, SMALLEST, off)))
                    except UsageError:
                        return None  # without these it cannot even be launched
                outcome = known[attempt].outcome
                if outcome is not None and outcome.kind is OutcomeKind.REPRODUCED:
                    return known[attempt].id
            return None

        found = minimise(flags_of(self.case), fails)
        smallest = taken_off(self.case, frozenset(found.dropped))
        argv = self.engine.launch(smallest, smallest.baseline).argv
        return Minimal(argv, found.needed, found.dropped, found.shown, found.complete)

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
        bound = percent(1 - 0.05 ** (1 / clean))
        return f"the baseline failed in 0 of {clean} runs, which excludes a rate above {bound} at 95 % confidence"

    def _workarounds(self, trials: tuple[Trial, ...]) -> tuple[Workaround, ...]:
        """The clean trials that leave what is to be kept, if that is the goal."""
        if self.case.goal is not Goal.WORKAROUND:
            return ()
        return tuple(
            Workaround(t.configuration.difference(self.case.baseline), t.id)
            for t in trials
            if t.outcome is not None
            and t.outcome.kind is OutcomeKind.CLEAN
            and not t.outcome.hearsay
            and t.configuration != self.case.baseline
            and all(t.configuration.get(f) == level for f, level in self.case.keep.items())
        )


def own(trials: tuple[Trial, ...]) -> tuple[Trial, ...]:
    """The trials that were made here, or whose log was seen."""
    return tuple(t for t in trials if not is_hearsay(t))


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
        check_references(case, engine, configuration)


def _arithmetic(step: Step) -> tuple[str, ...]:
    return step.explanation.words(step.purpose) if step.explanation is not None else ()


def _spent(budget: Budget, trials: tuple[Trial, ...], minutes: float) -> bool:
    """Whether a trial of so many minutes would go beyond the budget."""
    trials = own(trials)
    if len(trials) >= (budget.trials or DEFAULT_TRIALS):
        return True
    spent = sum(t.minutes for t in trials)
    return budget.minutes is not None and (spent >= budget.minutes or spent + minutes > budget.minutes)
