"""A case is one failing deployment, what may be varied about it, and what it may cost to find out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ruleout.model.configuration import Configuration
from ruleout.model.naming import DOCUMENT_NAMES
from ruleout.model.probe import Probe
from ruleout.model.vocabulary import FailureClass, Goal, Mechanism, Mode, Stage

ABSENT, PRESENT, UNSET = "absent", "present", "unset"
"""Levels with a meaning: the flag is not passed; it is passed bare; the environment variable is not set."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Something about the deployment that trials may vary.

    Attributes:
        target: what is varied by the mechanism: the flag, the environment variable, the key of the override, the
            property of the workload; empty where the mechanism needs none.
        levels: the values it can take, as text.
        baseline: the level of the failing deployment; one of `levels`.
        values: for `python` and `patch`: what each level stands for (an interpreter, a diff or nothing).
        ordered: the levels have an order (versions, sizes), so a change point is likelier than a scatter.
        proxy: it only makes trials cheaper; it is never a cause.
    """

    name: str
    mechanism: Mechanism
    target: str
    levels: tuple[str, ...]
    baseline: str
    values: Mapping[str, str | None] = field(default_factory=dict)
    ordered: bool = False
    proxy: bool = False

    @property
    def serves_another(self) -> bool:
        """Whether it exchanges the model itself, which is a way out for nobody who needs this one."""
        return self.target.endswith(("model", "model-path"))

    @property
    def others(self) -> tuple[str, ...]:
        """The levels other than the baseline's."""
        return tuple(level for level in self.levels if level != self.baseline)


@dataclass(frozen=True, slots=True)
class Ready:
    """When a server counts as ready: a path that answers 2xx, a line of its log, or both.

    `timeout` is in seconds. None for `path` and `log`: what the engine's adapter knows.
    """

    timeout: float = 1200.0
    path: str | None = None
    log: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """The failure to explain, by class and, if given, stage."""

    __pydantic_config__: ClassVar = DOCUMENT_NAMES
    class_: FailureClass
    stage: Stage | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Expected minutes of a trial. Measured minutes replace the estimate unless `measured` is false."""

    trial: float | None = None
    levels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    measured: bool = True


@dataclass(frozen=True, slots=True)
class Budget:
    """Where an investigation stops in any case: a number of trials, minutes, bytes of disk. None: no limit."""

    trials: int | None = None
    minutes: float | None = None
    disk: int | None = None


@dataclass(frozen=True, slots=True)
class Others:
    """What to do when somebody else's process holds the port or the GPU memory that a trial needs.

    Such a process is named, and never stopped. `wait`: seconds until the trial is refused. `share`: GPUs are shared.
    """

    wait: float = 0.0
    share: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One failing deployment and the space of changes to it. The baseline configuration is the one that fails.

    `times`: by what the requests of the probes are multiplied, so that a rare failure shows within one launch.
    """

    name: str
    engine: str
    command: tuple[str, ...]
    factors: tuple[Factor, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    host: Mapping[str, Any] | str = "local"
    mode: Mode = Mode.SERVE
    ready: Ready = field(default_factory=Ready)
    stages: Mapping[str, str] = field(default_factory=dict)
    probes: tuple[Probe, ...] = ()
    target: Target | None = None
    good: tuple[Configuration, ...] = ()
    never: tuple[Configuration, ...] = ()
    keep: Configuration = field(default_factory=Configuration)
    cost: Cost = field(default_factory=Cost)
    budget: Budget = field(default_factory=Budget)
    workers: int = 1
    goal: Goal = Goal.CAUSE
    timeout: float | None = None
    times: int = 1
    others: Others = field(default_factory=Others)

    @property
    def baseline(self) -> Configuration:
        """The failing configuration."""
        return Configuration({factor.name: factor.baseline for factor in self.factors})

    def factor(self, name: str) -> Factor:
        """The factor of that name. Raises KeyError."""
        for factor in self.factors:
            if factor.name == name:
                return factor
        raise KeyError(name)
