"""Trials that are told as a story: a sentence names a change and its outcome, or the next sentence tells the outcome.

What is supposed, planned, recommended or asked is no trial.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ruleout.reading.notes.changes import changes_in
from ruleout.reading.notes.claims import Claim, claims_of, has_outcome
from ruleout.reading.notes.fields import value_of
from ruleout.reading.notes.found import Found
from ruleout.reading.notes.layout import Line, Paragraph
from ruleout.reading.notes.lists import ASKS, STARTS, lines_as_items, read_fields, read_item
from ruleout.reading.notes.told import Told, commands_in
from ruleout.reading.notes.words import Word, said, spoken

COMPLAINT = re.compile(
    r"^\W*(?:symptom|problem|error|issue|bug|failure|question|target|what fails|fails with"
    r"|actual)\w*\W*\s*[:=-]\s*(.+)$",
    re.IGNORECASE,
)
SUPPOSED = re.compile(
    r"\b(?:could|should|would|might|may|maybe|perhaps|probably|suggest\w*|recommend\w*|going to|will|planning|tomorrow"
    r"|i (?:think|guess|believe|suspect|assume|expect|wonder)|somebody|someone|anyone|told (?:me|us|that)"
    r"|was told|heard|one can|you can|please"
    r"|supposed to"
    r"|expected|hopefully|worth)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"^\W*(?:(?:and|but|so|again|unfortunately|sadly|luckily|surprisingly|there)\W+)?(?:that|this|it|which|result|no"
    r"|same"
    r"|still|crash\w*|work\w*|fail\w*|ok|ran|died|after|everything|server|all|he|she|we|i (?:got|saw|see|get))\b",
    re.IGNORECASE,
)
"""How a sentence begins that tells what became of what the one before it names."""
_ANSWERS = re.compile(
    r"^\W*(?:yes|yep|yeah|yup|sure|done|did|just (?:did|tried)|tried|ok|same|still|that)\b", re.IGNORECASE
)
"""How an answer begins to whether something was tried."""
_ENDS = re.compile(r"(?<=[.!?])[)\"*_]*\s+(?=[\"'`*_(\[~]*[A-Z`\-0-9])|(?<=;)\s+|\s+(?=[-=]> )")
_RUNS = re.compile(
    r"\b(?:ran|run|rerun|re-ran|tried|launch\w*|start\w*|repeat\w*|test\w*|baseline|happen\w*|without any|unchanged)\b",
    re.I,
)
_BY = re.compile(
    r"(?:^|\b)(?:with|on|under|using|to|in|tried|running|ran|set|and|went|going|disabl\w+|enabl\w+|turn\w*|switch\w*"
    r"|without"
    r"|same)\W+(?:\w+\W+){0,2}$",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:i|we|he|she|they)\b|\b(?:tried|ran|got|gave|gives|put|was|were|went|dropped|lowered|raised|added|removed"
    r"|switched"
    r"|survived|helped|crashed|crashes|hung|hangs|worked|works|died|dies|failed|fails|did|does|again|neither|still)\b",
    re.IGNORECASE,
)
"""Words of somebody who tells what happened."""
_UNCHANGED = re.compile(
    r"\b(?:baseline|unchanged|unmodified|as is|as usual|without (?:any )?changes?|original|same command|as deployed)\b",
    re.I,
)
_WRAPPED = 60
"""Characters from which on a line that does not end its sentence was broken by an editor."""


class Sentence(NamedTuple):
    """A sentence, and the line on which each of its characters stands."""

    text: str
    lines: list[int]

    def line(self, at: int) -> int:
        """The line of the character there."""
        return self.lines[min(max(at, 0), len(self.lines) - 1)]


def read_paragraph(told: Told, block: Paragraph) -> None:
    """Take what a paragraph tells: by fields, line by line, or as a story."""
    told.complaints += [found[1] for _, text in block.lines if (found := COMPLAINT.match(text))]
    if read_fields(told, block.lines):
        return
    starts = sum(bool(STARTS.match(text)) for _, text in block.lines)
    if (starts > 1 and not _is_wrapped(block.lines)) or (starts == len(block.lines) == 1):
        known = len(told.claims)
        for item in lines_as_items(block.lines):
            read_item(told, item)
        told.claims[known:] = [replace(claim, prose=True) for claim in told.claims[known:]]
        return
    _read_story(told, [line for line in block.lines if not commands_in([value_of(line[1])])])


def _is_wrapped(lines: Sequence[Line]) -> bool:
    """Whether lines were broken for their length, so that where one begins says nothing."""
    return len(lines) > 1 and min(len(text) for _, text in lines[:-1]) > _WRAPPED


def _read_story(told: Told, lines: Sequence[Line]) -> None:
    pending: Claim | None = None
    for sentence in sentences(lines):
        text = sentence.text
        found = changes_in(text)
        if ASKS.search(text) or COMPLAINT.match(text):
            told.asked = (
                Claim(0, text, "", found, prose=True) if text.rstrip().endswith("?") and found.changes else None
            )
            continue
        if told.asked is not None and found.begin < 0 and has_outcome(text) and _ANSWERS.match(text):
            told.claims.append(replace(told.asked, line=sentence.line(0), text=text, result=text))
        told.asked = None
        supposed = is_supposed(text)
        if found.begin >= 0 and has_outcome(text) and not supposed and _tells(text, found):
            told.claims += [_placed(claim, sentence) for claim in claims_of(0, text, prose=True)]
            pending = None
        elif (
            found.changes
            and _tells(text, found)
            and not supposed
            and not any(word is Word.UNTRIED for _, _, word in said(text))
        ):
            pending = _placed(Claim(0, text, "", found, prose=True), sentence)
        elif pending is not None and has_outcome(text) and not supposed and _GOES_ON.match(text):
            told.claims.append(replace(pending, text=f"{pending.text} {text}", result=text))
            pending = None


def is_supposed(text: str) -> bool:
    """Whether what a sentence says of an outcome is a guess, a plan or advice; what is guessed after it is not."""
    first = next((end for _, end, word in said(text) if word is not Word.UNTRIED), len(text))
    return SUPPOSED.search(spoken(text)[:first]) is not None


def _tells(text: str, found: Found) -> bool:
    """Whether a sentence tells of a run: words alone (`vllm 0.14 fails`) only where they are no apposition."""
    if not found.changes and not found.commands:
        return _RUNS.search(text) is not None and _UNCHANGED.search(text) is not None
    if found.commands or any(change.sure for change in found.changes):
        before = text[: found.begin]
        return len(before) < 12 or _BY.search(before) is not None or _PERSON.search(text) is not None
    before, after = text[: found.changes[0].begin], text[found.changes[-1].end :]
    if re.fullmatch(r"\W*", before):
        return re.match(r"\s*[,-]", after) is None
    return _BY.search(before) is not None


def sentences(lines: Sequence[Line]) -> Iterator[Sentence]:
    """The sentences of a paragraph; none ends inside of code."""
    text, numbers = "", []
    for number, line in lines:
        piece = f"{line.strip()} "
        text += piece
        numbers += [number] * len(piece)
    masked = re.sub(r"`[^`]*`", lambda found: f"`{'x' * (len(found[0]) - 2)}`", text)
    begin = 0
    for found in [*_ENDS.finditer(masked), None]:
        end = found.start() if found else len(text)
        if text[begin:end].strip():
            yield Sentence(text[begin:end], numbers[begin:end])
        begin = found.end() if found else end


def _placed(claim: Claim, sentence: Sentence) -> Claim:
    """The claim with the line on which its change stands."""
    return replace(claim, line=sentence.line(claim.found.begin), text=" ".join(claim.text.split()))
