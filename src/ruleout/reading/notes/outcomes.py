"""What a text says became of a trial, for somebody who knows what the notes are about.

One judge over words: the failure that is looked for, unless it is denied; another failure; a success; or nothing that
can be told. What ends a sentence weighs no more than what begins it: a failure that was seen was seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ruleout.model.vocabulary import OutcomeKind
from ruleout.reading.notes import terms
from ruleout.reading.notes import words as w
from ruleout.reading.notes.signs import denied, signs_of, symptoms

REPRODUCED, CLEAN, OTHER, UNRESOLVED = (
    OutcomeKind.REPRODUCED,
    OutcomeKind.CLEAN,
    OutcomeKind.OTHER,
    OutcomeKind.UNRESOLVED,
)
_EITHER = (REPRODUCED, CLEAN)
_REFERENCE = re.compile(
    r"(?i)^\W*(?:the )?same,?(?: *[`-]|\s{3,})|\bsame (?:\w+ )?(?:as|like)"
    r" (?:(?:in )?(?:run|try|attempt|test|exp\w*|step|no\.?) ?)?#?(?:\d+\b"
    r"|[A-Z]\b)|^\W*(?:the )?same(?:,? (?:but|plus|again with|\+)| with(?= [`-]))|^\W*as \S+ (?:plus|with"
    r"|but)\b"
)
"""A reference to another trial is no outcome."""
_STARTED = re.compile(
    r"(?i)\b(?:loads?|loading|starts?|boots?) (?:up )?(?:fine|ok|okay|well|normally)(?=[,.]| and then| but)"
)
"""What comes before an outcome."""
_RUNS = r"(?:runs?|times?|tries|attempts?|starts?|restarts?|launches)"
_SMALL = 20
_OF = re.compile(
    rf"(?i)(?<![\d:./])(?P<k>\d{{1,2}})(?: {_RUNS})?\s?(?:of|out of|/|in)\s?(?P<n>\d{{1,2}})(?![\d:/]"
    rf"|\.\d)(?P<what>\s+[a-z]+)?"
)
_IN_RUNS = re.compile(
    rf"(?i)\bin (?P<n>\d{{1,2}}) {_RUNS}\b|\((?P<x>\d{{1,2}})x\)|(?P<m>\d{{1,2}}) runs, (?P<c>\d{{1,2}})"
    rf" crash|(?P<w>twice)\b(?= with a restart)"
)
_NOUN = re.compile(
    rf"(?i)\s+(?:{_RUNS}|failed|ok|crash\w*|hung|fail\w*|good|bad|broken|fine|pass\w*|clean|hang\w*|died|in)\b"
)


@dataclass(frozen=True, slots=True)
class Problem:
    """The failure that notes are about, as kinds of failures; none where they do not say."""

    kinds: frozenset[str] = frozenset()
    stems: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    scale: tuple[float, float] | None = None
    starting: bool = False

    @property
    def crashes(self) -> bool:
        return not self.kinds or bool(self.kinds & (w.CRASHES | {"crash", "failure"})) or not self.kinds - {"timeout"}

    def has(self, kind: str) -> bool:
        """Whether a kind of failure is the one that is looked for."""
        if self.kinds == {"crash"} and kind in w.CRASHES - {"memory", "undefined symbol", "shape"}:
            return True
        return (
            not self.kinds
            or kind in self.kinds
            or ("failure" in self.kinds and kind != "memory")
            or any(kind in kin and kin & self.kinds for kin in w.KIN)
        )

    @classmethod
    def of(cls, texts: list[str]) -> Problem:
        """The problem that some texts tell."""
        kinds: set[str] = set()
        for text in texts:
            kinds |= {kind for kind, denied, _ in symptoms(text) if not denied}
            if w.CRASH.search(text):
                kinds.add("crash")
        if "crash" in kinds and kinds - {"crash"} and not kinds & w.CRASHES:
            kinds.discard("crash")  # `dies with NaN`: the crash is how the other one shows
        if "AssertionError" in kinds:
            kinds.add("assert")  # which people shorten it to
        if not kinds and any(w.FAILS.search(text) for text in texts):
            kinds.add("failure")
        stems = {w_[:6] for text in texts for w_ in re.findall(r"[a-z]{4,}", text.lower())} - {
            g[:6] for g in terms.GENERIC | terms.STOP_WORDS
        }
        scores = {
            re.match(r"(?i)bad|broken|wrong|garbage", m["word"]) is None: float(m["value"])
            for text in texts
            for m in terms.SCALE.finditer(text)
        }
        scale = (scores[True], scores[False]) if len(scores) == 2 else None
        names: set[str] = set()
        for found in (m for text in texts for m in terms.DEFINES.finditer(text)):
            if found["name"] and found["what"].lower() not in ("cmd", "command", "base", "baseline", "config"):
                names.add(found["name"])
            elif (
                found["word"]
                and not w.WORKS.search(found["word"])
                and any(p.search(found["means"]) for p in w.SYMPTOMS.values())
            ):
                names.add(found["word"])
        starting = any(w.STARTING.search(text) or w.REFUSED.search(text) for text in texts)
        return cls(frozenset(kinds), frozenset(stems), frozenset(names), scale, starting)


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of it; `None` for a trial that was not made."""

    kind: OutcomeKind | None
    times: int = 1
    rest: int = 0
    sure: bool = True

    @property
    def runs(self) -> tuple[tuple[OutcomeKind, int], ...]:
        """The outcome, and that of the other runs where some were counted."""
        if self.kind is None:
            return ()
        opposite = CLEAN if self.kind is REPRODUCED else REPRODUCED
        runs = ((self.kind, self.times), (opposite, self.rest))
        return tuple((kind, n) for kind, n in runs if n > 0)


def masked(text: str, spans: tuple[tuple[int, int], ...]) -> str:
    """The text without what names settings."""
    for begin, end in spans:
        text = text[:begin] + " " * (end - begin) + text[end:]
    return text


def judge(text: str, problem: Problem | None = None, told: bool = False) -> Judged | None:
    """What a text says became of a trial; None where it does not say. `told`: it stands where an outcome is told."""
    problem = problem or Problem()
    text = _STARTED.sub(" ", _REFERENCE.sub(" ", text))
    text = re.sub(r"(?<![\w-])--?[a-z][\w-]*|`--?[a-z][^`]*`", " ", text)
    kind = _kind(text, problem) or (_words_of(text, problem) if told else None)
    if kind is None:
        return None
    if kind == "not run":
        return Judged(None)
    if kind in _EITHER and (counted := _OF.search(text)) and counted["k"] != counted["n"]:
        clause = re.split(r"[,;]", text[: counted.start()])[-1] + re.split(r"[,;]", text[counted.start() :])[0]
        part = _kind(clause, problem)
        kind = part if part is REPRODUCED or part is CLEAN else kind
    times, rest = _times(text) if kind in _EITHER else (1, 0)
    if times == 0:
        good = kind is REPRODUCED or not any(not denied(text, m.start(), m.end()) for m in w.WORKS.finditer(text))
        return Judged(CLEAN if good else REPRODUCED, rest)
    return Judged(kind, times, rest, sure=not _weak(text))


def _words_of(text: str, problem: Problem) -> OutcomeKind | None:
    """An outcome in words that the notes have for their problem alone."""
    for one in re.finditer(r"[a-z]{4,}", text.lower()):
        if one[0][:6] in problem.stems and len(text) < 160:
            return CLEAN if denied(text, one.start(), one.end()) else REPRODUCED
    return None


def _weak(text: str) -> bool:
    """Whether only a word like `again` tells the outcome."""
    tells = (w.CRASH, w.FAILS, w.WORKS, w.REFUSED, w.OTHERWISE, w.UNSURE, w.STOPPED, w.EXCEPTION, *w.SYMPTOMS.values())
    same = w.SAME.search(text)
    return (
        same is not None and terms.WEAKLY_SAME.fullmatch(same[0]) is not None and not any(p.search(text) for p in tells)
    )


def _kind(text: str, problem: Problem) -> OutcomeKind | Literal["not run"] | None:
    signs = signs_of(text)
    said, seen, unseen = signs.said, signs.seen, set(signs.unseen)
    crash, no_crash, works, works_not = signs.crash, signs.no_crash, signs.works, signs.works_not
    fails, fails_not, exceptions, same = signs.fails, signs.fails_not, signs.exceptions, signs.same
    starting, refused, otherwise = signs.starting, signs.refused, signs.otherwise
    unsure, stopped = signs.unsure, signs.stopped
    known = bool(problem.kinds)
    hit = {kind for kind in seen if problem.has(kind)} if known else seen - {"memory", "undefined symbol"}
    foreign = seen - hit
    if crash and (problem.crashes if known else True) and not (starting and known and not hit):
        hit = hit | {"crash"}
    elif crash and known:
        foreign = foreign | {"crash"}
    for name in problem.names:
        for one in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said):
            if not denied(said, one.start(), one.end()):
                hit = hit | {name}
            else:
                unseen.add(name)
    if known and starting and not problem.starting and not same and (hit or crash or exceptions) and not works:
        return OTHER
    if signs.not_run and not (hit or foreign or works or refused or exceptions) and "same" not in same.lower():
        return "not run"
    if signs.not_run and re.match(
        r"(?i)\W*(?:not (?:yet )?(?:tried|run|tested|done)|todo|planned|queued|pending)", said
    ):
        return "not run"
    if otherwise and (not (hit and same) or re.search(r"(?i)\bnot the same\b", said)):
        return OTHER
    if unsure and re.search(r"(?i)\bignored\b|not applied", said) and not hit:
        return UNRESOLVED
    if (
        re.match(r"(?i)\W*(?:the )?same(?=[,.;]| (?:error|failure|problem|thing|issue|crash|again|here)\b)", said)
        and not works
    ):
        return REPRODUCED
    specific = hit - {"crash"}
    if not known and hit and not foreign and not starting and not otherwise:
        return REPRODUCED
    if specific & problem.names:
        return REPRODUCED
    if (
        specific
        and (not refused or same or not known or specific & problem.kinds)
        and not (foreign and not same and not specific & problem.kinds)
    ) and not (foreign & {"memory"} and not same and known and not works):
        return REPRODUCED
    barred = foreign - {"timeout", "hang"} or (refused and not (works and not works_not and not exceptions))
    if barred and not (same and hit) and not (works and foreign and foreign <= {"crash", "noise", "shape"}):
        return OTHER
    if hit:
        return REPRODUCED
    if exceptions and not works and not same:
        return OTHER if known or starting or refused else REPRODUCED
    if unsure:
        return UNRESOLVED
    if foreign and not works:
        return OTHER
    if fails and starting and known and not same and not works:
        return OTHER
    good = works or (unseen and not fails) or (no_crash and not fails)
    if good and not works_not:
        if fails and not unseen and fails[-1] >= (works or [0])[-1]:
            return REPRODUCED
        return CLEAN
    if works_not and not works and not unseen:
        return REPRODUCED if not stopped else UNRESOLVED
    if good:
        return CLEAN
    if fails_not and not fails:
        return CLEAN
    if stopped and not fails:
        return UNRESOLVED
    if fails or (same and not re.match(r"(?i)\W*(?:again|still)\W*$", said)):
        return REPRODUCED
    if problem.scale and (score := re.search(r"(?<![\d.\w])0?\.\d+(?![\d.])", said)):
        good_score, bad_score = problem.scale
        value = float(score[0])
        return CLEAN if abs(value - good_score) < abs(value - bad_score) else REPRODUCED
    if re.search(r"(?<![\d.])(\d[\d,.k]*) ?(?:of|/) ?\1(?![\d.])", said):
        return CLEAN
    if w.WEAKLY_NOT_RUN.search(said):
        return "not run"
    if re.fullmatch(r"\W*\?+\W*", said):
        return UNRESOLVED
    return None


def _times(text: str) -> tuple[int, int]:
    """In how many runs, and how many went the other way; requests and ranks are not counted."""
    for one in _OF.finditer(text):
        k, n = int(one["k"]), int(one["n"])
        noun = one["what"] or ""
        counted = not noun.strip() or _NOUN.match(noun) or re.search(rf"{_RUNS}", one[0])
        if (
            0 <= k <= n <= _SMALL
            and n > 1
            and counted
            and not re.match(r"(?i)\s*(?:requests|prompts|ranks|gpus|cards)", text[one.end() :])
        ):
            return k, n - k
    if runs := _IN_RUNS.search(text):
        return int(runs["n"] or runs["x"] or runs["m"] or 2), 0
    return 1, 0


def answer(text: str, asked: str, problem: Problem | None = None) -> Judged | None:
    """What a cell says under the head of its column: `yes` under `crash?`, `0` under `wrong answers`."""
    clean = re.sub(r"[`*_]", "", text).strip()
    about_failure = bool(
        symptoms(asked)
        or w.CRASH.search(asked)
        or w.FAILS.search(re.sub(r"(?i)happen\w*", "", asked))
        or re.search(r"(?i)\bbug|issue|repro|affected", asked)
    )
    about_success = (
        bool(w.WORKS.search(asked) or re.search(r"(?i)\b(?:came|come|start\w*|boot\w*|up|served)\b", asked))
        and not about_failure
    )
    if re.match(r"\d", clean) and about_failure:
        found = re.match(r"(\d+)(?:\s*(?:of|/)\s*(\d+))?(?![\d:.]*\s*[a-z]*error)", clean)
        if found:
            return Judged(REPRODUCED if int(found[1]) else CLEAN)
    if (
        about_failure
        and (w.REFUSED.search(clean) or w.STARTING.search(clean))
        and not re.match(r"(?i)(?:yes|no|ja|y|n)\b", clean)
    ):
        return judge(text, problem, told=True) if problem and problem.starting else Judged(OTHER)
    if "?" in asked or about_failure or about_success:
        if w.YES.fullmatch(clean) or re.match(r"(?i)(?:yes|ja)\b", clean):
            return Judged(CLEAN if about_success else REPRODUCED)
        if about_failure and re.fullmatch(r"[❌✗✘✖]", clean):
            return Judged(CLEAN)
        if (
            w.NO.fullmatch(clean) or re.match(r"(?i)(?:no|nein)(?:$|[,;(. ]+(?!start|room|memory|idea))", clean)
        ) and not re.fullmatch(r"[-\u2013\u2014]", clean):
            return Judged(REPRODUCED if about_success else CLEAN)
    return judge(text, problem, told=True)
