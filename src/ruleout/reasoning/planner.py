"""The next trial, or the end: the plan is a function of the trials so far and a seed, of nothing else.

While the likeliest story is not likely enough, the trial that tells most per minute; then the trials that confirm it;
then a verdict. What cannot be told any more is left open rather than guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ruleout.model import Case, Configuration, Confirmation, Goal, OutcomeKind, Trial
from ruleout.reasoning.beliefs import ELSEWHERE, OTHER_SHAPE, Beliefs, weigh
from ruleout.reasoning.candidates import Proposer
from ruleout.reasoning.confirmation import Confirmer, Missing
from ruleout.reasoning.costs import Costs
from ruleout.reasoning.explanation import Step
from ruleout.reasoning.masks import Masks
from ruleout.reasoning.space import IntArray, Observations, Space
from ruleout.reasoning.telling import HOPELESS, Teller

CONFIRM_FROM = 0.90
SURE = 0.99
SURE_ELSEWHERE = 0.998
"""Several causes at once look like none for a long time, so this is asked for more."""
WORTH_CONFIRMING = 0.5
SEVERE = 0.002
"""Where it is sure, a trial is still made if levels that never ran may refute this much of what else is believed."""
BEGUN = 1.0
"""A configuration that was clean once, and has to be again, goes before another one."""


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


def assess(
    case: Case,
    trials: Sequence[Trial],
    seed: int = 0,
    priors: Mapping[str, float] | None = None,
    elsewhere: float | None = None,
) -> Assessment:
    """What is believed after these trials, and what to do next. The baseline has to have failed at least once.

    Args:
        priors: of some factors, the probability (0 to 1) that they take part in a cause, by name. It chooses among
            trials and is soon outweighed by them; it never makes a verdict.
        elsewhere: the same of the cause lying in none of them.
    """
    return _planner(case, trials, seed, priors, elsewhere).next(trials)


def assess_batch(
    case: Case,
    trials: Sequence[Trial],
    k: int,
    seed: int = 0,
    priors: Mapping[str, float] | None = None,
    elsewhere: float | None = None,
) -> tuple[Step, ...]:
    """Up to k trials to make at the same time, no two alike: those that tell most together, then those that confirm.

    The first is the step of `assess`. Nothing is left to do where there is none.
    """
    planner = _planner(case, trials, seed, priors, elsewhere)
    first = planner.next(trials).step
    if first is None:
        return ()
    space = planner.beliefs.space
    steps = [first, *planner.teller.together(space.row(first.configuration), k - 1)]
    for step in planner.confirming():
        if all(step.configuration != other.configuration for other in steps):
            steps.append(step)
    return tuple(steps[:k])


def _planner(
    case: Case, trials: Sequence[Trial], seed: int, priors: Mapping[str, float] | None, elsewhere: float | None
) -> _Planner:
    space = Space.of(case, trials)
    seen = Observations.of(space, trials)
    masks = Masks.of(space, seen)
    space = replace(space, impossible=masks.impossible(space, seen.made), doubt=masks.doubt())
    beliefs = weigh(space, seen, priors, elsewhere)
    # The seed makes the generator, the number of trials moves it on: the same journal gives the same plan.
    rng = np.random.default_rng([seed, len(seen.ids)])
    return _Planner(case, beliefs, masks, Costs.of(case, trials), Proposer(case, beliefs, masks, rng))


def _known_good(case: Case, space: Space, seen: Observations) -> tuple[IntArray, str] | None:
    """A configuration that is said to work, as long as it was not seen."""
    rows = (space.row(good) for good in case.good)
    row = next((row for row in rows if not (seen.requested == row).all(axis=1).any()), None)
    return None if row is None else (row, "said to work: to be seen once before it is believed")


def _proxies_first(space: Space, seen: Observations) -> tuple[IntArray, str] | None:
    """Whether the failure survives the proxies, all at once and then one by one: every later trial gets cheaper."""
    if not space.proxies or (seen.reproduced & (seen.rows[:, list(space.proxies)] != 0).any(axis=1)).any():
        return None
    rows = np.zeros((len(space.proxies) + 1, len(space)), dtype=np.int64)
    rows[0, list(space.proxies)] = space.settable[list(space.proxies)] - 1
    for i, f in enumerate(space.proxies, 1):
        rows[i, f] = space.settable[f] - 1
    row = next((row for row in rows if not (seen.requested == row).all(axis=1).any()), None)
    return None if row is None else (row, "proxy: does the failure survive where trials are cheaper?")


def _unresolved(trials: Sequence[Trial]) -> Configuration | None:
    """The configuration of the last trial, if it was unresolved for the first time."""
    judged = [t for t in trials if t.outcome is not None]
    if not judged or judged[-1].outcome is None or judged[-1].outcome.kind is not OutcomeKind.UNRESOLVED:
        return None
    configuration = judged[-1].configuration
    return configuration if sum(t.configuration == configuration for t in judged) == 1 else None


class _Planner:
    def __init__(self, case: Case, beliefs: Beliefs, masks: Masks, costs: Costs, proposer: Proposer) -> None:
        self.case, self.beliefs, self.masks, self.proposer = case, beliefs, masks, proposer
        self.probability = float(beliefs.of_group[beliefs.leading])
        self.sure = SURE_ELSEWHERE if beliefs.leader == ELSEWHERE else SURE
        self.teller = Teller(beliefs, masks, costs, proposer, self.sure)
        self.confirmer = Confirmer(beliefs, beliefs.leading, proposer)

    def assessment(self, step: Step | None, settled: bool = False) -> Assessment:
        """What is believed, with this step."""
        return Assessment(self.beliefs, self.masks, self.confirmer.found(), settled, step)

    def next(self, trials: Sequence[Trial]) -> Assessment:
        """What comes next: what has to be seen before anything else, or what is decided by what is believed."""
        space, seen = self.beliefs.space, self.beliefs.seen
        if (retry := _unresolved(trials)) is not None:
            step = self.teller.step(space.row(retry), "again: the last attempt was not resolved")
            return self.assessment(step)
        first = _known_good(self.case, space, seen) or _proxies_first(space, seen)
        return self.assessment(self.teller.step(*first)) if first is not None else self.decide()

    def decide(self) -> Assessment:
        """The next step: what tells most, then what confirms, and the baseline once more at the end."""
        if not len(self.beliefs.space):
            return self.assessment(None, settled=True)  # there is nothing to vary, hence nothing to learn
        step = self._way_out() or (self._confirm() if self.probability >= CONFIRM_FROM else None)
        step = step or self.teller.best()
        if step is None and self.probability >= WORTH_CONFIRMING:
            step = self._confirm()
        settled = False
        sure = step is None and self.probability >= self.sure and not self._wanted()
        if sure:
            step = self._severest()
        if sure and step is None:
            # The baseline last of all, so that it says whether anything drifted meanwhile.
            again = self.confirmer.once_more() or self.confirmer.baseline_again()
            step = self._confirming(again) if again else None
            settled = again is None
        return self.assessment(step, settled)

    def _way_out(self) -> Step | None:
        if self.case.goal is not Goal.WORKAROUND:
            return None
        space = self.beliefs.space
        return self.teller.way_out({space.names.index(f): space.level(f, level) for f, level in self.case.keep.items()})

    def _severest(self) -> Step | None:
        """One more trial of the leading causes alone, with levels that never ran, as long as they may refute enough.

        What is wrong at last is mostly that a setting takes part and was not moved yet to the only level that shows
        it. So what counts is what such levels would refute, beyond what the rest of the row does.
        """
        rows = self.confirmer.severe()
        if not len(rows):
            return None
        all_of_it, without = (
            self.teller.outlook.forecast(these).refuted(self.beliefs.leading)
            for these in (rows, self.confirmer.as_ran(rows))
        )
        refuted = (1 - self.masks.risk(rows)) * (all_of_it - without)
        best = int(refuted.argmax())
        if refuted[best] < SEVERE:
            return None
        purpose = "sufficient: the severest test that is left"
        return self.teller.step(rows[best], self.teller.purpose_of(rows[best], purpose))

    def _wanted(self) -> bool:
        return self.beliefs.leader == OTHER_SHAPE or next(self.confirmer.missing(), None) is not None

    def _confirm(self) -> Step | None:
        """The first of the confirming trials that are still to be made, of those that can be."""
        return next(self.confirming(), None)

    def confirming(self) -> Iterator[Step]:
        """The confirming trials that are still to be made and can be, one of each sort."""
        if self.beliefs.leader != OTHER_SHAPE:
            for missing in self.confirmer.missing():
                if (step := self._confirming(missing)) is not None:
                    yield step

    def _confirming(self, missing: Missing) -> Step | None:
        rows = missing.rows
        if not len(rows):
            return None
        risk = self.masks.risk(rows)
        if risk.min() > HOPELESS:
            return None
        told = self.teller.outlook.forecast(rows)
        # What counts is that it confirms; of those that can, the one that also tells most, in the order given. Where it
        # is a search, only what it tells.
        value = (1 - risk) * told.bits
        if not missing.search:
            clean = np.array([self.confirmer.clean_runs(row) for row in rows])
            begun = np.minimum(clean / self.confirmer.runs, 1.0)
            value += (1 - risk) * (missing.share + BEGUN * begun) - 1e-4 * np.arange(len(rows))
        row = rows[int(value.argmax())]
        return self.teller.step(row, self.teller.purpose_of(row, missing.purpose))
