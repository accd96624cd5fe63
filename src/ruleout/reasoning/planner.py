"""The next trial, or the end: the plan is a function of the trials so far and a seed, of nothing else.

While the likeliest story is not likely enough, the trial that tells most per minute; then the trials that confirm it;
then a verdict. What cannot be told any more is left open rather than guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ruleout.model import Case, Configuration, Confirmation, OutcomeKind, Trial
from ruleout.reasoning.beliefs import ELSEWHERE, OTHER_SHAPE, Beliefs, weigh
from ruleout.reasoning.candidates import Proposer
from ruleout.reasoning.confirmation import SURELY_ALWAYS, Confirmer, Missing
from ruleout.reasoning.costs import Costs
from ruleout.reasoning.information import forecast
from ruleout.reasoning.masks import Masks
from ruleout.reasoning.space import BoolArray, IntArray, Observations, Space

CONFIRM_FROM = 0.90
SURE = 0.99
SURE_ELSEWHERE = 0.998
"""Several causes at once look like none for a long time, so this is asked for more."""
WORTH_CONFIRMING = 0.5
BEGUN = 1.0
"""A configuration that was clean once, and has to be again, goes before another one."""
LEAST_BITS = 0.001
HOPELESS = 0.9
OVERHEAD = 0.3
"""What every trial costs besides its run, in whole trials: a launch that is masked early is not free."""
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


def assess(case: Case, trials: Sequence[Trial], seed: int = 0, priors: Mapping[str, float] | None = None) -> Assessment:
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
    first = _known_good(case, space, seen) or _proxies_first(space, seen)
    if first is not None:
        return Assessment(beliefs, masks, planner.confirmer().found(), False, planner.step(*first))
    return planner.decide()


def _known_good(case: Case, space: Space, seen: Observations) -> tuple[IntArray, str] | None:
    """A configuration that is said to work, as long as it was not seen."""
    rows = (space.row(good) for good in case.good)
    row = next((row for row in rows if not seen.at(row).any()), None)
    return None if row is None else (row[None, :], "said to work: to be seen once before it is believed")


def _proxies_first(space: Space, seen: Observations) -> tuple[IntArray, str] | None:
    """Whether the failure survives the proxies, all at once and then one by one: every later trial gets cheaper."""
    if not space.proxies or (seen.reproduced & (seen.rows[:, list(space.proxies)] != 0).any(axis=1)).any():
        return None
    rows = np.zeros((len(space.proxies) + 1, len(space)), dtype=np.int64)
    rows[0, list(space.proxies)] = space.sizes[list(space.proxies)] - 1
    for i, f in enumerate(space.proxies, 1):
        rows[i, f] = space.sizes[f] - 1
    row = next((row for row in rows if not seen.at(row).any()), None)
    return None if row is None else (row[None, :], "proxy: does the failure survive where trials are cheaper?")


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
        self.sure = SURE_ELSEWHERE if beliefs.leader == ELSEWHERE else SURE

    def confirmer(self) -> Confirmer:
        return Confirmer(self.beliefs, self.beliefs.leading, self.proposer)

    def decide(self) -> Assessment:
        confirmer = self.confirmer()
        wanted = [] if self.beliefs.leader == OTHER_SHAPE else list(confirmer.missing())
        step = self._first(wanted) if self.probability >= CONFIRM_FROM else None
        step = step or self._telling()
        if step is None and self.probability >= WORTH_CONFIRMING:
            step = self._first(wanted)
        if step is None and self.probability >= self.sure and not wanted and self.beliefs.leader != OTHER_SHAPE:
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
        begun = np.array([(self.beliefs.seen.at(row) & self.beliefs.seen.clean).any() for row in rows])
        value = (1 - risk) * (0.2 + seen.bits + BEGUN * begun) - 1e-4 * np.arange(len(rows))
        best = int(value.argmax())
        step = self.step(rows[best : best + 1], missing.purpose)
        return Step(step.configuration, step.purpose, step.minutes, float(seen.bits[best]), step.risk)

    def _telling(self) -> Step | None:
        """The trial that tells most per minute; None when none tells anything worth a trial."""
        rows = self.proposer.candidates()
        seen = self.beliefs.seen
        known = self.proposer.allowed(seen.rows[seen.informative], repeat=True)
        # What was seen once may have been luck, unless the failure is known to show every time.
        if self.beliefs.shows_always(self.beliefs.leading) < SURELY_ALWAYS:
            rows = np.unique(np.concatenate([rows, known]), axis=0)
        return self._best(rows) or self._best(known)

    def _best(self, rows: IntArray) -> Step | None:
        if not len(rows):
            return None
        risk = self.masks.risk(rows)
        told = forecast(self.beliefs, rows)
        space = self.beliefs.space
        minutes = np.array([self.costs.expected(space.configuration(r), p) for r, p in zip(rows, risk, strict=True)])
        bits = (1 - risk) * told.bits
        changes = np.count_nonzero(rows, axis=1)
        value = bits / (minutes + OVERHEAD * self.costs.full) * (1 - CHANGE_PENALTY * changes)
        # Blame that is shared among many is no proof: a level is given up only after it was run by itself.
        runnable = (risk <= HOPELESS) | self._never_run_alone(rows)
        if told.open_questions(self.beliefs.leading, runnable) < 1 - self.sure:
            return None  # what is left differs from the leader in nothing that can be run
        value[(told.bits < LEAST_BITS) | ~runnable] = 0.0
        value[bits < LEAST_BITS] *= 1e-3  # what will hardly run comes last
        best = int(value.argmax())
        if value[best] <= 0:
            return None
        again = "again, since once may be luck: " if self.beliefs.seen.at(rows[best]).any() else ""
        told_by = f"{bits[best]:.2f} bits for {minutes[best]:.2g} min"
        purpose = f"{again}tells most per minute: {told_by}; would fail with {told.shows[best]:.0%}"
        return Step(
            space.configuration(rows[best]), purpose, float(minutes[best]), float(bits[best]), float(risk[best])
        )

    def _never_run_alone(self, rows: IntArray) -> BoolArray:
        """Rows that move a single factor, to a level that no informative trial has had."""
        seen = self.beliefs.seen.rows[self.beliefs.seen.informative]
        known = (rows[:, None, :] == seen[None, :, :]).any(axis=1) | (rows == 0)
        return np.asarray((np.count_nonzero(rows, axis=1) == 1) & ~known.all(axis=1), dtype=np.bool_)
