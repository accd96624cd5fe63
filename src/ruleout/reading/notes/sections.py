"""Headings say what is below them: one trial each, several of them, plans, or what was said before.

What stands under `Ideas`, `Next` or `Conclusion` is planned or repeated, and no trial.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ruleout.reading.notes.changes import changes_in
from ruleout.reading.notes.claims import Claim, base_of, claims_of, has_outcome
from ruleout.reading.notes.fields import ERROR, RESULT, WHAT, field_of, fields
from ruleout.reading.notes.found import Found
from ruleout.reading.notes.layout import Block, Code, Heading, Item, Line, Paragraph, Table
from ruleout.reading.notes.lists import ASKS, STARTS, is_outcome, joined, lines_as_items, lines_of, read_item
from ruleout.reading.notes.outcomes import judge
from ruleout.reading.notes.sentences import is_supposed, read_paragraph, sentences
from ruleout.reading.notes.sessions import session_claims
from ruleout.reading.notes.tables import claims_in
from ruleout.reading.notes.told import Told, commands_of, line_of, retyped

_PLANNED = re.compile(
    r"\W*(?:to ?-?do|cancell?ed|waiting|on hold|ideas?|next(?: steps?| up)?"
    r"|plan(?:s|ned)?|what(?:'s| is)? (?:is )?(?:next|left|missing)"
    r"|left to (?:do|try)"
    r"|(?:things |stuff )?to (?:try|check|test)|open(?: questions?)?"
    r"|later|backlog|wish ?list|not (?:yet )?(?:tried|tested|done)|untried|untested"
    r"|remaining"
    r"|future)\b",
    re.IGNORECASE,
)
_REPEATED = re.compile(
    r"\W*(?:summary|conclu\w+|tl;?dr|bottom line|verdict|diagnosis|what i (?:think|believe|learn\w*)|hypothes\w+"
    r"|theor\w+"
    r"|root cause|cause|ruled out|workarounds?|fix(?:es)?|solution|environment|setup|system|versions?|hardware"
    r"|references?"
    r"|links?|lessons?|looks ruled out|assumptions?|answer|expected)\b",
    re.IGNORECASE,
)
_TRIAL = re.compile(
    r"\W*(?:run|trial|test|try|attempt|exp(?:eriment)?|case|step|iter(?:ation)?|config\w*|variant|t|#|no\.?)\W*"
    r"(?P<label>\d{1,3}|[A-Z])\b(?![.\d])|^\W*(?P<number>\d{1,3})\s*[.):—–-]",
    re.IGNORECASE,
)
_ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b|CUDA error|HIP error|Assertion")


def told_by(blocks: Sequence[Block]) -> Told:
    """What all blocks of notes tell."""
    told = Told()
    heads = [text for text in map(_head, blocks) if is_outcome(text)]
    judged = {run[0] for text in heads if (one := judge(text)) for run in one.runs}
    told.sorted_by_outcome = len(judged) > 1
    for heading, body, below in _sections(blocks):
        _read_section(told, heading, body, below)
    return told


def _head(block: Block) -> str:
    """The words of a block that may stand above a list; empty for any other."""
    if isinstance(block, Heading):
        return block.text
    return block.lines[0][1] if isinstance(block, Paragraph) and len(block.lines) == 1 else ""


def _sections(blocks: Sequence[Block]) -> Iterator[tuple[Heading | None, list[Block], Heading | None]]:
    """Headings with what stands directly below them, and the one of plans or repetitions that they stand under."""
    heading: Heading | None = None
    body: list[Block] = []
    under: Heading | None = None
    for block in [*blocks, Heading(0, 0, "")]:
        if not isinstance(block, Heading):
            body.append(block)
            continue
        if heading is not None or body:
            if under is not None and heading is not None and heading.level <= under.level:
                under = None
            if under is None and heading is not None and _is_aside(heading.text):
                under = heading
            yield heading, body, under
        heading, body = block, []


def _is_aside(title: str) -> bool:
    return bool(_PLANNED.match(title) or _REPEATED.match(title)) and not _TRIAL.match(title)


def _read_section(told: Told, heading: Heading | None, body: list[Block], under: Heading | None) -> None:
    if under is not None and _PLANNED.match(under.text):
        for line, text in [
            *([(heading.line, heading.text)] if heading else []),
            *(ln for b in body for ln in _lines(b)),
        ]:
            if any(change.sure for change in changes_in(text).changes):
                told.leave(line, text.strip(), "only planned")
        return
    told.commands += [(line_of(block), argv) for block in body for argv in commands_of(block)]
    if under is not None:
        return
    if heading is not None and told.sorted_by_outcome and is_outcome(heading.text):
        _read_blocks(told, body, heading.text)
        return
    if heading is not None and (trial := _as_trial(heading, body)) is not None:
        told.claims.append(trial)
        return
    before = len(told.claims)
    if heading is not None and _names_trial(heading.text) and has_outcome(heading.text):
        told.claims += claims_of(heading.line, heading.text, _label(heading.text))
    _read_blocks(told, body)
    if heading is not None and len(told.claims) == before and _names_trial(heading.text):
        told.leave(heading.line, heading.text, "no outcome is told")


def _read_blocks(told: Told, body: Sequence[Block], outcome: str = "") -> None:
    for block in joined(body):
        if told.sorted_by_outcome and is_outcome(_head(block)):
            outcome = _head(block)
            continue
        if isinstance(block, Table):
            claims = claims_in(block)
            if claims is not None:
                told.tables.append(claims)
                told.claims += claims
        elif isinstance(block, Item):
            read_item(told, block, outcome=outcome)
        elif isinstance(block, Code):
            _read_code(told, block)
        elif isinstance(block, Paragraph):
            read_paragraph(told, block)


def _read_code(told: Told, block: Code) -> None:
    """What is quoted is a terminal's session, a log, or a list that was pasted as it was."""
    session = list(session_claims(block.lines))
    told.claims += session
    if session:
        return
    if sum(STARTS.match(text) is not None and has_outcome(text) for _, text in block.lines) > 1:
        for item in lines_as_items(block.lines):
            read_item(told, item)


# -- one heading, one trial ------------------------------------------------------------------------------------


def _names_trial(title: str) -> bool:
    return any(change.sure for change in changes_in(title).changes)


def _label(title: str) -> str:
    found = _TRIAL.match(title)
    return (found["label"] or found["number"]) if found else ""


def _as_trial(heading: Heading, body: Sequence[Block]) -> Claim | None:
    """The claim of a section that is about one trial; None for any other section."""
    title = heading.text
    head = changes_in(title)
    if not _TRIAL.match(title) and not _is_about(title, head):
        return None
    commands = [argv for block in body for argv in commands_of(block)]
    if not commands and _tells_several(body):
        return None
    lines = [line for block in body for line in _lines(block)]
    known = fields(lines)
    result = _result(title, known.get(RESULT, ""), lines)
    if not result:
        return None
    if commands:
        found = changes_in(retyped(commands[0]))
    elif WHAT in known:
        found = changes_in(known[WHAT])
    else:
        found = head if any(change.sure for change in head.changes) else _first_changes(lines, head)
    if found.begin < 0:
        return None
    base = "" if commands else base_of(known.get(WHAT, title))
    return Claim(heading.line, title, _with_error(result, body, known), found, _label(title), base)


def _is_about(title: str, head: Found) -> bool:
    """Whether a heading is a change and little else; a title may name a version, and is about more than it."""
    if any(change.sure for change in head.changes) or head.commands:
        return True
    named = sum(change.end - change.begin for change in head.changes) or head.baseline_ends - head.baseline
    return named > 0.4 * len(title)


def _tells_several(body: Sequence[Block]) -> bool:
    inside = Told()
    _read_blocks(inside, [block for block in body if not isinstance(block, Code)])
    distinct = {tuple((c.name, c.level) for c in claim.found.changes) for claim in inside.claims}
    return len(distinct) > 1 or (bool(distinct) and any(isinstance(block, Table) for block in body))


def _result(title: str, named: str, lines: Sequence[Line]) -> str:
    """The words that say what became of it: those called so, the first sentence that says any, or the heading."""
    if has_outcome(named):
        return named
    for line in lines:
        for sentence in sentences([line]):
            if has_outcome(sentence.text) and not is_supposed(sentence.text) and not ASKS.search(sentence.text):
                return sentence.text
    return title if has_outcome(title) else ""


def _first_changes(lines: Sequence[Line], head: Found) -> Found:
    """What the text below a heading names by flags or variables; else the heading's words, else the text's."""
    found = [changes_in(text) for _, text in lines]
    sure = (one for one in found if any(change.sure for change in one.changes))
    return next(sure, None) or (head if head.begin >= 0 else next((one for one in found if one.begin >= 0), head))


def _with_error(result: str, body: Sequence[Block], known: dict[str, str]) -> str:
    """The outcome with the error that is quoted below it, where it names none itself."""
    if "`" in result:
        return result
    lines = (text.strip() for block in body if isinstance(block, Code) for _, text in block.lines)
    errors = [*([known[ERROR]] if ERROR in known else []), *(text for text in lines if _ERROR.search(text))]
    return f"{result} `{errors[0][:300]}`" if errors else result


def _lines(block: Block) -> Iterator[Line]:
    """The lines of a block as they are read: a paragraph's put together, unless they are fields."""
    if isinstance(block, Paragraph):
        if any(field_of(text) for _, text in block.lines):
            yield from block.lines
        else:
            yield block.lines[0][0], " ".join(text.strip() for _, text in block.lines)
    elif isinstance(block, Item):
        yield from lines_of(replace(block))
