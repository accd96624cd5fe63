"""What other runs do to the suspects of one: each fact multiplies the odds of the component that it is about.

A setting that was varied and made no difference clears its component in the measure of the levels tried: with k of n
levels failing alike, (n - k) / (n - 1) is left, so that two of seven clear little. What a clean run had otherwise
speaks for its component, the more the fewer things differ; what it had alike speaks against it. A masked run whose
failure speaks of a setting that all runs share speaks for that setting's component.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ruleout.diagnosis.factors import component_named
from ruleout.diagnosis.story.factors import ENVIRONMENT
from ruleout.model import Component, Evidence, Suspect
from ruleout.model.spelling import plain
from ruleout.model.story import Levels, Shared, Story

LEAST = 0.1
"""What is left of the odds of a component whose every known level was tried."""
UNKNOWN = 2
"""How many levels there are beyond those seen, where nobody lists them."""
DIFFERS, ALIKE, SPOKEN_OF = 6.0, 0.5, 3.0
"""By what the odds grow when it is the only difference to a good run; when a good run has it too; when a masked failure
speaks of it."""
EVIDENCE = 4


@dataclass(frozen=True, slots=True)
class Moved:
    """By what a component's odds are multiplied, why, and on which lines of other runs."""

    by: float
    evidence: tuple[Evidence, ...] = ()


def moves(story: Story, known: Mapping[str, Levels]) -> dict[Component, Moved]:
    """What the story does to each component; those that it does not touch are left out."""
    by: dict[Component, float] = {}
    evidence: dict[Component, list[Evidence]] = {}

    def move(component: Component | None, factor: float, *lines: Evidence) -> None:
        if component is not None:
            by[component] = by.get(component, 1.0) * factor
            evidence.setdefault(component, []).extend(lines)

    proves = set(story.good) - {run.source for run in story.brief}
    differs = list(dict.fromkeys(one.name for one in story.against if one.every)) if proves else []
    for one in story.varied:
        failed = [level for level in one.informative if plain(level) != "none"]
        if one.name not in differs and len(failed) > 1:
            levels = known.get(one.name)
            there = max(len(levels.levels) if levels else 0, len(failed) + (0 if levels else UNKNOWN))
            move(component_of(one.name, known), max(LEAST, (there - len(failed)) / max(1, there - 1)))
    components = {component_of(name, known) for name in differs}
    for component in components:
        move(component, 1.0 + (DIFFERS - 1.0) / len(differs))
    alike = {component_of(item.name, known) for item in story.shared if item.good}
    for component in alike - components:
        move(component, ALIKE)
    for item in _spoken_of(story.shared):
        assert item.spoken_of
        move(component_of(item.name, known), SPOKEN_OF, item.spoken_of)
    return {component: Moved(factor, tuple(evidence[component])) for component, factor in by.items()}


def weighed_by(found: Sequence[Suspect], moved: Mapping[Component, Moved]) -> list[Suspect]:
    """The suspects after the story, best first; what is left unexplained keeps its own odds."""
    left = 1.0 - sum(suspect.probability for suspect in found)
    nothing = Moved(1.0)
    weights = [suspect.probability * moved.get(suspect.component, nothing).by for suspect in found]
    total = max(1e-9, sum(weights) + left)
    after = [
        replace(
            suspect,
            probability=weight / total,
            evidence=_with(suspect.evidence, moved.get(suspect.component, nothing).evidence),
        )
        for suspect, weight in zip(found, weights, strict=True)
    ]
    return sorted(after, key=lambda suspect: -suspect.probability)


def component_of(name: str, known: Mapping[str, Levels]) -> Component | None:
    """The part of the stack that a setting decides on: by the engine's list, else by the words of its name."""
    if name in known and known[name].component is not None:
        return known[name].component
    return ENVIRONMENT[name] if name in ENVIRONMENT else component_named(name)


def _spoken_of(shared: Sequence[Shared]) -> list[Shared]:
    return [item for item in shared if item.spoken_of]


def _with(own: tuple[Evidence, ...], others: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """The evidence with that of other runs, one line of which has a place however much there is of its own."""
    return (*own[: EVIDENCE - bool(others)], *others)[:EVIDENCE]
