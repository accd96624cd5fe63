"""Two levels of seven that failed alike say nothing about the other five: which levels no informative run had.

What levels there are is known from the engine's own list for its release, and from what the logs list themselves, so
that an engine that nobody has written a list for has untried levels too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ruleout.diagnosis.story.comparing import Seen
from ruleout.diagnosis.story.factors import UNSET
from ruleout.model import Diagnosis
from ruleout.model.spelling import plain
from ruleout.model.story import Levels, Untried, Varied

NO_LEVELS = frozenset({"none", "auto", "", UNSET})
"""Levels that leave it to the engine: what it then takes is another level."""


def known_levels(given: Iterable[Levels], runs: Sequence[Diagnosis]) -> dict[str, Levels]:
    """The levels of each setting: the engine's list, and what the logs list beside it."""
    known = {levels.name: levels for levels in given}
    for run in runs:
        for choices in run.choices:
            before = known.get(choices.name)
            address = f"{choices.source}:{choices.line}"
            if before is None:
                known[choices.name] = Levels(choices.name, choices.levels, None, address)
            elif new := [level for level in choices.levels if plain(level) not in map(plain, before.levels)]:
                both = f"{before.said_by}, {address}"
                known[choices.name] = Levels(choices.name, (*before.levels, *new), before.component, both)
    return known


def untried(runs: Sequence[Seen], differing: Sequence[Varied], known: Mapping[str, Levels]) -> tuple[Untried, ...]:
    """For each setting that somebody varied, the levels that no informative run had; what was tried most first."""
    found = []
    for one in differing:
        levels = known.get(one.name)
        if levels is None or not one.asked:
            continue
        had = {plain(level): level for level in one.levels if plain(level) not in NO_LEVELS}
        telling = {plain(level) for level in one.informative}
        rest = tuple(level for level in levels.levels if plain(level) not in telling | NO_LEVELS)
        tried = tuple(level for key, level in had.items() if key in telling)
        masked = tuple(level for level in rest if plain(level) in had)
        if rest:
            found.append(Untried(one.name, tried, rest, masked, levels.said_by))
    return tuple(sorted(found, key=lambda item: -len(item.tried)))
