"""The space of an investigation as numbers: factors and levels by index, trials as rows.

Everything in this package works on indices, so that names, and the order in which a person wrote them, cannot matter.
Level 0 of a factor is its baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ruleout.model import Case, Configuration, OutcomeKind, Trial

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Space:
    """The factors of a case and the levels of each, the baseline first.

    `proxy[f]` marks factors that only make trials cheaper and never take part in a cause.
    """

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    proxy: tuple[bool, ...]

    @classmethod
    def of(cls, case: Case) -> Space:
        """The space of a case, its factors in order of their names."""
        factors = sorted(case.factors, key=lambda factor: factor.name)
        return cls(
            tuple(f.name for f in factors),
            tuple((f.baseline, *f.others) for f in factors),
            tuple(f.proxy for f in factors),
        )

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def sizes(self) -> IntArray:
        """The number of levels of each factor, the baseline included."""
        return np.array([len(levels) for levels in self.levels], dtype=np.int64)

    @cached_property
    def proxies(self) -> tuple[int, ...]:
        """The factors that only make trials cheaper."""
        return tuple(f for f in range(len(self)) if self.proxy[f] and len(self.levels[f]) > 1)

    @cached_property
    def suspects(self) -> tuple[int, ...]:
        """The factors that can take part in a cause: those with more than one level that are no proxies."""
        return tuple(f for f in range(len(self)) if not self.proxy[f] and len(self.levels[f]) > 1)

    def row(self, configuration: Mapping[str, str]) -> IntArray:
        """A configuration as a row of level indices. Factors it does not name are at their baseline."""
        return np.array(
            [
                levels.index(configuration.get(name, levels[0]))
                for name, levels in zip(self.names, self.levels, strict=True)
            ],
            dtype=np.int64,
        )

    def configuration(self, row: Sequence[int] | IntArray) -> Configuration:
        """The configuration of a row."""
        return Configuration(
            {name: levels[int(i)] for name, levels, i in zip(self.names, self.levels, row, strict=True)}
        )


@dataclass(frozen=True)
class Observations:
    """What the judged trials said, one row each.

    Attributes:
        ids: the trials' numbers.
        rows: level indices, shape (trials, factors).
        reproduced, clean: what a trial said of the target; a row with neither was masked or unresolved.
        label: what masked it: a short text, equal for trials that failed alike; empty for informative rows.
    """

    ids: tuple[int, ...]
    rows: IntArray
    reproduced: BoolArray
    clean: BoolArray
    label: tuple[str, ...]

    @classmethod
    def of(cls, space: Space, trials: Sequence[Trial]) -> Observations:
        """The observations of those trials that have been judged."""
        judged = [t for t in trials if t.outcome is not None]
        kinds = [t.outcome.kind for t in judged if t.outcome is not None]
        rows = np.array([space.row(t.configuration) for t in judged], dtype=np.int64).reshape(len(judged), len(space))
        reproduced = np.array([k is OutcomeKind.REPRODUCED for k in kinds], dtype=np.bool_)
        clean = np.array([k is OutcomeKind.CLEAN for k in kinds], dtype=np.bool_)
        # Clean under proxies that were never seen to keep the failure: the proxies may be why. It says nothing.
        proxies = rows[:, space.proxies]
        kept = {tuple(p) for p in proxies[reproduced].tolist()} | {(0,) * len(space.proxies)}
        trusted = np.array([tuple(p) in kept for p in proxies.tolist()], dtype=np.bool_)
        labels = tuple(_label(t) if ok else "proxy" for t, ok in zip(judged, trusted, strict=True))
        return cls(tuple(t.id for t in judged), rows, reproduced, clean & trusted, labels)

    @cached_property
    def informative(self) -> BoolArray:
        """The rows that say whether the target shows."""
        return self.reproduced | self.clean

    def at(self, row: IntArray) -> BoolArray:
        """The rows with exactly these levels."""
        return np.asarray((self.rows == row).all(axis=1), dtype=np.bool_)


def _label(trial: Trial) -> str:
    outcome = trial.outcome
    if outcome is None or outcome.informative:
        return ""
    return outcome.failure.signature if outcome.failure else outcome.kind.value
