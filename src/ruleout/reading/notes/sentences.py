"""Running text in parts that say one thing: sentences, and in a sentence one part for each setting that"
" has an end of its own."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ruleout.reading.notes import terms
from ruleout.reading.notes import words as w
from ruleout.reading.notes.changes import Found, Setting, changes_in
from ruleout.reading.notes.outcomes import Judged, Problem, judge, masked
from ruleout.reading.notes.text import Text

_END = re.compile(
    r"(?<!\bvs)(?<!\be\.g)(?<!\bi\.e)(?<!\bca)(?<!\bapprox)(?<!\bresp)(?<!\bNo)(?<!\betc)(?<!\d)[.!?]+[)\"']"
    r"*\s+(?=\S)|(?<=\d)[.!?]\s+(?=[A-Z`(])|[!?]{2,}\s+(?=\S)"
)
_CLAUSE = re.compile(
    r";\s+|,\s+(?:and|but|so|then|which|where|while|whereas)\s+|\s+(?:but|whereas)\s+|,\s+|\s+and\s+(?!`?-|[A-Z]+_)"
)
_JOINED = re.compile(
    r"(?i)\b(?:only (?:with|together)|as long as|plus|together with|combined with|on top of|in addition to"
    r"|along with|with)\W*$"
)
_EACH = re.compile(
    r"(?i)\b(?:both|neither|nor|each|all of (?:them|these|which)|either of|none of (?:them|these)|alone|individually)\b"
)
_TAIL = re.compile(
    r"(?i),?\s*(?:\b(?:but|so|which|and|as|because)\b )?\b(?:i|we) (?:think|suspect|guess|believe|assume|bet)\b.*$"
)
_AS_TOLD = re.compile(
    r"(?i),? (?:just |exactly )?as (?:the |our |my |your )?\w+"
    r" (?:says?|said|predict\w*|told|warn\w*|promis\w*|expected)(?: (?:it|they|us|me|that|would|should|will))*"
)
"""What was seen is seen, even if somebody had foretold it."""
MOST_SENTENCES = 400


@dataclass(frozen=True, slots=True)
class Part:
    """What is said of one set of settings, or of none."""

    text: Text
    found: Found
    judged: Judged | None
    each: bool = False


def sentences(text: Text) -> list[Text]:
    """The sentences of a text; none ends inside of code or quotes."""
    shielded = re.sub(r"`[^`]*`|\"[^\"]{0,200}\"", lambda m: "x" * len(m[0]), text.text)
    cuts = [0, *(m.end() for m in _END.finditer(shielded)), len(text.text)][: MOST_SENTENCES + 1]
    parts = [text.cut(a, b) for a, b in itertools.pairwise(cuts)]
    return [part for part in parts if part.text]


def defines(text: str) -> bool:
    """Whether a sentence says what a word stands for in these notes."""
    found = terms.DEFINES.match(text)
    return found is not None and found["word"] is not None


def is_question(text: str) -> bool:
    """Whether a sentence asks: one that ends in a single `?`."""
    return re.search(r"(?<![?!])\?[)\"'\s]*(?::\w+:)?\s*$", text) is not None


def is_supposed(text: str) -> bool:
    """Whether a sentence plans, supposes, advises, or tells what others say."""
    bare = _AS_TOLD.sub(" ", re.sub(r"`[^`]*`|\"[^\"]*\"|\([^)]*\)", " ", text))
    bare = _TAIL.sub("", bare) if not re.match(r"(?i)\W*i (?:think|suspect|guess|believe|assume|bet)", bare) else bare
    return bool(w.SUPPOSED.search(bare) or w.HEARSAY.search(bare) or w.CONCLUDES.match(text))


def parts_of(text: Text, problem: Problem, known: Mapping[str, str]) -> list[Part]:
    """The parts of a sentence, in its order."""
    found = changes_in(text.text, known)
    if found.command is not None or len(found.settings) == 0:
        return [Part(text, found, judge(masked(text.text, found.spans), problem))]
    groups: list[list[Setting]] = [[found.settings[0]]]
    cuts = [_lead(text, found, problem)]
    for before, one in zip(found.settings, found.settings[1:], strict=False):
        between = text.text[before.end : one.begin]
        if judge(between, problem) and not _JOINED.search(between):
            separators = list(_CLAUSE.finditer(between))
            cut = before.end + separators[-1].start() if separators else one.begin
            if (
                judge(text.text[cut : one.begin], problem)
                and not judge(text.text[before.end : cut], problem)
                and not separators
            ):
                groups[-1].append(one)
                continue
            cuts.append(cut)
            groups.append([one])
        else:
            groups[-1].append(one)
    parts: list[Part] = []
    if cuts[0] > 0:
        lead = text.cut(0, cuts[0])
        parts.append(Part(lead, Found(), judge(lead.text, problem)))
    for group, begin, end in zip(groups, cuts, [*cuts[1:], len(text.text)], strict=True):
        piece = text.cut(begin, end)
        spans = tuple((max(a, begin), min(b, end)) for a, b in found.spans if a < end and b > begin)
        rest = masked(text.text, spans)[begin:end]
        inner = Found(tuple(group), None, spans, found.words, found.compared)
        parts.append(Part(piece, inner, judge(rest, problem), bool(_EACH.search(rest)) and len(group) > 1))
    return parts


def _lead(text: Text, found: Found, problem: Problem) -> int:
    """Where the part with the first setting begins: what stands before may end what was told before it."""
    first = found.settings[0]
    for clause in re.finditer(
        r";\s+|,?\s+(?:so|then|and then|therefore) (?=i |we )|,\s+(?:so|then)\s+", text.text[: first.begin]
    ):
        before, after = text.text[: clause.start()], masked(text.text, found.spans)[clause.end() :]
        if judge(before, problem) and judge(after, problem):
            return clause.end()
    return 0
