"""A fake deployment: planted causes and masks, seeded luck, no process. For the reasoning, a trial is its outcome."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

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
    Verdict,
    VerdictStatus,
)
from ruleout.reasoning import Assessment, assess, conclude

TARGET = Failure(FailureClass.DEVICE_SIDE_ASSERT, Exposure(Stage.DECODE, 1), "probability tensor", "target")

Planted = Mapping[str, frozenset[str]]
"""A conjunction: of each of its factors the levels that carry it."""

REPRODUCED = Outcome(OutcomeKind.REPRODUCED, Stage.DECODE, "the same failure", TARGET)
CLEAN = Outcome(OutcomeKind.CLEAN, Stage.DECODE, "every probe passed")
UNRESOLVED = Outcome(OutcomeKind.UNRESOLVED, Stage.UNKNOWN, "the host was restarted")


def masked_by(name: str) -> Outcome:
    """Another failure, that strikes in the start."""
    other = Failure(FailureClass.INCOMPATIBLE_CONFIG_ASSERT, Exposure(Stage.MODEL_CONFIG), f"assert not {name}", name)
    return Outcome(OutcomeKind.OTHER, Stage.MODEL_CONFIG, "masked", other)


def factor(name: str, *levels: str, proxy: bool = False) -> Factor:
    """A flag whose first level is the baseline."""
    return Factor(name, Mechanism.FLAG, f"--{name}", levels, levels[0], proxy=proxy)


def case_of(*factors: Factor) -> Case:
    """A case with these factors."""
    return Case("simulated", "command", ("serve",), factors)


@dataclass
class FakeDeployment:
    """What fails, how often, and what is hidden by another failure.

    Attributes:
        causes: each enough by itself.
        masks: combinations of levels that fail otherwise, before the target can show.
        rate: how often a cause that is present shows.
        elsewhere: it fails whatever is set.
    """

    case: Case
    causes: Sequence[Planted]
    masks: Sequence[Mapping[str, str]] = ()
    rate: float = 1.0
    elsewhere: bool = False
    seed: int = 0
    luck: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.luck = random.Random(self.seed)

    def active(self, configuration: Mapping[str, str]) -> list[Planted]:
        """The causes that are present in a configuration."""
        return [c for c in self.causes if all(configuration[f] in levels for f, levels in c.items())]

    def mask(self, configuration: Mapping[str, str]) -> str | None:
        """The name of what masks a configuration."""
        for number, mask in enumerate(self.masks):
            if all(configuration[f] == level for f, level in mask.items()):
                return f"mask{number}"
        return None

    def works(self, configuration: Mapping[str, str]) -> bool:
        """Whether a configuration is really clean."""
        return not self.elsewhere and not self.active(configuration) and self.mask(configuration) is None

    def run(self, configuration: Mapping[str, str]) -> tuple[Outcome, float]:
        """The outcome of a trial and its minutes."""
        if (mask := self.mask(configuration)) is not None:
            return masked_by(mask), 2.0
        shows = (self.elsewhere or self.active(configuration)) and self.luck.random() < self.rate
        return (REPRODUCED, 12.0) if shows else (CLEAN, 12.0)


@dataclass
class Investigated:
    """A whole investigation of a fake deployment: its trials, why each was made, what was believed, the verdict."""

    deployment: FakeDeployment
    trials: list[Trial] = field(default_factory=list)
    assessments: list[Assessment] = field(default_factory=list)
    verdict: Verdict = field(default_factory=lambda: Verdict(VerdictStatus.INTERRUPTED, 0.0))

    @property
    def tried(self) -> list[Configuration]:
        """The configurations in the order of the trials."""
        return [trial.configuration for trial in self.trials]

    def trial(self, number: int) -> Trial:
        """The trial of that number."""
        return self.trials[number - 1]


def made(
    number: int, configuration: Configuration, outcome: Outcome, purpose: str = "", minutes: float = 12.0
) -> Trial:
    """A judged trial."""
    return Trial(number, configuration, purpose, outcome, minutes, f"trials/{number:04d}/server.log")


def investigated(
    deployment: FakeDeployment,
    seed: int = 0,
    budget: int = 60,
    plan: Callable[[Case, Sequence[Trial], int], Assessment] = assess,
    before: Sequence[Mapping[str, str]] = (),
) -> Investigated:
    """Trials until there is a verdict, as an investigation makes them: the baseline first, until it fails.

    `before`: changes of the baseline that were run already, before anything was planned.
    """
    done, case = Investigated(deployment), deployment.case

    def trial(configuration: Configuration, purpose: str) -> Outcome:
        outcome, minutes = deployment.run(configuration)
        done.trials.append(made(len(done.trials) + 1, configuration, outcome, purpose, minutes))
        return outcome

    while trial(case.baseline, "the baseline").kind is not OutcomeKind.REPRODUCED:
        assert len(done.trials) < 20, "the baseline does not fail"
    for change in before:
        trial(case.baseline.moved(change), "known")
    stopped: VerdictStatus | None = None
    while True:
        assessment = plan(case, done.trials, seed)
        done.assessments.append(assessment)
        if assessment.step is None:
            break
        if len(done.trials) >= budget:
            stopped = VerdictStatus.EXHAUSTED
            break
        trial(assessment.step.configuration, assessment.step.purpose)
    done.verdict = conclude(case, done.trials, done.assessments[-1], TARGET, (), stopped)
    return done


NAMES = ("attn", "dtype", "graphs", "moe", "kv", "overlap", "gemm", "cache")


def planted(
    causes: Sequence[int], seed: int, rate: float = 1.0, masks: int = 2, factors: int = 6, unseen: int = 0
) -> FakeDeployment:
    """A random deployment with one cause of each of these sizes, the same for the same seed.

    Args:
        masks: pairs of levels that fail otherwise. One of the two is of a bystander, so that every question about the
            causes can be answered by some trial.
        unseen: bystanders with a level that always fails otherwise, so that it cannot be answered what it would do.
    """
    luck = random.Random(1000 * seed + sum(causes))
    found = [
        factor(name, *(f"{name}{i}" for i in range(luck.choice((2, 2, 3, 4))))) for name in luck.sample(NAMES, factors)
    ]
    case = case_of(*found)
    order = luck.sample(found, factors)
    conjunctions: list[Planted] = []
    for size in causes:
        mine, order = order[:size], order[size:]
        conjunctions.append({f.name: _carrying(f, luck) for f in mine})
    hidden: list[Mapping[str, str]] = [{f.name: f.levels[-1]} for f in order[:unseen]]
    while len(hidden) < masks + unseen:
        bystander = luck.choice(order)
        other = luck.choice([f for f in found if f is not bystander])
        hidden.append({bystander.name: bystander.levels[-1], other.name: luck.choice(other.others)})
    return FakeDeployment(case, conjunctions, hidden, rate, seed=seed)


def _carrying(of: Factor, luck: random.Random) -> frozenset[str]:
    """The baseline's level and, of more than two, sometimes another; never all."""
    others = [level for level in of.others[:-1] if luck.random() < 0.4]
    return frozenset({of.baseline, *others})
