"""Several runs on the screen of one: which failure is meant, what was varied, masked, untried, and never varied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ruleout.interfaces.cli.rows import LABEL, wrapped
from ruleout.model import ChosenBy, OutcomeKind
from ruleout.model.errors import UsageError
from ruleout.model.story import Brief, MaskedRun, Shared, Story, StoryRun, Untried

if TYPE_CHECKING:
    from ruleout.reading.diagnose import Run

SCREEN, STEPS, ROWS = 40, 8, 3
"""Rows of the answer with several logs, of what is to try behind its first words, and of one statement."""
RUNS, FACTORS, MASKED, UNTRIED, NEVER, DIFFERS = 5, 4, 2, 3, 9, 5
"""How many statements each section has at most, and names the one of what was never varied; the others are counted."""
LEVELS = 8
_MARKS = {OutcomeKind.REPRODUCED: "✗", OutcomeKind.CLEAN: "✓", OutcomeKind.OTHER: "◌", OutcomeKind.UNRESOLVED: "?"}
_OTHERS = {"engine": ": another engine; settings are not compared", "model": ": another model; the rest may come of it"}

Section = tuple[str, list[str]]


def good_runs(runs: Sequence[Run], failing: Sequence[Run]) -> list[Run]:
    """The runs, each of which can be held against failing ones. Raises UsageError when one cannot."""
    from ruleout.diagnosis.story.factors import beside, values
    from ruleout.diagnosis.story.judging import reached, sound

    told = [(bad.diagnosis, values(bad.diagnosis).keys()) for bad in failing]
    for run in runs:
        facts = run.diagnosis
        name = facts.sources[0].name
        if sound(facts):
            if all(beside(facts, bad).keys().isdisjoint(had) for bad, had in told):
                problem = "nothing to compare: no engine, model, version or setting is told by both logs"
                raise UsageError(f"--against {name}: {problem}", "Name logs that begin with the start of the server.")
            continue
        if facts.failure:
            address = f"line {facts.failure.line}" if facts.failure.line else "by what it says"
            problem = f"it failed{facts.stage.inside} ({address}: {facts.failure.message[:60]})"
            remedy = "Compare failing runs without --against; after it, name a log of a run that served well."
        else:
            problem = f"it does not say that it ran well: it came as far as {reached(facts)}"
            remedy = "Name a log that goes on until the server was ready and answered."
        raise UsageError(f"--against {name}: not a good run: {problem}", remedy)
    return list(runs)


def taken_as(story: Story | None, logs: int) -> str:
    """How the logs were taken: as runs, or as ranks of one."""
    if story is None or len(story.runs) < 2:
        return f"one run of {logs} rank logs" if logs > 1 else ""
    ranks = sum(run.logs for run in story.runs)
    return f"{len(story.runs)} runs" + (f" of {ranks} logs" if ranks > len(story.runs) else "")


def joined(story: Story, own: Sequence[Section], width: int) -> list[Section]:
    """The sections of a story, and of one run's own those that a story does not say better."""
    room = width - LABEL
    told = [(label, [part for row in rows for part in wrapped(row, room, 2, ROWS)]) for label, rows in sections(story)]
    return [*told, *(section for section in own if section[0] in ("Not evidence", "Failing starts warn"))]


def sections(story: Story) -> Iterator[Section]:
    """The sections that a story adds, with their rows."""
    if len(story.runs) > 1:
        if story.target:
            yield "The target", [story.target.why]
        each = len(story.runs) <= RUNS
        yield "What was varied", [_run(run) for run in story.runs] if each else _summary(story)
    if story.masked:
        yield "Masked", _kept([_masked(run) for run in story.masked], MASKED)
    if story.untried:
        yield "Untried levels", _kept([_untried(item) for item in story.untried], UNTRIED)
    if story.shared:
        yield "Never varied", _never(story)
    if story.brief:
        yield "Proves little", _kept([_brief(run) for run in story.brief], 1)
    if story.against:
        every = [d for d in story.against if d.every]
        if any(d.name == "model" for d in every):
            every = [d for d in every if d.name != "model_type"]
        rows = dict.fromkeys(f"{d.name}: {d.good} → {d.bad}{_OTHERS.get(d.name, '')}" for d in every)
        some = dict.fromkeys(d.name for d in story.against if not d.every)
        shared = [f"from some good runs only, so not the cause alone: {', '.join(some)}"] if some else []
        yield "Differs from good", [*_kept(list(rows), DIFFERS), *shared]
    elif story.good and story.target:
        yield "Differs from good", ["in nothing that the logs tell: chance, load, or what they do not say"]
    if story.copies:
        yield "Given twice", _kept([f"{copy} is {of} again: read once" for copy, of in story.copies], 1)


def _brief(run: Brief) -> str:
    from ruleout.diagnosis.story.brief import span

    return f"{run.source} served {span(run.seconds)}, where the target took {span(run.needed)} to show"


def _run(run: StoryRun) -> str:
    own = " ".join(f"{name}={level}" for name, level in run.varied.items()) or "nothing of its own"
    return f"{_MARKS[run.says]} {run.source}: {own} → {_outcome(run)}"


def _summary(story: Story) -> list[str]:
    """Of more runs than have a row each: how many say what, and the settings with their levels."""
    words = {
        OutcomeKind.REPRODUCED: "show the target",
        OutcomeKind.CLEAN: "came past it",
        OutcomeKind.OTHER: "are masked",
        OutcomeKind.UNRESOLVED: "say nothing",
    }
    counts = Counter(run.says for run in story.runs)
    said = ", ".join(f"{_MARKS[kind]} {counts[kind]} {words[kind]}" for kind in words if counts[kind])
    rows = [f"{said}; each by itself: --json"]
    for one in story.varied:
        if one.asked:
            levels = [f"{level} ({len(had)})" for level, had in list(one.levels.items())[:LEVELS]]
            rows.append(f"{one.name}: {', '.join(levels)}{' …' if len(one.levels) > LEVELS else ''}")
    return _kept(rows, FACTORS)


def _outcome(run: StoryRun) -> str:
    if run.says is OutcomeKind.REPRODUCED:
        return f"the target{run.stage.inside}"
    return f"another failure{run.stage.inside}" if run.failure else run.why


def _masked(run: MaskedRun) -> str:
    return f"{run.source}:{run.line} {run.why}: says nothing about the target. {run.failure}"


def _untried(item: Untried) -> str:
    known = len(item.untried) + len(item.tried)
    masked = f" ({', '.join(item.masked)} told nothing)" if item.masked else ""
    told = f"{item.name}: {len(item.tried)} of {known} tried{masked}"
    if len(item.tried) < 2:  # nobody varied it in a run that says anything
        return told
    rest = ", ".join(item.untried[:LEVELS]) + (" …" if len(item.untried) > LEVELS else "")
    return f"{told}; not {rest}"


def _never(story: Story) -> list[str]:
    """Each of the first by itself, the others by name; what a good run shares too comes last, with what that means."""
    alone = [item for item in story.shared if not item.good]
    first, rest = alone[:1], alone[1:]
    rows = [_shared(item, len(story.runs)) for item in first]
    if rest:
        rows.append(f"nor {_named(rest)}")
    if both := [item for item in story.shared if item.good]:
        rows.append(f"shared with a good run, so not the cause alone: {_named(both)}")
    return rows


def _named(items: Sequence[Shared]) -> str:
    marks = [f"{item.name}={item.value}{'*' if item.only_masked else ''}" for item in items[:NEVER]]
    more = f" and {len(items) - NEVER} more" if len(items) > NEVER else ""
    note = " (*: changed where it tells nothing)" if any(item.only_masked for item in items[:NEVER]) else ""
    return ", ".join(marks) + more + note


def _shared(item: Shared, runs: int) -> str:
    who = "chosen by the engine" if item.chosen_by is ChosenBy.ENGINE else "the same"
    text = f"{item.name}={item.value}, {who} in {_many(len(item.runs), runs)}"
    if item.spoken_of:
        text += f"; the masked failure speaks of it ({item.spoken_of.source}:{item.spoken_of.line})"
    if item.only_masked:
        text += "; otherwise only where it tells nothing"
    return text


def _many(some: int, of: int) -> str:
    if some < of:
        return f"{some} of {of} runs"
    return {1: "the run", 2: "both runs"}.get(of, f"all {of} runs")


def _kept(rows: list[str], limit: int) -> list[str]:
    return rows if len(rows) <= limit else [*rows[: limit - 1], f"and {len(rows) - limit + 1} more (--json)"]
