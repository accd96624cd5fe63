"""The space of an investigation as numbers: factors and levels by index, trials as rows.

Everything in this package works on indices, so that names, and the order in which a person wrote them, cannot matter.
Level 0 of a factor is its baseline: what takes effect there, whatever was asked for. Where the engine puts another
level in its place, that one is no level of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ruleout.model import Case, Configuration, Factor, OutcomeKind, Trial

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Space:
    """The factors of a case and the levels of each, the baseline first.

    Attributes:
        proxy: marks factors that only make trials cheaper and never take part in a cause.
        place: of ordered factors, the place of each level in their order; None for the others.
        settable: how many levels a trial can ask for; further ones were only seen to take effect instead.
        impossible: levels, as (factor, level), that fail otherwise whatever else is set: nobody can go there, so they
            are no way out of a cause. A factor with no other level is a part of the deployment like its machine.
        standing: of factors whose baseline level the engine replaces, the level that takes effect there.
        doubt: of levels that have only failed otherwise, the chance that they are impossible, by (factor, level).
    """

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    proxy: tuple[bool, ...]
    place: tuple[tuple[int, ...] | None, ...]
    settable: IntArray
    impossible: frozenset[tuple[int, int]] = frozenset()
    standing: Mapping[str, str] = field(default_factory=dict)
    doubt: Mapping[tuple[int, int], float] = field(default_factory=dict)

    @classmethod
    def of(cls, case: Case, trials: Sequence[Trial] = ()) -> Space:
        """The space of a case, its factors in order of their names, with the levels that trials had in effect."""
        factors = sorted(case.factors, key=lambda factor: factor.name)
        standing = _standing(case, trials)
        levels = [(f.baseline, *(level for level in f.others if level != standing.get(f.name))) for f in factors]
        known = [{*own, standing.get(f.name)} for f, own in zip(factors, levels, strict=True)]
        seen = [_unlisted(f.name, own, trials) for f, own in zip(factors, known, strict=True)]
        return cls(
            tuple(f.name for f in factors),
            tuple(own + more for own, more in zip(levels, seen, strict=True)),
            tuple(f.proxy for f in factors),
            tuple(_places(f, own) if not more else None for f, own, more in zip(factors, levels, seen, strict=True)),
            np.array([len(own) for own in levels], dtype=np.int64),
            standing=standing,
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
        """The factors that can take part in a cause: those with more than one possible level that are no proxies."""
        return tuple(f for f in range(len(self)) if not self.proxy[f] and len(self.possible(f)) > 1)

    def possible(self, f: int) -> IntArray:
        """The levels of a factor that can be run, the baseline's first."""
        levels = [level for level in range(len(self.levels[f])) if (f, level) not in self.impossible]
        return np.array(levels, dtype=np.int64)

    def doubtful(self, f: int, level: int) -> float:
        """The chance that nobody can run a level, whatever else is set."""
        return self.doubt.get((f, level), 0.0)

    def beside(self, f: int, level: int, seen: Observations) -> BoolArray:
        """The levels of a factor that fail for the same reason, if this one fails otherwise: itself; of levels in an
        order, those as far as the next ones that ran."""
        if (place := self.place[f]) is None:
            return np.asarray(np.arange(len(self.levels[f])) == level, dtype=np.bool_)
        at = np.array(place)
        ran = np.unique(at[seen.ran(f)])
        gap = np.searchsorted(ran, at)
        return np.asarray((gap == gap[level]) & ~np.isin(at, ran), dtype=np.bool_)

    def level(self, factor: str, level: str) -> int:
        """The index of a level of a factor. Raises ValueError when it has none such."""
        return 0 if self.standing.get(factor) == level else self.levels[self.names.index(factor)].index(level)

    def row(self, configuration: Mapping[str, str]) -> IntArray:
        """A configuration as a row of level indices. Factors it does not name are at their baseline."""
        return np.array(
            [
                self.level(name, configuration.get(name, levels[0]))
                for name, levels in zip(self.names, self.levels, strict=True)
            ],
            dtype=np.int64,
        )

    def configuration(self, row: Sequence[int] | IntArray) -> Configuration:
        """The configuration of a row."""
        return Configuration(
            {name: levels[int(i)] for name, levels, i in zip(self.names, self.levels, row, strict=True)}
        )


def _places(factor: Factor, levels: tuple[str, ...]) -> tuple[int, ...] | None:
    return tuple(factor.levels.index(level) for level in levels) if factor.ordered and len(levels) > 2 else None


def _standing(case: Case, trials: Sequence[Trial]) -> dict[str, str]:
    """Of each factor the level that the engine puts in the place of the baseline's, where it does, by most of its runs.

    Not every log tells: one that does speaks for all runs of the baseline.
    """
    told: dict[str, Counter[str]] = {}
    for trial in trials:
        if trial.outcome is not None and not trial.configuration.difference(case.baseline):
            for name, level in trial.outcome.effective.items():
                told.setdefault(name, Counter())[level] += 1
    most = {name: levels.most_common(1)[0][0] for name, levels in told.items()}
    return {f.name: most[f.name] for f in case.factors if most.get(f.name, f.baseline) != f.baseline}


def _unlisted(name: str, known: set[str | None], trials: Sequence[Trial]) -> tuple[str, ...]:
    """Levels of a factor that took effect in a trial without being one of those to choose from."""
    found = {t.outcome.effective[name] for t in trials if t.outcome is not None and name in t.outcome.effective}
    return tuple(sorted(found - known))


@dataclass(frozen=True)
class Observations:
    """What the judged trials said, one row each.

    Attributes:
        ids: the trials' numbers.
        rows: indices of the levels in effect, shape (trials, factors): where the engine overrode what was asked for,
            the trial speaks of what it did, and of nothing that was asked for.
        requested: the same of the levels that were asked for.
        reproduced, clean: what a trial said of the target; a row with neither was masked or unresolved.
        label: what masked it: a short text, equal for trials that failed alike; empty for informative rows.
        hearsay: rows that nobody here has seen: they say where to look, and confirm nothing.
    """

    ids: tuple[int, ...]
    rows: IntArray
    requested: IntArray
    reproduced: BoolArray
    clean: BoolArray
    label: tuple[str, ...]
    hearsay: BoolArray

    @classmethod
    def of(cls, space: Space, trials: Sequence[Trial]) -> Observations:
        """The observations of those trials that have been judged."""
        judged = [t for t in trials if t.outcome is not None]
        kinds = [t.outcome.kind for t in judged if t.outcome is not None]
        shape = (len(judged), len(space))
        requested = np.array([space.row(t.configuration) for t in judged], dtype=np.int64).reshape(shape)
        rows = np.array([space.row(_in_effect(t)) for t in judged], dtype=np.int64).reshape(shape)
        reproduced = np.array([k is OutcomeKind.REPRODUCED for k in kinds], dtype=np.bool_)
        clean = np.array([k is OutcomeKind.CLEAN for k in kinds], dtype=np.bool_)
        # Clean under proxies that were never seen to keep the failure: the proxies may be why. It says nothing.
        proxies = rows[:, space.proxies]
        kept = {tuple(p) for p in proxies[reproduced].tolist()} | {(0,) * len(space.proxies)}
        trusted = np.array([tuple(p) in kept for p in proxies.tolist()], dtype=np.bool_)
        labels = tuple(_label(t) if ok else "proxy" for t, ok in zip(judged, trusted, strict=True))
        hearsay = np.array([t.outcome is not None and t.outcome.hearsay for t in judged], dtype=np.bool_)
        ids = tuple(t.id for t in judged)
        return cls(ids, rows, requested, reproduced, clean & trusted, labels, hearsay)

    @cached_property
    def made(self) -> Observations:
        """Those that are no hearsay."""
        if not self.hearsay.any():
            return self
        keep = np.flatnonzero(~self.hearsay)
        return Observations(
            tuple(self.ids[i] for i in keep),
            self.rows[keep],
            self.requested[keep],
            self.reproduced[keep],
            self.clean[keep],
            tuple(self.label[i] for i in keep),
            self.hearsay[keep],
        )

    @cached_property
    def informative(self) -> BoolArray:
        """The rows that say whether the target shows."""
        return self.reproduced | self.clean

    def ran(self, f: int) -> IntArray:
        """The levels of a factor that informative trials had, each once."""
        return np.unique(self.rows[self.informative, f])

    def at(self, row: IntArray) -> BoolArray:
        """The rows with exactly these levels."""
        return np.asarray((self.rows == row).all(axis=1), dtype=np.bool_)


def _in_effect(trial: Trial) -> Mapping[str, str]:
    effective = trial.outcome.effective if trial.outcome is not None else {}
    return {**trial.configuration, **effective}


def _label(trial: Trial) -> str:
    outcome = trial.outcome
    if outcome is None or outcome.informative:
        return ""
    return outcome.failure.signature if outcome.failure else outcome.kind.value
