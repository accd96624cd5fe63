"""The next trial, or the end: the plan is a function of the trials so far and a seed, of nothing else.

While the likeliest story is not likely enough, the trial that tells most per minute; then the trials that confirm it;
then a verdict. What cannot be told any more is left open rather than guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ruleout.model import Case, Configuration, Confirmation, OutcomeKind, Trial
from ruleout.reasoning.beliefs import ELSEWHERE, OTHER_SHAPE, Beliefs, weigh
from ruleout.reasoning.candidates import Proposer
from ruleout.reasoning.confirmation import SURELY_ALWAYS, Confirmer, Missing
from ruleout.reasoning.costs import Costs
from ruleout.reasoning.information import forecast
from ruleout.reasoning.masks import Masks
from ruleout.reasoning.space import IntArray, Observations, Space

CONFIRM_FROM = 0.90
SURE = 0.99
WORTH_CONFIRMING = 0.5
LEAST_BITS = 0.01
HOPELESS = 0.9
CHANGE_PENALTY = 0.004
"""Among trials that tell about as much, the one with fewer changes: a person has to believe it."""


@dataclass(frozen=True)
class Step:
    """A trial to make, and why."""

    configuration: Configuration
    purpose: str
    minutes: float
    bits: float = 0.0
    risk: float = 0.0


@dataclass(frozen=True)
class Assessment:
    """Where the reasoning stands after some trials.

    Attributes:
        step: the trial to make next; None when nothing is left that would tell or confirm more.
        settled: the leading group is sure and confirmed in every respect.
    """

    beliefs: Beliefs
    masks: Masks
    confirmation: Confirmation
    settled: bool
    step: Step | None


def assess(case: Case, trials: Sequence[Trial], seed: int = 0) -> Assessment:
    """What is believed after these trials, and what to do next. The baseline has to have failed at least once."""
    space = Space.of(case)
    seen = Observations.of(space, trials)
    beliefs = weigh(space, seen)
    masks = Masks.of(space, seen)
    # The seed makes the generator, the number of trials moves it on: the same journal gives the same plan.
    rng = np.random.default_rng([seed, len(seen.ids)])
    proposer = Proposer(case, beliefs, masks, rng)
    planner = _Planner(case, beliefs, masks, Costs.of(case, trials), proposer)
    retry = _unresolved(trials)
    if retry is not None:
        step: Step | None = planner.step(space.row(retry)[None, :], "again: the last attempt was not resolved")
        return Assessment(beliefs, masks, planner.confirmer().found(), False, step)
    known_good = next((g for g in case.good if not seen.at(space.row(g)).any()), None)
    if known_good is not None:
        step = planner.step(space.row(known_good)[None, :], "said to work: to be seen once before it is believed")
        return Assessment(beliefs, masks, planner.confirmer().found(), False, step)
    return planner.decide()


def _unresolved(trials: Sequence[Trial]) -> Configuration | None:
    """The configuration of the last trial, if it was unresolved for the first time."""
    judged = [t for t in trials if t.outcome is not None]
    if not judged or judged[-1].outcome is None or judged[-1].outcome.kind is not OutcomeKind.UNRESOLVED:
        return None
    configuration = judged[-1].configuration
    return configuration if sum(t.configuration == configuration for t in judged) == 1 else None


class _Planner:
    def __init__(self, case: Case, beliefs: Beliefs, masks: Masks, costs: Costs, proposer: Proposer) -> None:
        self.case, self.beliefs, self.masks, self.costs, self.proposer = case, beliefs, masks, costs, proposer
        self.probability = float(beliefs.of_group[beliefs.leading])

    def confirmer(self) -> Confirmer:
        return Confirmer(self.beliefs, self.beliefs.leading, self.proposer)

    def decide(self) -> Assessment:
        confirmer = self.confirmer()
        causes = self.beliefs.leader not in (ELSEWHERE, OTHER_SHAPE)
        wanted = list(confirmer.missing()) if causes else []
        step = self._first(wanted) if self.probability >= CONFIRM_FROM else None
        step = step or self._telling()
        if step is None and self.probability >= WORTH_CONFIRMING:
            step = self._first(wanted)
        if step is None and self.probability >= SURE and not wanted and self.beliefs.leader != OTHER_SHAPE:
            # Last of all, so that it says whether anything drifted meanwhile.
            again = confirmer.baseline_again()
            step = self._confirming(again) if again else None
            settled = again is None
        else:
            settled = False
        return Assessment(self.beliefs, self.masks, confirmer.found(), settled, step)

    def _first(self, wanted: list[Missing]) -> Step | None:
        return next((step for missing in wanted if (step := self._confirming(missing)) is not None), None)

    def step(self, rows: IntArray, purpose: str) -> Step:
        """The step for the first of these rows."""
        risk = float(self.masks.risk(rows[:1])[0])
        configuration = self.beliefs.space.configuration(rows[0])
        return Step(configuration, purpose, self.costs.expected(configuration, risk), risk=risk)

    def _confirming(self, missing: Missing) -> Step | None:
        rows = missing.rows
        if not len(rows):
            return None
        risk = self.masks.risk(rows)
        if risk.min() > HOPELESS:
            return None
        seen = forecast(self.beliefs, rows)
        # What counts is that it confirms; of those that can, the one that also tells most, in the order given.
        value = (1 - risk) * (0.2 + seen.bits) - 1e-4 * np.arange(len(rows))
        best = int(value.argmax())
        step = self.step(rows[best : best + 1], missing.purpose)
        return Step(step.configuration, step.purpose, step.minutes, float(seen.bits[best]), step.risk)

    def _telling(self) -> Step | None:
        """The trial that tells most per minute; None when none tells anything worth a trial."""
        rows = self.proposer.candidates()
        # What was seen once may have been luck, unless the failure is known to show every time.
        if self.beliefs.shows_always(self.beliefs.leading) < SURELY_ALWAYS:
            again = self.beliefs.seen.rows[self.beliefs.seen.informative]
            rows = np.unique(np.concatenate([rows, self.proposer.allowed(again, repeat=True)]), axis=0)
        if not len(rows):
            return None
        risk = self.masks.risk(rows)
        told = forecast(self.beliefs, rows)
        space = self.beliefs.space
        minutes = np.array([self.costs.expected(space.configuration(r), p) for r, p in zip(rows, risk, strict=True)])
        bits = (1 - risk) * told.bits
        changes = np.count_nonzero(rows, axis=1)
        value = bits / minutes * (1 - CHANGE_PENALTY * changes)
        value[(told.bits < LEAST_BITS) | (risk > HOPELESS)] = 0.0
        best = int(value.argmax())
        if value[best] <= 0:
            return None
        purpose = (
            f"tells most per minute: {bits[best]:.2f} bits for {minutes[best]:.2g} min; "
            f"would fail with {told.shows[best]:.0%}"
        )
        return Step(
            space.configuration(rows[best]), purpose, float(minutes[best]), float(bits[best]), float(risk[best])
        )
