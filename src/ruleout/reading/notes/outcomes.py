"""What became of a trial, in an engineer's words.

Whether a failure is the one that the notes are about is told (`same`, `another`), or follows from what kind it is: who
looks for garbage did not see it in a ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from ruleout.model import OutcomeKind
from ruleout.reading.classes import telling
from ruleout.reading.notes.words import CODE, Word, is_error, said, spoken

ALIKE = 60.0
"""Percent of agreement of two quoted errors (rapidfuzz's partial ratio) below which they are two failures."""
_LATER = re.compile(r"\b(?:then|but|until|before it|eventually|only to|afterwards?|later|and)\b[^.]*$|,\s*$")
_VOID = re.compile(
    r"\b(?:not a valid|invalid) (?:test|run|trial)\b|\b(?:do|does|did)(?:n't| not) count\b|\bnot counted\b",
    re.IGNORECASE,
)
"""Whoever writes that believes nothing of the trial, whatever was seen."""
_ADJOINS = re.compile(r"\W*(?:not\W*)?")
_KINDS = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("hang", r"\bh[au]ng|unresponsive|hanging|stuck|dead-?lock|freez|froze|stall|watchdog|timed? ?out"),
        ("segfault", r"seg-?fault|sigsegv|\bsegv\b|core dump|signal 11"),
        (
            "garbage",
            r"garb(?:age|led)|gibberish|nonsense|salad|wrong (?:answer|output|text|token)|!!!!|bad output|incoherent",
        ),
        ("empty", r"\bempty\b"),
        ("oom", r"\boom\b|out ?of ?memory|no available memory"),
        ("nan", r"\bnans?\b|probability tensor|\binf\b"),
        ("device assert", r"device-side assert|probability tensor"),
        ("illegal access", r"illegal (?:memory )?(?:access|address)|\bIMA\b"),
        ("leak", r"\bleak"),
        ("accuracy", r"accuracy|gsm8k|mmlu|score"),
        ("start", r"(?:not|n't|fails? to|refuses? to|unable to|never) (?:even )?(?:start|load|boot|c[oa]me up|launch)"),
        ("arguments", r"unrecogni[sz]ed arg|invalid choice|no such option"),
    )
)
"""Kinds of failure in the words of people; an engine's own words are told by the table of classes."""
_ITS_OWN = frozenset({"oom", "start", "arguments"})
"""Kinds of failure that a change brings by itself: notes that do not name them as their problem are about another."""
_LOUD = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception)\b|\bSIG[A-Z]{3,}"
    r"|(?i:\bcrash|seg-?fault|\bfault\b|\boom\b|out of memory|\bassert|\bdie[sd]\b|core dump|illegal|(?:cuda|hip) error"
    r"|\berror:|exception|\babort|panic|traceback|\bHTTP 5\d\d|\bkilled\b|launch failure)"
)
_EXCEPTION = re.compile(r"\b([A-Z]\w*(?:Error|Exception))\b")
_OF = re.compile(
    r"(?<![\d/.:-])(\d{1,3})\s*(?:(?:times|runs|tries|attempts)\s+)?(?:/|of"
    r"|out\s+of)\s*(\d{1,3})(?![\d/.:-]*\d)\s*(\w*)",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"(?<![\w./:-])(\d{1,2})\s*(?:x\b(?!\s*(?:\w+er\b|the|less|more|speed))|×|(?:clean |good |full |more )?(?:runs"
    r"|times|tries|attempts|starts|restarts"
    r"|repeats"
    r"|launches)\b)|(?<!\w)[x×](\d{1,2})\b|\b(?:twice|both times)\b",
    re.IGNORECASE,
)
_NO_RUNS = re.compile(
    r"(?:requests?|reqs?|prompts?|tokens?|ranks?|gpus?|cards?|layers?|shards?|nodes?|answers?|outputs?|completions?"
    r"|workers?|experts?|samples?|questions?|lines?|files?|gi?b|h|hours?|min\w*|s|seconds?|clients?|users?|streams?"
    r"|slots?"
    r"|devices?|steps?|batch\w*|hosts?)",
    re.IGNORECASE,
)
"""What is counted besides runs."""
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Judged:
    """What a text says became of a trial: each outcome with how many runs had it; none where it was not made."""

    runs: tuple[tuple[OutcomeKind, int], ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """What the notes are about: the kinds of failure that they name, and errors that they quote.

    `quiet`: nothing crashes and no error is named; what comes out is wrong, or nothing comes.
    """

    kinds: frozenset[str] = frozenset()
    quoted: tuple[str, ...] = ()
    quiet: bool = False

    @classmethod
    def of(cls, texts: Sequence[str]) -> Problem:
        """From the words of the baseline's outcome, or else of the complaint: the first that names a kind."""
        named = (kinds(text) for text in texts)
        found = next((one for one in named if one), frozenset())
        quoted = tuple(q for text in texts for q in errors(text))
        failing = any(word is Word.FAILED for text in texts for _, _, word in said(text))
        return cls(found, quoted, failing and not any(_LOUD.search(text) for text in texts))


def judge(text: str, problem: Problem | None = None) -> Judged | None:
    """What a text says became of a trial; None when it says nothing of it."""
    words = list(said(text))
    if not words:
        return None
    kind = _kind(spoken(text), words)
    if kind is None:
        return Judged()
    if kind is OutcomeKind.REPRODUCED and problem is not None and _is_another(text, words, problem):
        kind = OutcomeKind.OTHER
    return Judged(tuple(_counted(text, kind)), "" if kind is OutcomeKind.CLEAN else shortened(text))


def _kind(text: str, words: Sequence[tuple[int, int, Word]]) -> OutcomeKind | None:
    """The outcome; None where there is none, since it was not tried."""
    order = [word for _, _, word in words]
    first = order[0]
    if first is Word.UNTRIED:
        return None
    if _VOID.search(text):
        return OutcomeKind.UNRESOLVED
    if Word.OTHER in order and (Word.CLEAN not in order or order.index(Word.OTHER) < order.index(Word.CLEAN)):
        return OutcomeKind.OTHER
    if first is Word.UNRESOLVED:
        return OutcomeKind.UNRESOLVED
    if first is Word.SAME and order[1:2] == [Word.CLEAN] and _ADJOINS.fullmatch(text[words[0][1] : words[1][0]]):
        return OutcomeKind.CLEAN  # "still good"
    if first is Word.CLEAN:
        later = (text[words[0][1] : begin] for begin, _, word in words[1:] if word is Word.FAILED)
        fails = any(_LATER.search(between) for between in later) and not _OF.search(text)  # "works, then crashes"
        return OutcomeKind.REPRODUCED if fails else OutcomeKind.CLEAN
    return OutcomeKind.REPRODUCED


def _is_another(text: str, words: Sequence[tuple[int, int, Word]], problem: Problem) -> bool:
    """Whether what failed is of another kind than the problem. Who writes `same` is believed."""
    if any(word is Word.SAME for _, _, word in words):
        return False
    quoted = errors(text)
    if quoted and problem.quoted:
        pairs = ((a.lower(), b.lower()) for a in quoted for b in problem.quoted)
        if max(fuzz.partial_ratio(a, b) for a, b in pairs) < ALIKE:
            return True
    mine = kinds(_failing(text, words))
    if problem.quiet and _LOUD.search(text) and not mine & problem.kinds:
        return True  # "hung, killed after 20 min" is the hang
    return bool(mine and (problem.kinds or mine <= _ITS_OWN)) and not mine & problem.kinds


def _failing(text: str, words: Sequence[tuple[int, int, Word]]) -> str:
    """A text less what it says did not happen: `hang gone, but garbage` is about garbage."""
    for begin, end, word in words:
        if word is Word.CLEAN:
            text = text[:begin] + " " * (end - begin) + text[end:]
    return text


def kinds(text: str) -> frozenset[str]:
    """The kinds of failure that a text names, in words or by exceptions."""
    found = {name for name, pattern in _KINDS if pattern.search(text)}
    if (class_ := telling(text)) is not None:
        found.add(class_.value)
    return frozenset(found or _EXCEPTION.findall(text))


def errors(text: str) -> list[str]:
    """The errors that a text quotes as code."""
    return [inside for found in CODE.finditer(text) if is_error(inside := found[1] or found[2] or "")]


def _counted(text: str, kind: OutcomeKind) -> Iterator[tuple[OutcomeKind, int]]:
    """`4 of 5`, `in 5 runs`, `twice`: how many runs had this outcome, and how many the opposite."""
    opposite = {OutcomeKind.REPRODUCED: OutcomeKind.CLEAN, OutcomeKind.CLEAN: OutcomeKind.REPRODUCED}.get(kind)
    plain = spoken(text)
    for found in _OF.finditer(plain):
        some, every = int(found[1]), int(found[2])
        if not 1 <= every <= 100 or some > every or _NO_RUNS.fullmatch(found[3]):
            continue
        if some:
            yield kind, some
        if some < every and opposite is not None:
            yield opposite, every - some
        return
    counts = (int(found[1] or found[2] or 2) for found in _TIMES.finditer(plain))
    yield kind, max(1, next(counts, 1))


def shortened(text: str) -> str:
    """A text in one line of bounded length, without what surrounds it."""
    text = " ".join(text.replace("**", "").split()).strip(" .,;:|→-—–")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
