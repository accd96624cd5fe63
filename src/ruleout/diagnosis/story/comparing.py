"""What was varied between runs, and what none of those that tell anything had otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ruleout.diagnosis.story.factors import ENVIRONMENT, UNSET, Value, beside, values
from ruleout.model import ChosenBy, Diagnosis, Evidence, OutcomeKind
from ruleout.model.spelling import plain, same
from ruleout.model.story import Difference, Levels, Shared, Varied

OTHER = ("engine", "model", "model_type")
"""What makes a good run one of another deployment, whose other differences may all follow from it."""
MOST = 40
"""Settings that are named as never varied."""
_WORDS = re.compile(r"[A-Za-z]+\d*|\d+")
_SHORT = 2
"""Letters from which on a word that a failure and a setting share means something."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A run with its values and what it says about the target."""

    name: str
    run: Diagnosis
    says: OutcomeKind
    values: Mapping[str, Value]

    @classmethod
    def of(cls, name: str, run: Diagnosis, says: OutcomeKind, lead: Diagnosis) -> Seen:
        """The run, ready to be compared with the one that the story is about."""
        return cls(name, run, says, beside(run, lead))

    @property
    def informative(self) -> bool:
        return self.says in (OutcomeKind.REPRODUCED, OutcomeKind.CLEAN)

    @property
    def asks(self) -> bool:
        """It is known what was asked of it."""
        return bool(self.run.command) or any(s.chosen_by is ChosenBy.DEFAULT for s in self.run.settings)

    def chose(self, name: str) -> bool:
        """A value was asked for; or it is not told what was, and the value stands in a configuration or was chosen."""
        value = self.values.get(name)
        if value is None or name in ENVIRONMENT:
            return value is not None
        return value.asked or (not self.asks and (value.printed or value.said))


def varied(runs: Sequence[Seen]) -> tuple[Varied, ...]:
    """What differs between the runs: what somebody chose first, numbers that the engine measured not at all."""
    found = []
    for name in dict.fromkeys(name for run in runs for name in run.values):
        told = [(run, run.values[name]) for run in runs if name in run.values]
        asked = any(value.asked for _, value in told)
        levels: dict[str, list[Seen]] = {}
        for run, value in told:
            levels.setdefault(_known_as(levels, value.text), []).append(run)
        silent = [run for run in runs if name not in run.values and run.asks]
        if asked and silent and len(told) < len(runs):
            levels.setdefault(UNSET, []).extend(silent)
        chosen = any(run.chose(name) for run, _ in told)
        if len(levels) < 2 or (not chosen and all(value.number for _, value in told)):
            continue
        telling = tuple(level for level, had in levels.items() if any(run.informative for run in had))
        had_by = {level: tuple(run.name for run in had) for level, had in levels.items()}
        found.append(Varied(name, had_by, chosen, telling))
    return tuple(sorted(found, key=lambda one: (not one.asked, -len(one.informative))))


def of_run(run: Seen, differing: Sequence[Varied]) -> dict[str, str]:
    """What a run was given and not all others were, or is another version."""
    own: dict[str, str] = {}
    for one in differing:
        value = run.values.get(one.name)
        if value is None or not one.asked:
            continue
        if value.overruled:
            own[one.name] = f"{value.requested} (in effect: {value.text})"
        elif run.chose(one.name):
            own[one.name] = value.text
    return own


def refused(runs: Sequence[Seen]) -> dict[str, dict[str, str]]:
    """By run, what was asked for without effect, where the others have the same in effect: no variation at all."""
    found: dict[str, dict[str, str]] = {}
    for run in runs:
        for name, value in run.values.items():
            others = [other.values[name] for other in runs if other is not run and name in other.values]
            alike = bool(others) and all(same(value.text, other.text) for other in others)
            if alike and value.overruled and any(other.requested != value.requested for other in others):
                found.setdefault(run.name, {})[name] = f"{value.requested} (in effect: {value.text})"
    return found


def shared(runs: Sequence[Seen], known: Mapping[str, Levels]) -> tuple[Shared, ...]:
    """What all runs with the target share and no informative run had otherwise, what matters most first."""
    showing = [run for run in runs if run.says is OutcomeKind.REPRODUCED]
    found: list[tuple[tuple[float, ...], Shared]] = []
    for name in dict.fromkeys(name for run in showing for name in run.values):
        told = [run.values[name] for run in showing if name in run.values]
        first = told[0]
        others = [(run, run.values[name]) for run in runs if name in run.values]
        alike = tuple(run.name for run, value in others if same(value.text, first.text))
        compared = len(alike) > 1 or (len(told) == len(showing) and len(others) > 1)
        if 2 * len(told) < len(showing) or not compared or not _counts(name, first, known):
            continue
        if any(run.informative and not same(value.text, first.text) for run, value in others):
            continue
        otherwise: dict[str, list[str]] = {}
        for run, value in others:
            if not same(value.text, first.text):
                otherwise.setdefault(value.text, []).append(run.name)
        spoken = next((e for run in runs if run.says is OutcomeKind.OTHER and (e := _speaks(run, name, first))), None)
        good = any(run.says is OutcomeKind.CLEAN and name in run.values for run in runs)
        item = Shared(
            name,
            first.text,
            first.chosen_by,
            first.line,
            first.source,
            {level: tuple(names) for level, names in otherwise.items()},
            spoken,
            good,
            alike,
        )
        found.append((_rank(name, first, item, known), item))
    return tuple(item for _, item in sorted(found, key=lambda pair: pair[0]))[:MOST]


def differences(bad: Diagnosis, goods: Sequence[tuple[str, Diagnosis]]) -> tuple[Difference, ...]:
    """What good runs had otherwise than a bad one; what all of them had otherwise first, and no measured numbers.

    Another engine or model comes before what may follow from it.
    """
    mine = values(bad)
    found: list[tuple[tuple[bool, bool, bool], Difference]] = []
    theirs = [(name, beside(run, bad)) for name, run in goods]
    for name, value in mine.items():
        unlike = [(good, had[name]) for good, had in theirs if name in had and not same(had[name].text, value.text)]
        asked = value.asked or any(other.asked for _, other in unlike)
        if not asked and value.number and not value.printed and name not in ENVIRONMENT:
            continue
        every = len(unlike) == sum(name in had for _, had in theirs)
        found += [
            ((not every, name not in OTHER, not asked), Difference(name, other.text, value.text, good, every))
            for good, other in unlike
        ]
    for good, had in theirs:
        only = {n: v.text for n, v in had.items() if n not in mine and v.asked}
        for name, text in only.items():
            every = all(name in others for _, others in theirs)
            found.append(((not every, True, False), Difference(name, text, UNSET, good, every)))
    return tuple(item for _, item in sorted(found, key=lambda pair: pair[0]))


def _known_as(levels: Mapping[str, object], text: str) -> str:
    """The spelling under which a level has been met."""
    return next((level for level in levels if plain(level) == plain(text)), text)


def _counts(name: str, value: Value, known: Mapping[str, Levels]) -> bool:
    """Somebody chose it, or a failure may hang on it: defaults count where it is known what else there is."""
    if name in ENVIRONMENT or name in known:
        return True
    return value.chosen_by in (ChosenBy.ENGINE, ChosenBy.USER) or (value.chosen_by is None and not value.number)


def _rank(name: str, value: Value, item: Shared, known: Mapping[str, Levels]) -> tuple[float, ...]:
    """What a masked failure speaks of, what the engine chose in words of its own, what has other levels, the rest."""
    kind = 0 if value.overruled or value.said else 1 if name in known else 2 if name in ENVIRONMENT else 3
    return (not item.spoken_of, item.good, kind, value.chosen_by is not ChosenBy.ENGINE, value.number)


def _speaks(run: Seen, name: str, value: Value) -> Evidence | None:
    """The failure of a masked run that has the setting too, if it has two words of its name, or one and the value."""
    failure, own = run.run.failure, run.values.get(name)
    if failure is None or failure.inferred or own is None or not same(own.text, value.text):
        return None
    said = _words(f"{failure.message} {failure.text}")
    of_name, of_value = _words(name) & said, _words(value.text)
    if len(of_name) >= 2 or (of_name and of_value and of_value <= said):
        return Evidence(failure.source, failure.line, failure.message)
    return None


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORDS.findall(text) if len(word) >= _SHORT}
