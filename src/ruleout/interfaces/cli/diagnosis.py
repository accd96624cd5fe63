"""A diagnosis on one screen: the conclusion first, then the line that decides, then what ran; never a page more.

24 rows of 80 columns are enough for any log: what has no room is counted and left to --json.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from ruleout.interfaces.cli import story as stories
from ruleout.interfaces.cli.output import answer_console
from ruleout.model.diagnosis import SURVIVED, ChosenBy, DiagnosedFailure, Diagnosis, LogOutcome, Setting, StageSpan
from ruleout.model.story import Story
from ruleout.report import diagnosis as words

LABEL = 21
STYLES = {
    LogOutcome.HEALTHY: ("✓", "green"),
    LogOutcome.STOPPED: ("✓", "green"),
}
MESSAGE_ROWS = 3
SCREEN = 23
"""Rows of the answer on a terminal of 80 columns, one left for the prompt."""
SUSPECTS, STEPS, STEP_ROWS = 3, 2, 2
WORTH_A_ROW, WORTH_ROWS = 0.05, 0.15
"""With what probability a suspect is shown, and with what probability its claim may take more than a row."""
PATH_ROWS, SETTINGS, CONSEQUENCES, WARNINGS = 2, 3, 3, 2

TELLING = ("kv_cache_dtype", "backend", "quantization", "dtype", "moe", "graph", "eager", "mem", "page_size")
"""Parts of the names of settings that failures hang on: they come first."""

NOT_TELLING = ("model", "model_path", "model_tag", "served_model_name", "host", "port", "api_key")
"""Settings that the head says already, or that nothing hangs on."""

NAMES = ("tokenizer", "served_model_name", "device", "device_config", "load_format", "revision", "seed")
"""Settings that name things, and follow from others: they come last, with those that are printed as structures."""

COMPONENT, CLAIM_ROWS = 21, 2
_LATER = (
    "Engine's own choice",
    "Came through",
    "Asked for",
    "Followed from it",
    "Survived",
    "Failing starts warn",
    "Not evidence",
    "Warns, not weighed",
)
_BLANKS = re.compile(r"[ \t\r\n]+")

Row = tuple[str, str]
"""Text, style."""


def tell_diagnosis(diagnosis: Diagnosis, story: Story | None = None) -> None:
    """Print the answer on stdout."""
    console = answer_console()
    for text, style in screen(diagnosis, console.width, story):
        console.print(Text(printable(text, console.encoding), style), soft_wrap=True)


def screen(diagnosis: Diagnosis, width: int, story: Story | None = None) -> Iterator[Row]:
    """The rows of the answer, none of them wider than `width` (at least 40) columns."""
    width = max(40, width)
    yield from ((_cut(text, width), style) for text, style in _rows(diagnosis, width, story))


def _rows(diagnosis: Diagnosis, width: int, story: Story | None) -> Iterator[Row]:
    told = [*_conclusion(diagnosis, width, story), *_why(diagnosis, width, 1 if story else CLAIM_ROWS)]
    steps = list(_next(diagnosis, width, 1 if story else STEP_ROWS))
    if len(told) + len(steps) > SCREEN:
        steps = list(_next(diagnosis, width, 1))[: max(0, SCREEN - len(told))]
    told += steps
    yield from told
    sections, limit = list(_sections(diagnosis, width)), SCREEN
    if story is not None:
        sections, limit = _of_story(story, sections, width), stories.SCREEN
    elif diagnosis.suspects:  # what the engine chose tells more than how far it came, and less than a suspect
        sections.sort(key=lambda section: _LATER.index(section[0]))
    room = limit - len(told) - 1 if diagnosis.suspects or story else limit
    rows = [row for label, rows in sections for row in _labelled(label, rows, width)][: max(0, room)]
    if rows:
        yield "", ""
        yield from ((row, "") for row in rows)


def _of_story(story: Story, own: Iterable[tuple[str, list[str]]], width: int) -> list[tuple[str, list[str]]]:
    """The sections of a story, and of one run's own those that a story does not say better."""
    told = [
        (label, [part for row in rows for part in _wrapped(row, width - LABEL, 2, stories.ROWS)])
        for label, rows in stories.sections(story)
    ]
    return [*told, *(section for section in own if section[0] in ("Not evidence", "Failing starts warn"))]


def _conclusion(diagnosis: Diagnosis, width: int, story: Story | None) -> Iterator[Row]:
    yield from ((row, "dim") for row in _head(diagnosis, width, story))
    yield "", ""
    mark, style = STYLES.get(diagnosis.outcome, ("✗", "red")) if words.sure(diagnosis) else ("?", "yellow")
    yield from ((row, f"bold {style}") for row in _wrapped(f"{mark} {words.conclusion(diagnosis)}", width, 2, 2))
    if diagnosis.failure:
        yield from _failure(diagnosis.failure, diagnosis, width)
    if diagnosis.reason and _adds(diagnosis):
        yield from ((row, "dim") for row in _wrapped(f"  {diagnosis.reason}", width, 2, 2))


def _why(diagnosis: Diagnosis, width: int, claim_rows: int) -> Iterator[Row]:
    """The suspects, each in a row or two: how likely, what, which lines; then what is left."""
    if not diagnosis.suspects:
        return
    yield "", ""
    yield "Why, most likely", "bold"
    shown = [s for s in diagnosis.suspects[:SUSPECTS] if s.probability >= WORTH_A_ROW] or diagnosis.suspects[:1]
    for suspect in shown:
        lines = ", ".join(_address(e.line, e.source, diagnosis) for e in suspect.evidence[:2])
        begin = f"{suspect.probability:>5.0%}  {suspect.component:<{COMPONENT}}"
        rows = _wrapped(
            suspect.claim, width - len(begin) - 1, 0, 1 if suspect.probability < WORTH_ROWS else claim_rows
        ) or [""]
        if len(rows[-1]) + len(lines) + len(begin) + 5 <= width:
            rows[-1] += f"  ({lines})"
        for number, row in enumerate(rows):
            yield f"{begin if not number else ' ' * len(begin)} {row}", ""
    named = sum(s.probability for s in shown)
    others = ", ".join(s.component for s in diagnosis.suspects[len(shown) :])
    rest = f" or another one ({others})" if others else ""
    yield _cut(f"{max(0.0, 1 - named):>5.0%}  unexplained{rest}", width), "dim"


def _next(diagnosis: Diagnosis, width: int, limit: int) -> Iterator[Row]:
    """The next steps, in the order of the suspects they would refute; at most `limit` rows each."""
    if not diagnosis.next:
        return
    yield "", ""
    yield "Try next", "bold"
    for number, step in enumerate(diagnosis.next[:STEPS], 1):
        flags = " ".join(f"{flag} {level}".strip() for flag, level in step.change.items())
        text = f"{flags}: {step.why}" if flags else step.why
        rows = _wrapped(text, width - 5, 0, limit)
        yield from ((f"  {number if not index else ' '}  {row}", "") for index, row in enumerate(rows))


def printable(text: str, encoding: str) -> str:
    """What a terminal shows as it is: no control characters, nothing that its encoding lacks."""
    text = "".join(c if c.isprintable() else " " for c in text)
    return text.encode(encoding, "replace").decode(encoding)


def _head(diagnosis: Diagnosis, width: int, story: Story | None) -> list[str]:
    ran = " · ".join(words.what_ran(diagnosis))
    lines = sum(source.lines for source in diagnosis.sources)
    taken = stories.taken_as(story, len(diagnosis.sources))
    names = taken or (diagnosis.sources[0].name if diagnosis.sources else "no log")
    cut = ", cut off" if any(source.truncated for source in diagnosis.sources) else ""
    read = f"{_cut(names, width // 2)}, {_number(lines)} line{'' if lines == 1 else 's'}{cut}"
    if not ran:
        return [read]
    if len(ran) + 3 + len(read) <= width:
        return [f"{ran}{read:>{width - len(ran)}}"]
    return [*_wrapped(ran, width, 0, 2), read]


def _failure(failure: DiagnosedFailure, diagnosis: Diagnosis, width: int) -> Iterator[Row]:
    told = f"{failure.exception}: {failure.message}" if failure.exception else failure.message
    where = _address(failure.line, failure.source, diagnosis)
    who = failure.process or ("" if failure.rank is None else f"rank {failure.rank}")
    quoted = bool(failure.text) and failure.message[:40].strip() not in failure.text
    yield from (
        (row, "")
        for row in _wrapped(f"  {told or failure.text}", width, 2, MESSAGE_ROWS - quoted - bool(diagnosis.suspects))
    )
    place = failure.frames[-1] if failure.frames else ""
    facts = [where if failure.line else "", who, "" if failure.asynchronous or not place else f"in {place}"]
    yield _cut("  " + ", ".join(fact for fact in facts if fact), width), "bold"
    if quoted:
        yield _cut(f"  {failure.text.strip()}", width), ""
    if failure.asynchronous:
        stack = f" ({place})" if place else ""
        late = f"  reported late: the stack below it{stack} is where it was noticed, not where it was born"
        yield from ((row, "yellow") for row in _wrapped(late, width, 2, 2))


def _adds(diagnosis: Diagnosis) -> bool:
    """The reason of the judgement says more than the conclusion and the deciding line do."""
    if diagnosis.failure:
        return diagnosis.failure.inferred and diagnosis.reason not in diagnosis.failure.message
    return diagnosis.outcome not in (LogOutcome.HEALTHY, LogOutcome.STOPPED) and words.recognised(diagnosis)


def _sections(diagnosis: Diagnosis, width: int) -> Iterator[tuple[str, list[str]]]:
    room = width - LABEL
    if diagnosis.stages:
        yield "Came through", _fitted(diagnosis.stages, room)
    own = [s for s in diagnosis.settings if s.chosen_by is ChosenBy.ENGINE]
    own.sort(key=_told_last)
    if own:
        yield "Engine's own choice", _first([_choice(s, diagnosis) for s in own], SETTINGS, room)
    asked = [s for s in diagnosis.settings if s.chosen_by is ChosenBy.USER]
    asked = [s for s in asked if s.name not in NOT_TELLING]
    asked.sort(key=lambda s: not any(part in s.name for part in TELLING))
    if asked:
        given = "  ".join(
            _short(f"{s.name}={s.requested if s.requested is not None else s.resolved}", 40) for s in asked
        )
        yield "Asked for", _wrapped(given, room, 0, 1)
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
        shown = [f"{_address(w.line, w.source, diagnosis)} ({w.why}): {w.text.strip()}" for w in nothing]
        remedy = nothing[0].remedy
        told = _wrapped(f"{remedy[:1].upper()}{remedy[1:]}", room, 2, 2) if remedy else []
        rows = _first(shown, WARNINGS, room)
        yield "Not evidence", [*rows[:1], *told, *rows[1:]]


def _fitted(stages: Sequence[StageSpan], room: int) -> list[str]:
    """The path in as many rows as there are for it: what came last tells more than what came first."""
    path = _wrapped(_path(stages), room, 0, PATH_ROWS + 1)
    first = 1
    while len(path) > PATH_ROWS and first < len(stages):
        path = _wrapped("… › " + _path(stages[first:]), room, 0, PATH_ROWS + 1)
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


def _choice(setting: Setting, diagnosis: Diagnosis) -> str:
    asked = f", asked for {_short(setting.requested, 24)}" if setting.requested not in (None, setting.resolved) else ""
    address = _address(setting.line, setting.source, diagnosis)
    if setting.resolved is None and setting.requested is not None:
        return f"{setting.name}: asked for {_short(setting.requested, 36)}, refused   {address}"
    return f"{setting.name} = {_short(setting.resolved or '?', 36)}{asked}   {address}"


def _quoted(lines: Iterable[tuple[int, str, str]], diagnosis: Diagnosis) -> list[str]:
    return [f"{_address(line, source, diagnosis)}  {text.strip()}" for line, source, text in lines]


def _address(line: int, source: str, diagnosis: Diagnosis) -> str:
    """Where to look; with one log its name needs no repeating."""
    return f"{source}:{line}" if source and len(diagnosis.sources) > 1 else f"line {line}"


def _first(rows: list[str], limit: int, width: int) -> list[str]:
    kept = rows if len(rows) <= limit else [*rows[: limit - 1], f"and {len(rows) - limit + 1} more (--json)"]
    return [_cut(row, width) for row in kept]


def _labelled(label: str, rows: list[str], width: int) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield _cut(f"{label if not number else '':<{LABEL}}{row}", width)


def _wrapped(text: str, width: int, indent: int, rows: int) -> list[str]:
    """At most so many rows; a mark where it goes on."""
    before = " " * (len(text) - len(text.lstrip(" ")))
    lines = textwrap.wrap(
        _BLANKS.sub(" ", text.strip()),
        width,
        initial_indent=before,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )
    return lines if len(lines) <= rows else [*lines[: rows - 1], _cut(lines[rows - 1] + " …", width, always=True)]


def _cut(text: str, width: int, *, always: bool = False) -> str:
    text = " ".join(text.split("\n")).rstrip()
    if len(text) <= width and not always:
        return text
    return text[: width - 1].rstrip(" …") + "…"


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _number(value: int) -> str:
    return f"{value:,}".replace(",", " ")
