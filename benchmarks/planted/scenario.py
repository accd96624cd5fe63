"""A deployment with a planted fault: the truth is known, so an answer can be right or wrong.

Only the standard library: the simulated deployment loads this at every launch.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

Config = Mapping[str, str]
"""The level of every factor."""
Conjunction = Mapping[str, frozenset[str]]
"""Of each of its factors the levels that satisfy it; all factors have to."""

CLEAN, REPRODUCED, MASKED = "clean", "reproduced", "masked"
FULL_TRIAL = 12.0
"""Minutes of a trial that comes as far as the target failure, whether it shows or not."""


@dataclass(frozen=True)
class Factor:
    """What may be varied, by a flag. `absent` and `present` are the levels of a bare one."""

    name: str
    flag: str
    levels: tuple[str, ...]
    baseline: str
    ordered: bool = False

    @property
    def others(self) -> tuple[str, ...]:
        """The levels other than the baseline's."""
        return tuple(level for level in self.levels if level != self.baseline)


@dataclass(frozen=True)
class Mask:
    """Where the deployment fails otherwise, before the target could show: a name of `failures.MASKS`."""

    when: Conjunction
    failure: str


@dataclass(frozen=True)
class Scenario:
    """A deployment, its planted causes, and what hides them.

    Attributes:
        causes: each enough by itself, all of them present in the baseline; empty when the fault is in no factor.
        failure: how the fault shows, a name of `failures.TARGETS`.
        rate: how often a cause that is present shows.
        chatter: lines that every run prints, healthy or not.
        says: lines that are printed where their levels are set: what the engine makes of them.
    """

    family: str
    seed: int
    factors: tuple[Factor, ...]
    causes: tuple[Conjunction, ...]
    failure: str
    masks: tuple[Mask, ...] = ()
    rate: float = 1.0
    chatter: tuple[str, ...] = ()
    says: tuple[tuple[Conjunction, str], ...] = ()
    by_name: dict[str, Factor] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {factor.name: factor for factor in self.factors})

    @property
    def baseline(self) -> dict[str, str]:
        """The failing configuration."""
        return {factor.name: factor.baseline for factor in self.factors}

    @property
    def elsewhere(self) -> bool:
        """Whether it fails whatever is set."""
        return not self.causes

    @property
    def ordered(self) -> Factor | None:
        """The history that is to be bisected, where the scenario is one."""
        return self.factors[0] if len(self.factors) == 1 and self.factors[0].ordered else None

    def mask(self, config: Config) -> Mask | None:
        """The other failure that strikes first."""
        return next((mask for mask in self.masks if holds(mask.when, config)), None)

    def present(self, config: Config) -> list[Conjunction]:
        """The causes that a configuration satisfies."""
        return [cause for cause in self.causes if holds(cause, config)]

    def works(self, config: Config) -> bool:
        """Whether a configuration never fails."""
        return not self.elsewhere and not self.present(config) and self.mask(config) is None

    def outcome(self, config: Config, before: int) -> str:
        """What a launch shows, of which there were so many of this configuration before.

        Luck belongs to the configuration, not to the strategy: who launches the same as another sees the same.
        """
        if self.mask(config) is not None:
            return MASKED
        luck = random.Random(f"{self.family}/{self.seed}/{before}/{sorted(config.items())}")
        shows = (self.elsewhere or self.present(config)) and luck.random() < self.rate
        return REPRODUCED if shows else CLEAN


@dataclass(frozen=True)
class Launch:
    """One trial: what was launched, what it showed, and its minutes."""

    config: Config
    outcome: str
    minutes: float


def holds(conjunction: Conjunction, config: Config) -> bool:
    """Whether a configuration satisfies a conjunction."""
    return all(config[name] in levels for name, levels in conjunction.items())


def ways_out(scenario: Scenario, causes: Sequence[Conjunction]) -> Iterator[dict[str, str]]:
    """Configurations in which these causes, one factor each, are neutralised and nothing else is moved."""
    choices = [
        [
            (name, level)
            for name, levels in cause.items()
            for level in scenario.by_name[name].levels
            if level not in levels
        ]
        for cause in causes
    ]
    for chosen in itertools.product(*choices):
        yield {**scenario.baseline, **dict(chosen)}


def dumps(scenario: Scenario) -> str:
    """As JSON, the same text for the same scenario."""
    return json.dumps(
        {
            "family": scenario.family,
            "seed": scenario.seed,
            "factors": [[f.name, f.flag, f.levels, f.baseline, f.ordered] for f in scenario.factors],
            "causes": [_plain(cause) for cause in scenario.causes],
            "failure": scenario.failure,
            "masks": [[_plain(mask.when), mask.failure] for mask in scenario.masks],
            "rate": scenario.rate,
            "chatter": scenario.chatter,
            "says": [[_plain(when), line] for when, line in scenario.says],
        }
    )


def loads(text: str) -> Scenario:
    """From the JSON of `dumps`."""
    data: dict[str, Any] = json.loads(text)
    return Scenario(
        data["family"],
        data["seed"],
        tuple(Factor(n, flag, tuple(levels), base, ordered) for n, flag, levels, base, ordered in data["factors"]),
        tuple(_conjunction(cause) for cause in data["causes"]),
        data["failure"],
        tuple(Mask(_conjunction(when), failure) for when, failure in data["masks"]),
        data["rate"],
        tuple(data["chatter"]),
        tuple((_conjunction(when), line) for when, line in data["says"]),
    )


def fingerprint(scenario: Scenario) -> str:
    """Of all that makes the scenario: a result belongs to it only as long as this is the same."""
    return sha256(dumps(scenario).encode()).hexdigest()[:12]


def _plain(conjunction: Conjunction) -> dict[str, list[str]]:
    return {name: sorted(levels) for name, levels in conjunction.items()}


def _conjunction(plain: Mapping[str, Sequence[str]]) -> Conjunction:
    return {name: frozenset(levels) for name, levels in plain.items()}
