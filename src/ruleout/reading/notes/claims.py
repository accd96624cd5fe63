"""From words to claims: which change a text speaks of, and which of its words say what became of it.

A text is a sequence of changes and of words of outcome. Whether an outcome stands behind its change (`--x: crashes`) or
before it (`crashes with --x`) is seen at the ends of the sequence; changes with no outcome between them are one trial,
unless the text says `both`, `either`, `neither` and the like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ruleout.reading.notes.changes import changes_in
from ruleout.reading.notes.found import Change, Command, Found
from ruleout.reading.notes.words import Word, said

_EACH = re.compile(
    r"\b(?:both|each|either|neither|nor|none of|all (?:of them|three|four|five|same|the same)|any of|respectively"
    r"|or)\b",
    re.I,
)
_PLURAL = re.compile(r"[`\s]*(?:are|were|have|both|all|each|crash|fail|hang|work|do|don't)\b", re.I)
_LISTED = re.compile(r"[A-Za-z✅❌]\s*:\s*[`~=]*$")
"""How a list of changes begins whose outcome stands before it: `works: --a, --b`."""
_NEITHER = re.compile(r"\b(?:neither|nor|none of)\b", re.I)
_HELPED = re.compile(r"\b(?:help\w*|fix\w*|work\w*|cur\w+|solv\w+|chang\w+|made)\b", re.I)
RUN = r"(?:run|trial|test|attempt|exp\w*|try|step|case|config|row|t|#|no\.?|nr\.?)"
"""How one trial is named in the notes of another."""
_SAME_AS = re.compile(
    rf"\b(?:(?:same as|like|as in|on top of|based on|repeat(?:ed)?(?: of)?)\s+(?:the\s+)?{RUN}?"
    rf"|(?:from|again)\s+(?:the\s+)?{RUN})\s*#?(?P<label>\d{{1,3}}|[A-Z])\b(?!\w)"
    rf"|^\W*{RUN}\s*#?(?P<first>\d{{1,3}}|[A-Z])\s*(?:\+|plus|and|with|but|,)"
    r"|^\W*\(?#?(?P<plain>\d{1,3}|[A-Z])\)?\s*\+\s|^\W*#?(?P<number>\d{1,3})\s+(?:plus|with|and|but|without)\s",
    re.I,
)
_ONLY = re.compile(r"\bonly (?:if|when|(?:together |in combination )?with)\W*$", re.I)
"""What joins a change to the one whose outcome it is needed for: `--a works, but only with --b`."""
_BUILT = re.compile(
    r"\W*same as\s+(?:the\s+)?(?:\w+\s+)?#?(?:\d{1,3}|[A-Z])\W*\s(?:but|with|plus|and|without|w/o|minus|\+)(?!\w)", re.I
)
_ON_TOP = re.compile(
    r"^\W*(?:and\s+|then\s+)?(?:on top(?: of (?:that|this|it))?|additionally|in addition|same,? (?:plus|but|and"
    r"|with)|plus that|also added|kept that|that plus|with that|the same (?:plus|but|with))\b",
    re.I,
)


@dataclass(frozen=True)
class Claim:
    """What a place in notes says of one trial, before it is known what the notes are about.

    Attributes:
        result: the words that say what became of it.
        found: what is said of settings.
        base: the label of the trial that it builds on; `previous` for the one before it.
        told: levels by name, where a table has a column for each.
        prose: it is told in a sentence, where words are less sure than in a list or a table.
    """

    line: int
    text: str
    result: str
    found: Found
    label: str = ""
    base: str = ""
    told: dict[str, str] = field(default_factory=dict)
    minutes: float = 0.0
    prose: bool = False


PREVIOUS = "previous"
NEAR = 80
"""Characters between the begin of an item and its change, and from there to its outcome: beyond, it tells of else."""
MOST = 12
"""Changes of one trial: what names more prints a configuration."""


def claims_of(line: int, text: str, label: str = "", *, prose: bool = False) -> list[Claim]:
    """The claims of an item or a sentence; none where it names no change, or says nothing of an outcome."""
    found = changes_in(text)
    groups = _groups(text, found)
    if not groups or len(groups[0].parts) > MOST or (not prose and groups[0].begin > NEAR):
        return []
    base = _base(text, groups[0].begin)
    return [
        replace(claim, label=label, base=base if i == 0 else "", prose=prose)
        for i, claim in enumerate(_paired(line, text, groups, prose))
    ]


def base_of(text: str) -> str:
    """What a text says that it builds on, where that is another trial: before the first change that it names."""
    begin = changes_in(text).begin
    return _base(text, begin if begin > 0 else len(text))


def has_outcome(text: str) -> bool:
    """Whether any word of a text says what became of a trial."""
    return any(word is not Word.UNTRIED for _, _, word in _said(text))


def _said(text: str) -> list[tuple[int, int, Word]]:
    """The words of outcome in a text, but for the `same` of `same as run 3 but …`: it says what a trial builds on."""
    built = _BUILT.match(text)
    return [one for one in said(text) if built is None or one[0] >= built.end()]


@dataclass(frozen=True)
class _Group:
    begin: int
    end: int
    parts: tuple[Change | Command, ...]

    def found(self) -> Found:
        changes = tuple(p for p in self.parts if isinstance(p, Change))
        commands = tuple(p for p in self.parts if isinstance(p, Command))
        return Found(changes, commands, -1 if self.parts else self.begin, -1 if self.parts else self.end)


def _groups(text: str, found: Found) -> list[_Group]:
    """What is changed together: what stands with no word of outcome in between."""
    parts: list[Change | Command] = [*found.changes, *found.commands]
    parts.sort(key=lambda part: part.begin)
    if not parts:
        return [_Group(found.baseline, found.baseline_ends, ())] if found.baseline >= 0 else []
    groups = [_Group(parts[0].begin, parts[0].end, (parts[0],))]
    for part in parts[1:]:
        last = groups[-1]
        between = text[last.end : part.begin]
        if part.begin < last.end or not has_outcome(between) or _ONLY.search(between):
            groups[-1] = _Group(last.begin, max(last.end, part.end), (*last.parts, part))
        else:
            groups.append(_Group(part.begin, part.end, (part,)))
    return groups


def _paired(line: int, text: str, groups: Sequence[_Group], prose: bool) -> Iterator[Claim]:
    """Each group with the words that say what became of it."""
    before, after = text[: groups[0].begin], text[groups[-1].end :]
    if len(groups) == 1:
        result = _result(before, after)
        within = text[groups[0].begin : groups[0].end]
        yield from _each(line, text, groups[0], result if has_outcome(result) else f"{result} {within}")
        return
    forward = not has_outcome(before) or has_outcome(after)
    gaps = [text[a.end : b.begin] for a, b in pairwise(groups)]
    results = [*gaps, after] if forward else [before, *gaps]
    if not prose and not all(_is_new(gap, group) for gap, group in zip(gaps, groups[1:], strict=True)):
        # An item is about one trial: what it names after the outcome belongs to the error that it tells.
        yield from _each(line, text, groups[0], _result(before, text[groups[0].end :]))
        return
    for group, result in zip(groups, results, strict=True):
        if has_outcome(result[: 2 * NEAR]):
            yield from _each(line, text, group, result)


def _is_new(gap: str, group: _Group) -> bool:
    """Whether what follows an outcome is another trial: a flag or a variable after the end of a clause."""
    sure = all(not isinstance(part, Change) or part.sure for part in group.parts)
    return (
        sure
        and re.search(
            r"(?:[;.]\s*|,\s*(?:then|and|but|while)?\s*|\b(?:then|but|while|and)\s+)(?:with\s+|without\s+"
            r"|adding\s+)?[`~=]?$",
            gap,
        )
        is not None
    )


def _result(before: str, after: str) -> str:
    """The words of outcome around a change: those behind it, unless only those before it say anything."""
    ahead = [word for _, _, word in _said(before)]
    if Word.UNTRIED in ahead:
        return before
    if ahead and not has_outcome(after):
        return f"{before} {after}"
    if (
        any(word in (Word.FAILED, Word.OTHER, Word.CLEAN) for word in ahead)
        and not re.search(r"[.:;]\s", before)
        and len(before) < 40
    ):
        return f"{before} {after}"
    return after


def _each(line: int, text: str, group: _Group, result: str) -> Iterator[Claim]:
    """One claim for what is changed together; one for each part where the text speaks of each by itself."""
    apart = _PLURAL.match(text[group.end :]) is not None or _EACH.search(text) is not None
    apart = apart or _LISTED.search(text[: group.begin]) is not None
    apart = apart and len({part.begin for part in group.parts}) > 1
    if _NEITHER.search(text) and _HELPED.search(text):
        result = "no difference"
    if not apart:
        yield Claim(line, text, result, group.found())
        return
    for begin in sorted({part.begin for part in group.parts}):
        parts = tuple(part for part in group.parts if part.begin == begin)
        yield Claim(line, text, result, _Group(begin, parts[0].end, parts).found())


def _base(text: str, begin: int) -> str:
    if found := _SAME_AS.search(text[: begin + 4]):
        return found["label"] or found["first"] or found["plain"] or found["number"]
    return PREVIOUS if _ON_TOP.match(text) else ""
