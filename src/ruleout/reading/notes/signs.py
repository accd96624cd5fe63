"""The words of a text that bear on an outcome, whatever the notes are about: what it names, and what it denies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ruleout.reading.notes import words as w

_UNSURE_OF = re.compile(
    r"(?i)(?:no idea|can'?t (?:say|tell)|cannot (?:say|tell)|know nothing|nothing)(?: anything)? (?:about"
    r"|of|on|whether)[^.;]*"
)
_ASIDE = re.compile(
    r"(?i)\b(?:as|so|which|because|since|but) (?:it|that|this) (?:is|was)(?:n't| not) (?:the )?\w+$|so"
    r" (?:it'?s )?not (?!an? |valid|counted|usable|sure)[^.;]*"
    r"|(?:all|everything) else (?:(?:is|was|being|stay\w*|remain\w*|kept) )?(?:the )?(?:same|equal|unchanged|identical)"
)


def denied(text: str, begin: int, end: int) -> bool:
    """Whether a word of failure is denied: `no crash`, `crash gone`."""
    before = re.split(r"[.;!?:](?:\s|$)|,\s(?=\w+ (?:is|was|it)\b)|\bbut\b", text[max(0, begin - 70) : begin])[-1]
    if w.NEGATED.search(before):
        return True
    after = text[end : end + 40]
    if found := w.GONE.search(after):
        between = after[: found.start()]
        return not re.search(r"[.;:!?]|\bnot\b|n't|,| but ", between) and len(between.split()) <= 3
    return re.match(r"\s*[:=]\s*(?:0\b|(?:no|none)\s*(?:$|[.,;|]))|\s*\(?0 (?:of|/)", after) is not None


def symptoms(text: str) -> list[tuple[str, bool, int]]:
    """The failures that a text names, each with whether it denies it, and where."""
    found = []
    for kind, pattern in w.SYMPTOMS.items():
        for one in pattern.finditer(text):
            if not w.INSTEAD.search(text[: one.start()]):
                found.append((kind, denied(text, one.start(), one.end()), one.start()))
    return found


def _open(pattern: re.Pattern[str], text: str) -> tuple[list[int], list[int]]:
    """Where words stand that are meant, and where ones that are denied."""
    meant: list[int] = []
    not_meant: list[int] = []
    for one in pattern.finditer(text):
        if w.INSTEAD.search(text[: one.start()]):
            continue
        (not_meant if denied(text, one.start(), one.end()) else meant).append(one.start())
    return meant, not_meant


@dataclass(frozen=True, slots=True)
class Signs:
    """The words of a text that bear on an outcome, whatever the notes are about."""

    said: str
    seen: frozenset[str]
    unseen: frozenset[str]
    crash: list[int]
    no_crash: list[int]
    works: list[int]
    works_not: list[int]
    fails: list[int]
    fails_not: list[int]
    exceptions: list[str]
    starting: bool
    refused: bool
    same: str
    otherwise: bool
    unsure: bool
    stopped: bool
    not_run: bool


@lru_cache(maxsize=8192)
def signs_of(text: str) -> Signs:
    """What is in a text; kept, since notes are read twice, and their lines as a whole and in parts."""
    said = _UNSURE_OF.sub(" no idea ", _ASIDE.sub(" ", text))
    named = symptoms(said)
    same = w.SAME.search(said)
    return Signs(
        said,
        frozenset(kind for kind, no, _ in named if not no),
        frozenset(kind for kind, no, _ in named if no),
        *_open(w.CRASH, said),
        *_open(w.WORKS, said),
        *_open(w.FAILS, said),
        [m[0] for m in w.EXCEPTION.finditer(said) if not denied(said, m.start(), m.end())],
        w.STARTING.search(said) is not None,
        w.REFUSED.search(said) is not None,
        same[0] if same else "",
        w.OTHERWISE.search(said) is not None and not re.search(r"(?i)no (?:other|different)", said),
        w.UNSURE.search(said) is not None,
        w.STOPPED.search(said) is not None,
        w.NOT_RUN.search(said) is not None,
    )
