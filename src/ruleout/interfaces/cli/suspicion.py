"""Why, most likely, and what to try next, as rows: who reads no further than the first step knows what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ruleout.interfaces.cli.rows import clause, cut, pasteable, wrapped
from ruleout.model import ABSENT, Evidence, arguments
from ruleout.model.diagnosis import Diagnosis, ProposedStep, StepKind, Suspect
from ruleout.model.figures import percent

Row = tuple[str, str]
"""Text, style."""

STEPS, COMMAND_ROWS = 3, 3
WORTH_A_ROW = 0.05
"""With what probability a suspect is shown; the first always is."""
_INDENT = "     "


def shown(diagnosis: Diagnosis, limit: int) -> tuple[Suspect, ...]:
    """The suspects that are worth a row."""
    return tuple(s for s in diagnosis.suspects[:limit] if s.probability >= WORTH_A_ROW) or diagnosis.suspects[:1]


def why(diagnosis: Diagnosis, width: int, limit: int, rows: int, address: Callable[[Evidence], str]) -> Iterator[Row]:
    """The suspects, how likely each is and by which lines, the first in so many rows; the title says what is left."""
    named = shown(diagnosis, limit)
    left = max(0.0, 1 - sum(suspect.probability for suspect in named))
    others = ", ".join(suspect.component for suspect in diagnosis.suspects[len(named) :][:2])
    yield cut(f"Why, most likely ({percent(left)} unexplained{f', or {others}' if others else ''})", width), "bold"
    column = max(len(suspect.component) for suspect in named)
    likely = max(len(percent(suspect.probability)) for suspect in named)
    for number, suspect in enumerate(named):
        begin = f"  {percent(suspect.probability):>{likely}}  {suspect.component:<{column}}  "
        limit = rows if not number else 1
        room = width - len(begin)
        told = (wrapped(suspect.claim, room, 0, limit) if limit > 1 else [clause(suspect.claim, room)]) or [""]
        lines = ", ".join(dict.fromkeys(address(line) for line in suspect.evidence[:2]))
        if len(told[-1]) + len(lines) + 4 <= room:
            told[-1] += f"  ({lines})"
        yield from ((f"{begin if not index else ' ' * len(begin)}{row}", "") for index, row in enumerate(told))


def title(diagnosis: Diagnosis) -> Row:
    """The title of the steps; where the log shows no command, it says what to do with a flag or a variable."""
    trials = [step for step in diagnosis.next[:STEPS] if step.kind is StepKind.TRIAL]
    names = {name for step in trials if not step.command for name, level in step.change.items() if level != ABSENT}
    variables, flags = (any(arguments.variable(n) is kind for n in names) for kind in (True, False))
    places = {
        (True, True): "variables before your command, flags behind it",
        (True, False): "set variables before your command",
        (False, True): "add flags to your command",
    }
    place = places.get((variables, flags))
    return f"Try next ({place})" if place else "Try next", "bold"


def step(number: int, proposed: ProposedStep, width: int, rows: int = 2) -> list[Row]:
    """A step: what to do, how long it takes, what its answer tells; the command, where that is what to do."""
    room = width - len(_INDENT)
    if proposed.kind is not StepKind.TRIAL and proposed.command:
        first = pasteable(proposed.command, room, 2) or [cut(proposed.command, room)]
        text = [*first, *wrapped(proposed.why, room, 0, max(1, rows - 1))]
    else:
        change = arguments.told(proposed.change)
        text = wrapped(f"{change}{_took(proposed.minutes)}: {proposed.why}" if change else proposed.why, room, 0, rows)
    return [(f"  {number}  {row}" if not index else f"{_INDENT}{row}", "") for index, row in enumerate(text)]


def behind_step(proposed: ProposedStep, width: int) -> list[Row]:
    """What else is to be known of a trial: its price, and the whole command where it fits."""
    told: list[Row] = []
    if proposed.cost:
        told.append((cut(f"{_INDENT}its price: {proposed.cost}", width), "dim"))
    if proposed.kind is StepKind.TRIAL and proposed.command:
        command = pasteable(f"$ {proposed.command}", width - len(_INDENT), COMMAND_ROWS)
        told += [(f"{_INDENT}{row}", "") for row in command or ["the whole command: --json"]]
    return told


def refutations(diagnosis: Diagnosis, limit: int) -> list[str]:
    """What would refute the suspects that are shown, where no step says so already."""
    tried = {word for proposed in diagnosis.next[:STEPS] for word in proposed.why.replace(",", " ").split()}
    return [f"{s.component}: {s.test}" for s in shown(diagnosis, limit) if s.test and s.component.value not in tried]


def foretold(suspects: Sequence[Suspect]) -> list[str]:
    """What is likely to show next once the first suspect is mended: its failure hides others."""
    return [", ".join(suspects[0].behind)] if suspects and suspects[0].behind else []


def _took(minutes: float | None) -> str:
    if minutes is None:
        return ""
    return f" ({minutes:.0f} min)" if minutes >= 1 else f" ({max(1, round(minutes * 60))} s)"
