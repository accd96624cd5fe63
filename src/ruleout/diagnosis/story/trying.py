"""What to try after several runs: first what a masked failure speaks of and nobody varied; nothing that a run had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ruleout.diagnosis.commandline import changed
from ruleout.diagnosis.components import COMPONENTS
from ruleout.diagnosis.flags import cost, spelt
from ruleout.diagnosis.ran import in_effect
from ruleout.diagnosis.steps import minutes
from ruleout.diagnosis.story.levels import NO_LEVELS
from ruleout.model import Diagnosis, ProposedStep, StepKind
from ruleout.model.spelling import plain
from ruleout.model.story import Levels, Shared

_BARE = frozenset({"true", "false"})


def next_steps(
    answer: Diagnosis, shared: Sequence[Shared], known: Mapping[str, Levels], others: Sequence[Diagnosis]
) -> tuple[ProposedStep, ...]:
    """The steps of the target's run after those that the other runs suggest, without what another run had already."""
    first = [step for item in shared if item.spoken_of and (step := _varying(answer, item, known))][:1]
    changes = [step.change for step in first]
    rest = [step for step in answer.next if not step.change or step.change not in changes]
    return (*first, *(step for step in rest if not _had(step, others)))


def _varying(answer: Diagnosis, item: Shared, known: Mapping[str, Levels]) -> ProposedStep | None:
    """The trial that varies a setting."""
    change = next((c for c in _changes(answer, item, known) if not _in_effect(answer, c)), None)
    if change is None:
        return None
    why = f"never varied, and a masked failure speaks of it; if it fails alike, it is not {item.name}"
    command = changed(answer.command, change) if answer.command else ""
    return ProposedStep(StepKind.TRIAL, why, change, command, minutes(answer), cost(change))


def _changes(answer: Diagnosis, item: Shared, known: Mapping[str, Levels]) -> Iterator[dict[str, str]]:
    """Other levels of a setting: what would refute its component, else the first that are known."""
    for about in COMPONENTS.values():
        for change in about.changes.get(answer.engine.name, ()):
            if [flag.lstrip("-").replace("-", "_") for flag in change] == [item.name]:
                yield spelt(answer.engine, change) or dict(change)
    levels = known[item.name].levels if item.name in known else ()
    for level in levels:
        if plain(level) not in NO_LEVELS | _BARE | {plain(item.value)}:
            yield {"--" + item.name.replace("_", "-"): level}


def _had(step: ProposedStep, others: Sequence[Diagnosis]) -> bool:
    """Another run had that change already: what it showed is in the story."""
    return bool(step.change) and any(_in_effect(run, step.change) for run in others)


def _in_effect(run: Diagnosis, change: Mapping[str, str]) -> bool:
    return all(in_effect(run, flag, level) for flag, level in change.items())
