"""Choices of whole investigations, timed: deployments in which something is planted, and some settings fail otherwise.

CPU time counts, because machines are shared, of one choice with all that is believed before it.
"""

from __future__ import annotations

import random
import resource
import time
from dataclasses import dataclass

from ruleout.model import (
    Case,
    Configuration,
    Exposure,
    Factor,
    Failure,
    FailureClass,
    Mechanism,
    Outcome,
    OutcomeKind,
    Stage,
    Trial,
)
from ruleout.reasoning import assess

LEVELS = 6
FULL, SHORT = 12.0, 2.0
"""Minutes of a trial that runs to its end, and of one that fails otherwise at the start."""


@dataclass(frozen=True)
class Shape:
    """A deployment to investigate.

    Attributes:
        factors: how many, of LEVELS levels each.
        causes: the number of factors of each.
        masks: how many levels, or pairs of levels, fail otherwise.
        rate: how often a cause that is present shows.
        versions: levels of one more factor, which have an order; 0 for none.
        seconds: CPU seconds that a choice may take.
    """

    name: str
    factors: int
    causes: tuple[int, ...]
    masks: int
    seconds: float
    rate: float = 1.0
    versions: int = 0


@dataclass(frozen=True)
class Choice:
    """One choice: after how many trials, CPU seconds, and the peak of the process so far in MB."""

    trials: int
    masked: int
    seconds: float
    peak: float


class Deployment:
    """What is planted in a shape; the versions, where there are any, carry the only cause."""

    def __init__(self, shape: Shape, seed: int) -> None:
        self.luck = random.Random(f"{shape.name}/{seed}")
        factors = [_factor(f"f{i:02d}", LEVELS) for i in range(shape.factors)]
        order = self.luck.sample(factors, len(factors))
        if shape.versions:
            versions = _factor("version", shape.versions, ordered=True)
            bad = frozenset(versions.levels[: self.luck.randrange(1, shape.versions)])
            factors.append(versions)
            self.causes = [{versions.name: bad}]
        else:
            self.causes = []
            for size in shape.causes:
                self.causes.append({f.name: frozenset({f.baseline}) for f in order[:size]})
                order = order[size:]
        chosen = [self.luck.sample(order, 1 + n % 2) for n in range(shape.masks)]
        self.masks = [{f.name: self.luck.choice(f.others) for f in among} for among in chosen]
        self.case, self.rate = Case("choosing", "command", ("serve",), tuple(factors)), shape.rate

    def run(self, number: int, configuration: Configuration) -> Trial:
        """A trial of the configuration."""
        for n, mask in enumerate(self.masks):
            if all(configuration[f] == level for f, level in mask.items()):
                other = Failure(FailureClass.OTHER, Exposure(Stage.MODEL_CONFIG), f"mask {n}", f"mask {n}")
                outcome = Outcome(OutcomeKind.OTHER, Stage.MODEL_CONFIG, "masked", other)
                return Trial(number, configuration, "", outcome, SHORT, "")
        present = any(all(configuration[f] in levels for f, levels in cause.items()) for cause in self.causes)
        if number == 1 or (present and self.luck.random() < self.rate):
            target = Failure(FailureClass.DEVICE_SIDE_ASSERT, Exposure(Stage.DECODE, 1), "planted", "target")
            outcome = Outcome(OutcomeKind.REPRODUCED, Stage.DECODE, "reproduced", target)
        else:
            outcome = Outcome(OutcomeKind.CLEAN, Stage.DECODE, "clean")
        return Trial(number, configuration, "", outcome, FULL, "")


def _factor(name: str, levels: int, ordered: bool = False) -> Factor:
    names = tuple(f"{i:03d}" for i in range(levels))
    return Factor(name, Mechanism.FLAG, f"--{name}", names, names[0], ordered=ordered)


def choices(shape: Shape, seed: int, most: int) -> list[Choice]:
    """Every choice of an investigation, up to so many trials."""
    deployment = Deployment(shape, seed)
    trials = [deployment.run(1, deployment.case.baseline)]
    made = []
    while len(trials) <= most:
        began = time.process_time()
        step = assess(deployment.case, trials, seed).step
        seconds = time.process_time() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        masked = sum(t.outcome is not None and t.outcome.masked for t in trials)
        made.append(Choice(len(trials), masked, seconds, peak))
        if step is None:
            break
        trials.append(deployment.run(len(trials) + 1, step.configuration))
    return made
