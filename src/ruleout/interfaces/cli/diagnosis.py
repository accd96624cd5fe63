"""A diagnosis on one screen: the conclusion, why most likely, what to try first, all in ten rows; then the rest.

24 rows of 80 columns are enough for any log: what has no room is counted and left to --json.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from ruleout.interfaces.cli import particulars, suspicion
from ruleout.interfaces.cli import story as stories
from ruleout.interfaces.cli.output import answer_console
from ruleout.interfaces.cli.rows import cut, labelled, number, wrapped
from ruleout.interfaces.cli.streams import SIGNS
from ruleout.interfaces.cli.suspicion import Row
from ruleout.model import Evidence
from ruleout.model.diagnosis import DiagnosedFailure, Diagnosis, LogOutcome, StepKind
from ruleout.model.story import Story
from ruleout.report import diagnosis as words

STYLES = {
    LogOutcome.HEALTHY: ("✓", "green"),
    LogOutcome.STOPPED: ("✓", "green"),
}
SCREEN = 23
"""Rows of the answer on a terminal of 80 columns, one left for the prompt."""
FIRST = 10
"""Rows within which the first step stands on a terminal of 80 columns: who reads no further knows what to do."""
_LAUNCHES = re.compile(r"launch \d+ of \d+ in this log.*")
"""What is told besides a crash: that it is not all that the log holds."""
_BUILD = re.compile(r"(?<=\d)\+\w+(?:\.\w+)*|(?<=· )[\w.-]+/")
"""What a head can spare: from which checkout a release was built, and whose repository a model is of."""


def tell_diagnosis(diagnosis: Diagnosis, story: Story | None = None) -> None:
    """Print the answer on stdout."""
    console = answer_console()
    for text, style in screen(diagnosis, console.width, story):
        console.print(Text(printable(text, console.encoding), style), soft_wrap=True)


def screen(diagnosis: Diagnosis, width: int, story: Story | None = None) -> Iterator[Row]:
    """The rows of the answer, none of them wider than `width` (at least 40) columns."""
    width = max(40, width)
    yield from ((cut(text, width), style) for text, style in _rows(diagnosis, width, story))


@dataclass(frozen=True, slots=True)
class _Plan:
    """How many rows the parts may take, and whether the address of the failure has one of its own."""

    head: int
    message: int
    address: bool
    suspects: int
    claim: int


_PLANS = (
    _Plan(2, 2, True, 3, 2),
    _Plan(1, 2, True, 3, 2),
    _Plan(1, 2, True, 3, 1),
    _Plan(1, 1, True, 2, 2),
    _Plan(1, 1, True, 2, 1),
    _Plan(1, 1, False, 2, 1),
    _Plan(1, 1, False, 1, 1),
)
"""From roomy to tight. Without a step that has to be seen, the first one serves."""


def _rows(diagnosis: Diagnosis, width: int, story: Story | None) -> Iterator[Row]:
    first = [suspicion.title(diagnosis), *suspicion.step(1, diagnosis.next[0], width)] if diagnosis.next else []
    for plan in _PLANS:
        blocks = [*_conclusion(diagnosis, width, plan, story), _why(diagnosis, width, plan), first]
        blocks = [block for block in blocks if block]
        if not first or sum(map(len, blocks)) <= FIRST:
            break
    blanks = FIRST - sum(map(len, blocks)) if first else len(blocks)
    told: list[Row] = []
    for place, block in enumerate(blocks):  # a blank between parts, where there is room: the last parts need it most
        told += [("", "")] if told and len(blocks) - place <= blanks else []
        told += block
    if first:
        told += _steps(diagnosis, width, stories.STEPS if story else SCREEN - len(told))
    yield from told
    rest = list(particulars.sections(diagnosis, width, plan.suspects))
    if diagnosis.suspects:
        rest.sort(key=lambda section: particulars.LATER.index(section[0]))
    limit = stories.SCREEN if story else SCREEN
    rest = stories.joined(story, rest, width) if story else rest
    room = limit - len(told) - 1 if diagnosis.suspects or story else limit
    rows = [row for label, rows in rest for row in labelled(label, rows, width)][: max(0, room)]
    if rows:
        yield "", ""
        yield from ((row, "") for row in rows)


def _steps(diagnosis: Diagnosis, width: int, room: int) -> list[Row]:
    """What else is to be known of the first step, then the others: each as a whole or not at all."""
    steps = diagnosis.next[: suspicion.STEPS]
    blocks = [suspicion.behind_step(steps[0], width)]
    for place, proposed in enumerate(steps[1:], 2):
        blocks.append(suspicion.step(place, proposed, width) + suspicion.behind_step(proposed, width)[:1])
    if sum(proposed.kind is StepKind.TRIAL for proposed in steps) > 1:
        blocks.append([("     or let ruleout try them: ruleout investigate -- COMMAND…", "dim")])
    told: list[Row] = []
    for block in blocks:
        if len(told) + len(block) <= room:
            told += block
    return told


def _conclusion(diagnosis: Diagnosis, width: int, plan: _Plan, story: Story | None) -> list[list[Row]]:
    """What ran, and how it ended."""
    mark, style = STYLES.get(diagnosis.outcome, ("✗", "red")) if words.sure(diagnosis) else ("?", "yellow")
    told = [(row, f"bold {style}") for row in wrapped(f"{mark} {words.conclusion(diagnosis)}", width, 2, 2)]
    if diagnosis.failure:
        told += _failure(diagnosis.failure, diagnosis, width, plan)
    if diagnosis.reason and _adds(diagnosis) and (plan.address or not diagnosis.failure):
        told += [(row, "dim") for row in wrapped(f"  {diagnosis.reason}", width, 2, 2)]
    elif launches := _LAUNCHES.search(diagnosis.reason):
        told.append((cut(f"  {launches[0]}", width), "yellow"))
    return [[(row, "dim") for row in _head(diagnosis, width, plan.head, story)], told]


def _why(diagnosis: Diagnosis, width: int, plan: _Plan) -> list[Row]:
    def address(line: Evidence) -> str:
        return particulars.address(line.line, line.source, diagnosis)

    return list(suspicion.why(diagnosis, width, plan.suspects, plan.claim, address)) if diagnosis.suspects else []


def printable(text: str, encoding: str) -> str:
    """What a terminal shows as it is: no control characters, nothing that its encoding lacks."""
    text = "".join(c if c.isprintable() else " " for c in text)
    try:
        return text.encode(encoding).decode(encoding)
    except UnicodeEncodeError:
        return "".join(SIGNS.get(c, c) for c in text).encode(encoding, "replace").decode(encoding)


def _head(diagnosis: Diagnosis, width: int, rows: int, story: Story | None) -> list[str]:
    ran = " · ".join(words.what_ran(diagnosis))
    lines = sum(source.lines for source in diagnosis.sources)
    taken = stories.taken_as(story, len(diagnosis.sources))
    names = taken or (diagnosis.sources[0].name if diagnosis.sources else "no log")
    broken = ", cut off" if any(source.truncated for source in diagnosis.sources) else ""
    size = f"{number(lines)} line{'' if lines == 1 else 's'}{broken}"
    read = f"{cut(names, width // 2)}, {size}"
    if not ran:
        return [read]
    if rows > 1 and len(ran) + 3 + len(read) > width:
        return [*wrapped(ran, width, 0, 2), read]
    brief = _BUILD.sub("", ran)
    for left, right in ((ran, read), (brief, f"{cut(names, width // 4)}, {size}"), (brief, taken or size)):
        if len(left) + 3 + len(right) <= width:
            break
    left = cut(left, width - 3 - len(right))
    return [f"{left}{right:>{width - len(left)}}"]


def _failure(failure: DiagnosedFailure, diagnosis: Diagnosis, width: int, plan: _Plan) -> Iterator[Row]:
    told = f"{failure.exception}: {failure.message}" if failure.exception else failure.message
    where = particulars.address(failure.line, failure.source, diagnosis) if failure.line else ""
    who = failure.process or ("" if failure.rank is None else f"rank {failure.rank}")
    quoted = bool(failure.text) and failure.message[:40].strip() not in failure.text
    place = failure.frames[-1] if failure.frames else ""
    told = told or failure.text
    if not plan.address and where:
        told = f"{where}: {told}"
    yield from ((row, "") for row in wrapped(f"  {told}", width, 2, plan.message))
    if plan.address:
        facts = [where, who, "" if failure.asynchronous or not place else f"in {place}"]
        yield cut("  " + ", ".join(fact for fact in facts if fact), width), "bold"
        if quoted:
            yield cut(f"  {failure.text.strip()}", width), ""
    if failure.asynchronous:
        stack = f" ({place})" if place else ""
        yield cut(f"  reported late: the stack{stack} is not where it began", width), "yellow"


def _adds(diagnosis: Diagnosis) -> bool:
    """The reason of the judgement says more than the conclusion and the deciding line do."""
    if diagnosis.failure:
        return diagnosis.failure.inferred and diagnosis.reason not in diagnosis.failure.message
    return diagnosis.outcome not in (LogOutcome.HEALTHY, LogOutcome.STOPPED) and words.recognised(diagnosis)
