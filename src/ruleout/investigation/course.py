"""How an investigation went, read from its folder: excerpts around its evidence, and when the stages of trials began.

A log's clock is in a zone that it does not name, and zones lie whole quarters of an hour apart. So what is left of the
difference to the agent's clock is how long after the launch the first line came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from ruleout.engines import engine_named
from ruleout.investigation.birthplace import birthplace
from ruleout.investigation.folder import Folder
from ruleout.investigation.journal import Journal
from ruleout.investigation.run import LOG, stage_patterns
from ruleout.model import Case, Evidence, OutcomeKind, Stage, Trial, Verdict
from ruleout.model.course import Course, Excerpt, Lap
from ruleout.reading import read_log
from ruleout.reading.lines import chunks
from ruleout.reading.times import seconds
from ruleout.runners.base import read_events

BEFORE, BEHIND = 4, 8
"""Lines of an excerpt before and behind the one that counts."""
LONGEST = 600
"""Characters of a line that are shown."""
MASKED = 6
"""How many other failures have an excerpt: one of each kind."""
TIMED = 200
"""Of how many trials the stages are looked up."""
LARGEST_LOG = 256 << 20
"""Bytes of a log beyond which it is not read again for the time of its stages."""
_QUARTER = 900.0
_SIMULATED = 0.05
"""By which share the clock and the minutes that a command reported may differ."""


def course(case: Case, folder: Folder, journal: Journal, verdict: Verdict) -> Course:
    """What can still be told of how it went. What is gone from the folder is left out."""
    timed = {trial.id: laps(case, folder, trial) for trial in verdict.trials[:TIMED]}
    return Course(
        journal.beliefs,
        {number: found for number, found in timed.items() if found},
        tuple(_excerpts(folder, _evidence(verdict))),
        birthplace(folder, verdict.trials),
    )


# -- excerpts ----------------------------------------------------------------------------------------------------


def _evidence(verdict: Verdict) -> Iterator[tuple[str, Trial, Evidence]]:
    """The lines worth showing with what they show: the failure, what followed, what was seen besides, what masked."""
    shown = [t for t in verdict.trials if t.outcome and t.outcome.kind is OutcomeKind.REPRODUCED]
    plain = [trial for trial in shown if not trial.instruments]
    for trial in plain[:1]:
        if verdict.failure is not None:
            yield from (("the failure to explain", trial, line) for line in verdict.failure.evidence)
            yield from (("what followed from it", trial, line) for line in verdict.failure.consequences[:1])
    for trial in (*plain[:1], *(trial for trial in verdict.trials if trial.instruments)):
        for seen in trial.outcome.observed[:3] if trial.outcome else ():
            yield from ((seen.text, trial, line) for line in seen.evidence[:1])
    kinds: set[str] = set()
    for trial in verdict.trials:
        failure = trial.outcome.failure if trial.outcome and trial.outcome.masked else None
        if failure is not None and failure.signature not in kinds and len(kinds) < MASKED:
            kinds.add(failure.signature)
            yield from ((f"masked in trial {trial.id}: another failure", trial, e) for e in failure.evidence[:1])


def _excerpts(folder: Folder, evidence: Iterable[tuple[str, Trial, Evidence]]) -> Iterator[Excerpt]:
    known: set[tuple[str, int]] = set()
    for shows, trial, line in evidence:
        source = f"{trial.log.rpartition('/')[0]}/{line.source}".lstrip("/")
        path = folder.path / source
        inside = ".." not in PurePosixPath(source).parts and not PurePosixPath(source).is_absolute()
        if not line.line or not inside or (source, line.line) in known:
            continue
        known.add((source, line.line))
        first, lines = around(path, line.line)
        if lines:
            yield Excerpt(source, line.line, first, lines, shows)


def around(path: Path, line: int) -> tuple[int, tuple[str, ...]]:
    """The lines around one, and the number of the first; none where the file is gone or ends before it."""
    first = max(1, line - BEFORE)
    found: list[str] = []
    number = 1
    try:
        with path.open("rb") as stream:
            for chunk in chunks(stream):
                count = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
                if number + count > first:
                    rows = chunk.removesuffix(b"\n").split(b"\n")
                    found += map(_shown, rows[max(0, first - number) : line + BEHIND + 1 - number])
                number += count
                if number > line + BEHIND:
                    break
    except OSError:
        return first, ()
    return first, tuple(found) if first + len(found) > line else ()


def _shown(data: bytes) -> str:
    """A line for people: of a progress bar its last state; a mark where it goes on."""
    text = data[: 8 * LONGEST].decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
    return text if len(text) <= LONGEST and len(data) <= 8 * LONGEST else f"{text[:LONGEST]}…"


# -- stages ------------------------------------------------------------------------------------------------------


def laps(case: Case, folder: Folder, trial: Trial) -> tuple[Lap, ...]:
    """When each stage of a trial began, as far as its log and its agent tell; nothing where neither knows."""
    spool = folder.trial(trial.id)
    events = read_events(spool / "events.jsonl")
    times = [float(event["mono"]) for event in events if "mono" in event]
    total = trial.minutes * 60
    lasted = times[-1] - times[0] if times else 0.0
    real = abs(lasted - total) <= max(1.0, _SIMULATED * total)  # else the command said what it would have taken
    ready = next((float(e["mono"]) - times[0] for e in events if e["kind"] == "ready" and "mono" in e), None)
    began = float(events[0].get("wall") or 0.0) if events and real else None
    marks = _marks(case, spool / LOG)
    found = list(_placed(marks, began))
    if real and ready is not None:
        found = [lap for lap in found if lap.begin <= ready or lap.stage not in (Stage.READY, Stage.WARMUP)]
        found = [lap for lap in found if lap.stage != Stage.READY] + [Lap(Stage.READY.value, round(ready, 3))]
        found.sort(key=lambda lap: lap.begin)
    if not found or found[-1].begin > total * (1 + _SIMULATED) or found[-1].begin <= found[0].begin == 0.0:
        return ()
    return tuple(found)


def _marks(case: Case, log: Path) -> Sequence[tuple[str, float]]:
    """The stages of a log with the time of their first line, on its own clock."""
    try:
        if log.stat().st_size > LARGEST_LOG:
            return ()
        read = read_log(log, stage_patterns(case, engine_named(case.engine)))
    except (OSError, ValueError):
        return ()
    timed: dict[str, float] = {}
    for mark in read.stages:
        if (time := seconds(mark.text)) is not None:
            timed.setdefault(str(mark.stage), time)
    return tuple(timed.items())


def _placed(marks: Sequence[tuple[str, float]], began: float | None) -> Iterator[Lap]:
    """Stages in seconds since the launch; without a launch on the same clock, since the first of them."""
    if not marks:
        return
    first = marks[0][1]
    late = (first - began) % _QUARTER if began is not None else 0.0
    late = 0.0 if late > _QUARTER - 2 else late  # whole seconds of a log, rounded down
    last = 0.0
    for stage, time in marks:
        last = max(last, round(late + time - first, 3))
        yield Lap(stage, last)
