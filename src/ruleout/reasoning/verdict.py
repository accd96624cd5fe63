"""From beliefs to a verdict: what may be said, by which trials, and with equal care what may not.

Nothing here can make a cause confirmed: it reports what the confirming trials found.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ruleout.model import (
    Assumption,
    AssumptionSource,
    AssumptionStatus,
    Carrier,
    Case,
    Cause,
    Elsewhere,
    Failure,
    Hypothesis,
    HypothesisStatus,
    Masked,
    NextStep,
    NotRuledOut,
    OutcomeKind,
    Pivot,
    RuledOut,
    Trial,
    Verdict,
    VerdictStatus,
    Workaround,
)
from ruleout.reasoning.beliefs import ELSEWHERE, OTHER_SHAPE, Beliefs, Group
from ruleout.reasoning.candidates import Proposer
from ruleout.reasoning.companions import companions
from ruleout.reasoning.confirmation import Confirmer
from ruleout.reasoning.planner import Assessment
from ruleout.reasoning.words import claim

SHOWN = 8
RULED_OUT = 0.01
FAVOURED = 0.5
SURELY = 0.95
LIKELY_ELSEWHERE = 0.9
LEFT = 2
"""Other hypotheses that are named where nothing can tell them apart any more."""


def conclude(
    case: Case,
    trials: Sequence[Trial],
    assessment: Assessment,
    failure: Failure | None,
    pivots: Sequence[Pivot] = (),
    stopped: VerdictStatus | None = None,
) -> Verdict:
    """The verdict after these trials.

    Args:
        failure: the target.
        stopped: why the investigation ended, if not because there was nothing left to do: exhausted or interrupted.
    """
    return _Conclusion(case, trials, assessment).verdict(failure, tuple(pivots), stopped)


class _Conclusion:
    def __init__(self, case: Case, trials: Sequence[Trial], assessment: Assessment) -> None:
        self.case, self.trials, self.assessment = case, trials, assessment
        self.beliefs: Beliefs = assessment.beliefs
        self.space, self.seen = self.beliefs.space, self.beliefs.seen.made
        self.leader, self.number = self.beliefs.leader, self.beliefs.leading
        self.probability = float(self.beliefs.of_group[self.number])
        proposer = Proposer(case, self.beliefs, assessment.masks, np.random.default_rng(0))
        self.confirmer = Confirmer(self.beliefs, self.number, proposer)

    def verdict(self, failure: Failure | None, pivots: tuple[Pivot, ...], stopped: VerdictStatus | None) -> Verdict:
        elsewhere = self._probability_of(ELSEWHERE)
        status = self._status(stopped)
        return Verdict(
            status=status,
            probability=round(self.probability, 4),
            causes=self._causes(),
            confirmed_by=self.assessment.confirmation,
            workarounds=self._workarounds(),
            failure=failure,
            manifest_rate=round(self.beliefs.manifest_rate(self.number), 2),
            elsewhere=Elsewhere(round(elsewhere, 4)),
            trials=tuple(self.trials),
            hypotheses=self._hypotheses(),
            ruled_out=self._ruled_out(),
            not_ruled_out=self._not_ruled_out(),
            never_varied=self._never_varied(),
            masked=self._masked(),
            assumptions=self._assumptions(),
            pivots=pivots,
            next=self._next(),
            why=self._why(status),
        )

    def _status(self, stopped: VerdictStatus | None) -> VerdictStatus:
        if self._confirmed():
            return VerdictStatus.ELSEWHERE if self.leader == ELSEWHERE else VerdictStatus.ISOLATED
        if self.leader == ELSEWHERE and self.assessment.step is None and self._only_unrunnable_levels_left():
            return VerdictStatus.ELSEWHERE
        return stopped or VerdictStatus.NARROWED

    def _confirmed(self) -> bool:
        return self.assessment.settled and not self._companions()

    def _companions(self) -> tuple[str, ...]:
        """Settings that changed with a cause in all its clean trials, so that they may be behind it."""
        return tuple(
            dict.fromkeys(name for cause in self._causes() for name in companions(self.case, self.trials, cause))
        )

    def _only_unrunnable_levels_left(self) -> bool:
        """What speaks against the leader is little, and about levels that could not be run; the report names them."""
        unrun = {f for f in self._varied if len(self._tried(f)) < self.space.sizes[f]}
        groups = zip(self.beliefs.groups, self.beliefs.of_group, strict=True)
        others = sum(p for g, p in groups if g != self.leader and not any(unrun & set(cause) for cause in g))
        return self.probability >= LIKELY_ELSEWHERE and others < RULED_OUT

    def _probability_of(self, group: Group) -> float:
        if group not in self.beliefs.groups:
            return 0.0
        return float(self.beliefs.of_group[self.beliefs.groups.index(group)])

    def _causes(self) -> tuple[Cause, ...]:
        if self.leader in (ELSEWHERE, OTHER_SHAPE):
            return ()
        return tuple(
            tuple(Carrier(self.space.names[f], self._carrying(cause, f)) for f in cause) for cause in self.leader
        )

    def _carrying(self, cause: tuple[int, ...], f: int) -> tuple[str, ...]:
        """The baseline's level and those that were seen to carry the fault."""
        failed = {int(level) for level in self.seen.rows[self.seen.reproduced, f]}
        carry = self.confirmer.carry[cause, f]
        return tuple(
            level for i, level in enumerate(self.space.levels[f]) if i == 0 or (i in failed and carry[i] > SURELY)
        )

    def _workarounds(self) -> tuple[Workaround, ...]:
        """Configurations that were clean, often enough and never otherwise, with as few changes as were seen to do."""
        good: dict[frozenset[tuple[str, str]], Workaround] = {}
        baseline = self.case.baseline
        for i in self.confirmer.clean_rows(self.confirmer.runs):
            same = self.seen.at(self.seen.rows[i])
            configuration = self.space.configuration(self.seen.rows[i])
            change = configuration.difference(baseline)
            if any(configuration.get(f) != level for f, level in self.case.keep.items()):
                continue
            key = frozenset(change.items())
            good.setdefault(key, Workaround(change, self.seen.ids[i], int((same & self.seen.clean).sum())))
        minimal = [w for key, w in good.items() if not any(other < key for other in good)]
        return tuple(sorted(minimal, key=lambda w: (len(w.set), w.trial)))

    def _hypotheses(self) -> tuple[Hypothesis, ...]:
        order = np.argsort(-self.beliefs.of_group, kind="stable")[:SHOWN]
        return tuple(self._hypothesis(int(g)) for g in order)

    def _hypothesis(self, g: int) -> Hypothesis:
        probability = float(self.beliefs.of_group[g])
        if g == self.number and self._confirmed():
            status = HypothesisStatus.CONFIRMED
        elif probability < RULED_OUT:
            status = HypothesisStatus.RULED_OUT
        else:
            status = HypothesisStatus.FAVOURED if probability >= FAVOURED else HypothesisStatus.OPEN
        if g == self.number:
            c = self.assessment.confirmation
            because = {*c.sufficient, *c.necessary, *c.complete, *([c.baseline_again] if c.baseline_again else [])}
        else:
            because = set(self._against(g))
        return Hypothesis(
            claim(self.space, self.beliefs.groups[g]), round(probability, 4), status, tuple(sorted(because))
        )

    def _against(self, g: int) -> list[int]:
        """The trials that speak most against a group: what they showed was unlikely for its likeliest reading."""
        members = np.flatnonzero(self.beliefs.group == g)
        best = members[self.beliefs.probability[members].argmax()][None]
        rows = self.seen.rows[self.seen.informative]
        if not len(rows):
            return []
        shows = self.beliefs.rate[best][0] * self.beliefs.activity(rows, best)[0]
        failed = self.seen.reproduced[self.seen.informative]
        unlikely = np.where(failed, shows, 1 - shows) < 0.25
        ids = np.array(self.seen.ids)[self.seen.informative]
        return [int(i) for i in ids[unlikely]]

    @cached_property
    def _varied(self) -> tuple[int, ...]:
        """Factors with more than one level, though it may be that no other one can be run."""
        return tuple(f for f in range(len(self.space)) if self.space.settable[f] > 1 and not self.space.proxy[f])

    def _tried(self, f: int) -> set[int]:
        return {int(level) for level in self.seen.rows[self.seen.informative, f]}

    def _in_cause(self) -> set[int]:
        return {f for cause in self.leader for f in cause}

    def _ruled_out(self) -> tuple[RuledOut, ...]:
        out = []
        unknown = self._probability_of(OTHER_SHAPE)  # in which any factor may take part
        for f in self._varied:
            if self.beliefs.marginal(f) + unknown < RULED_OUT and len(self._tried(f)) == self.space.sizes[f]:
                out.append(RuledOut(self.space.names[f], self._failed_all_the_same(f)))
        return tuple(out)

    def _failed_all_the_same(self, f: int) -> tuple[int, ...]:
        """For each level but the baseline's, the first trial that failed with it."""
        found = set()
        for level in range(1, int(self.space.sizes[f])):
            rows = np.flatnonzero(self.seen.reproduced & (self.seen.rows[:, f] == level))
            if len(rows):
                found.add(self.seen.ids[int(rows[0])])
        return tuple(sorted(found))

    def _not_ruled_out(self) -> tuple[NotRuledOut, ...]:
        out = {r.factor for r in self._ruled_out()}
        left = []
        for f in self._varied:
            name, tried = self.space.names[f], self._tried(f)
            if name in out or f in self._in_cause():
                continue
            levels = self.space.levels[f]
            left.append(
                NotRuledOut(
                    name,
                    tuple(level for i, level in enumerate(levels) if i in tried),
                    tuple(level for i, level in enumerate(levels) if i not in tried),
                )
            )
        return tuple(left)

    def _never_varied(self) -> tuple[str, ...]:
        factors = [
            name for f, name in enumerate(self.space.names) if not (self.seen.rows[self.seen.informative, f] != 0).any()
        ]
        fixed = ["the engine's version", "the machine and its driver"]
        if any(f.mechanism.value == "python" for f in self.case.factors):
            fixed = fixed[1:]
        return (*factors, *fixed)

    def _masked(self) -> tuple[Masked, ...]:
        baseline = self.case.baseline
        return tuple(
            Masked(t.configuration.difference(baseline), t.outcome.failure.message if t.outcome.failure else "", t.id)
            for t in self.trials
            if t.outcome is not None and t.outcome.kind is OutcomeKind.OTHER
        )

    def _assumptions(self) -> tuple[Assumption, ...]:
        always = self.beliefs.shows_always(self.number)
        status = AssumptionStatus.HELD if always > SURELY else AssumptionStatus.OPEN
        if always < 1 - SURELY:
            status = AssumptionStatus.REFUTED
        made = [
            Assumption(
                "the failure shows every time its cause is present",
                AssumptionSource.PLANNER,
                "no trial in which the cause is present is clean",
                status,
            )
        ]
        outcomes = {t.configuration: t.outcome.kind for t in self.trials if t.outcome and not t.outcome.hearsay}
        for good in self.case.good:
            seen = outcomes.get(self.case.baseline.moved(good))
            made.append(
                Assumption(
                    f"{good} works",
                    AssumptionSource.USER,
                    "run it once",
                    AssumptionStatus.OPEN
                    if seen is None
                    else (AssumptionStatus.HELD if seen is OutcomeKind.CLEAN else AssumptionStatus.REFUTED),
                )
            )
        return tuple(made)

    def _next(self) -> tuple[NextStep, ...]:
        step = self.assessment.step
        if step is None or self.assessment.settled:
            return ()
        return (NextStep(step.configuration.difference(self.case.baseline), step.purpose, round(step.minutes, 2)),)

    def _why(self, status: VerdictStatus) -> str:
        if status in (VerdictStatus.ISOLATED, VerdictStatus.ELSEWHERE):
            return ""
        if self.assessment.settled and (names := ", ".join(self._companions())):
            return f"changed with the cause in all its clean trials, so it may be the cause: {names}; pin it and resume"
        if self.leader == OTHER_SHAPE:
            return "no set of causes that was thought of explains the trials; look at the trials themselves"
        if self.assessment.step is not None:
            return "there are trials left that would tell more"
        masked = {(f, level) for m in self._masked() for f, level in m.configuration.items()}
        stuck = [f"{n.factor}={x}" for n in self._not_ruled_out() for x in n.untried if (n.factor, x) in masked]
        if stuck:
            told = f"never run without another failure, so its factor may still take part: {', '.join(stuck)}"
            return f"{told}; what mends that failure, or another level of it, would decide"
        lacking = [m.purpose for m in self.confirmer.missing()] if self._causes() else []
        if lacking and self.probability >= FAVOURED:
            return f"not confirmed: no trial left for it ({lacking[0]}){self._left_beside()}"
        return f"no trial is left that would tell the remaining hypotheses apart{self._left_beside()}"

    def _left_beside(self) -> str:
        """The likeliest of what else it may be, as far as that is not ruled out."""
        groups = zip(self.beliefs.groups, self.beliefs.of_group.tolist(), strict=True)
        left = sorted((-p, claim(self.space, g)) for g, p in groups if g != self.leader and p >= RULED_OUT)
        return f"; it may also be {', or '.join(told for _, told in left[:LEFT])}" if left else ""


def leading_claim(assessment: Assessment) -> tuple[str, float]:
    """The likeliest hypothesis in words, with its probability."""
    beliefs = assessment.beliefs
    return claim(beliefs.space, beliefs.leader), float(beliefs.of_group[beliefs.leading])


def top_claims(assessment: Assessment, n: int = 3) -> list[tuple[str, float]]:
    """The likeliest hypotheses in words."""
    beliefs = assessment.beliefs
    order = np.argsort(-beliefs.of_group, kind="stable")[:n]
    return [(claim(beliefs.space, beliefs.groups[g]), float(beliefs.of_group[g])) for g in order]
