"""What else a log tells, under labels: how far it came, what the engine chose, what warns and what that weighs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ruleout.interfaces.cli import suspicion
from ruleout.interfaces.cli.rows import LABEL, cut, short, wrapped
from ruleout.model.diagnosis import SURVIVED, ChosenBy, Diagnosis, Setting, StageSpan

PATH_ROWS, SETTINGS, CONSEQUENCES, WARNINGS = 2, 3, 3, 2

TELLING = ("kv_cache_dtype", "backend", "quantization", "dtype", "moe", "graph", "eager", "mem", "page_size")
"""Parts of the names of settings that failures hang on: they come first."""

NOT_TELLING = ("model", "model_path", "model_tag", "served_model_name", "host", "port", "api_key")
"""Settings that the head says already, or that nothing hangs on."""

NAMES = ("tokenizer", "served_model_name", "device", "device_config", "load_format", "revision", "seed")
"""Settings that name things, and follow from others: they come last, with those that are printed as structures."""
LATER = (
    "Once mended, next",
    "Refuted if",
    "Engine's own choice",
    "Came through",
    "Asked for",
    "Followed from it",
    "Survived",
    "Failing starts warn",
    "Not evidence",
    "Warns, not weighed",
)
"""Their order where there are suspects: what the engine chose tells more than how far it came."""


def sections(diagnosis: Diagnosis, width: int, suspects: int) -> Iterator[tuple[str, list[str]]]:
    """Labels with their rows, which leave room for the label; so many suspects are shown above."""
    room = width - LABEL
    if foretold := suspicion.foretold(diagnosis.suspects):
        yield "Once mended, next", wrapped(foretold[0], room, 0, 2)
    if refuted := suspicion.refutations(diagnosis, suspects):
        yield "Refuted if", [row for text in refuted for row in wrapped(text, room, 0, 2)]
    if diagnosis.stages:
        yield "Came through", _fitted(diagnosis.stages, room)
    own = [s for s in diagnosis.settings if s.chosen_by is ChosenBy.ENGINE]
    own.sort(key=_told_last)
    if own:
        yield "Engine's own choice", _first([_choice(s, diagnosis, room) for s in own], SETTINGS, room)
    asked = [s for s in diagnosis.settings if s.chosen_by is ChosenBy.USER]
    asked = [s for s in asked if s.name not in NOT_TELLING]
    asked.sort(key=lambda s: not any(part in s.name for part in TELLING))
    if asked:
        given = "  ".join(
            short(f"{s.name}={s.requested if s.requested is not None else s.resolved}", 40) for s in asked
        )
        yield "Asked for", wrapped(given, room, 0, 1)
    if diagnosis.failure and diagnosis.failure.consequences:
        follows = [(c.line, c.source, c.text) for c in diagnosis.failure.consequences]
        yield "Followed from it", _first(_quoted(follows, diagnosis), CONSEQUENCES, room)
    telling = sorted((w for w in diagnosis.warnings if w.weight), key=lambda w: -(w.weight or 0))
    for label, warnings in (
        ("Failing starts warn", telling),
        ("Survived", [w for w in diagnosis.warnings if w.why == SURVIVED]),
        ("Warns, not weighed", [w for w in diagnosis.warnings if w.weight is None and w.why != SURVIVED]),
    ):
        if warnings:
            quoted = _quoted(((w.line, w.source, w.text) for w in warnings), diagnosis)
            yield label, _first(quoted, WARNINGS, room)
    if nothing := [w for w in diagnosis.warnings if w.weight == 0 and w.why != SURVIVED]:
        nothing.sort(key=lambda w: not w.remedy)
        first, quoted = nothing[0], _quoted(((w.line, w.source, w.text) for w in nothing), diagnosis)
        rows = _first(quoted, WARNINGS, room)
        said = [f"  {text[:1].upper()}{text[1:]}" for text in (first.why, first.remedy) if text]
        told = [row for text in said for row in wrapped(text, room, 2, 2)]
        yield "Not evidence", [*rows[:1], *told, *rows[1:]]


def _fitted(stages: Sequence[StageSpan], room: int) -> list[str]:
    """The path in as many rows as there are for it: what came last tells more than what came first."""
    path = wrapped(_path(stages), room, 0, PATH_ROWS + 1)
    first = 1
    while len(path) > PATH_ROWS and first < len(stages):
        path = wrapped("… › " + _path(stages[first:]), room, 0, PATH_ROWS + 1)
        first += 1
    return path[:PATH_ROWS]


def _path(stages: Sequence[StageSpan]) -> str:
    """The stages as they came, each with its line and, if it was long, what it took."""
    return " › ".join(f"{span.name}:{span.line}{_took(span.seconds)}" for span in stages)


def _took(seconds: float | None) -> str:
    return "" if seconds is None or seconds < 1 else f" ({seconds:.0f}\N{NO-BREAK SPACE}s)"


def _told_last(setting: Setting) -> tuple[bool, bool, bool]:
    """What was asked for and not given comes first, then what failures hang on."""
    idle = setting.name in NAMES or setting.name.endswith("_config") or "(" in (setting.resolved or "")
    return idle, setting.requested is None, not any(part in setting.name for part in TELLING)


def _choice(setting: Setting, diagnosis: Diagnosis, room: int) -> str:
    """Where it is told, what it is, and what was asked for instead, which a long value leaves room for."""
    begin = f"{address(setting.line, setting.source, diagnosis)}  {setting.name}"
    if setting.resolved is None and setting.requested is not None:
        return f"{begin}: asked for {short(setting.requested, 36)}, refused"
    asked = f", asked for {short(setting.requested, 24)}" if setting.requested not in (None, setting.resolved) else ""
    value = min(36, max(8, room - len(begin) - len(" = ") - len(asked)))
    return f"{begin} = {short(setting.resolved or '?', value)}{asked}"


def _quoted(lines: Iterable[tuple[int, str, str]], diagnosis: Diagnosis) -> list[str]:
    return [f"{address(line, source, diagnosis)}  {text.strip()}" for line, source, text in lines]


def address(line: int, source: str, diagnosis: Diagnosis) -> str:
    """Where to look; with one log its name needs no repeating."""
    return f"{source}:{line}" if source and len(diagnosis.sources) > 1 else f"line {line}"


def _first(rows: list[str], limit: int, width: int) -> list[str]:
    kept = rows if len(rows) <= limit else [*rows[: limit - 1], f"and {len(rows) - limit + 1} more (--json)"]
    return [cut(row, width) for row in kept]
