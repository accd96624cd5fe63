"""A line or an item that tells one trial: what was set, a mark, what became of it; or lines of `key: value`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from ruleout.reading.notes import terms
from ruleout.reading.notes import words as w
from ruleout.reading.notes.changes import Found, changes_in
from ruleout.reading.notes.claims import BASELINE, PREVIOUS, REPEAT, Claim
from ruleout.reading.notes.commands import command_in
from ruleout.reading.notes.outcomes import judge, masked
from ruleout.reading.notes.prose import THAT, Prose
from ruleout.reading.notes.relations import base_of, is_baseline, refers_by_kind
from ruleout.reading.notes.sentences import defines, is_question, is_supposed, parts_of, sentences
from ruleout.reading.notes.text import Text, shown

_SEPARATOR = re.compile(
    r"\s*(?:-+>|=+>|→|⇒|➜|➡|➔)\s*|\s\.{3,}\s|\.{4,}\s?|:(?=\s|$)|\s{2,}|\t|\s+[-–—]{1,2}\s+|\s=\s|\s\|\s"
    r"|(?<=[`\w)])\s+(?=❌|✅|💥|:x:|:white_check_mark:|✗|✘|✔|✓)|(?<=`)\s+(?=\()|(?<=`),\s"
    r"|(?<=[\w`)])\.\s+(?=\S)"
)
LABEL = re.compile(
    r"(?i)^[\W_]*(?:(?:run|try|attempt|versuch|exp(?:eriment)?|test|trial|step|job|case|config|variant|nr"
    r"|no|number|idea|round|take)[\s.#-]*)?#?(?P<label>\d{1,2}:\d\d|[A-Z]{0,4}-?\d{1,6}[a-z]?"
    r"|[A-Z])(?P<end>[.):]+\s*|\s+[-–—:]\s+|\s{2,}|\s*$|\s+(?=[`(+-]))"
)
_BASE_PROSE = re.compile(
    r"(?i)\b(?:unchanged|unmodified|as[ -]is|as deployed|as reported|as it (?:is|was)|baseline|original"
    r" (?:command|flags|config\w*)|usual command\w*|without any changes?|nothing changed|no changes|prod"
    r" args|plain (?:restart|replay|start|run)|as in prod|same arguments|default command|stock command"
    r"|command as given)\b"
)
_AGAIN = re.compile(
    r"(?i)^\W*(?:same (?:again|thing again|once more)|(?:ran|run|did|tried) (?:it|this|that)(?: one)? again"
    r"|repeat(?:ed)?\b|re-?ran|once more|again\b(?=,? to be)|second (?:run|time)|another run)"
)
RECORD = re.compile(
    r"^\W{0,3}(?P<key>[A-Za-z][\w /.]{0,24}?)\**\s*(?::|=)\**\s+(?P<value>\S.*)?$"
    r"|^\W{0,3}(?P<only>[A-Za-z][\w /.]{0,24}?):\s*$"
)
MOST_MARKS = 30
"""Of a longer line the rest is no unit."""


class Units(Prose, ABC):
    """Reads units, and as sentences what is none."""

    @abstractmethod
    def line(self, text: Text, label: str = "") -> None:
        """Read a line of its own."""

    def record(self, texts: Sequence[Text], label: str = "") -> bool:
        """Lines of `key: value`, of which one says what was set and another what became of it."""
        rows = [(row, text) for text in texts if (row := RECORD.match(text.text))]
        if len(rows) < 2 or len(rows) < len(texts) - 1:
            return False
        sets: list[str] = []
        ends: list[str] = []
        rest: list[str] = []
        for row, _ in rows:
            key, value = (row["key"] or row["only"]).strip(), row["value"] or ""
            if terms.KEY_OUTCOME.fullmatch(key):
                ends.insert(0 if not re.fullmatch(r"(?i)verdict|status|state", key) else len(ends), value)
            elif terms.KEY_CHANGE.fullmatch(key) and (
                changes_in(value, self.known) or is_baseline(value.strip("\"'")) or base_of(value)
            ):
                sets.append(value)
            elif re.fullmatch(r"(?i)(?:run|id|name|no|nr|try|label|case|test|exp\w*|#)", key):
                label = label or value
            elif not terms.HEAD_ASIDE.fullmatch(key) or re.fullmatch(r"(?i)notes?|remarks?|comments?", key):
                rest.append(value)
        keys = {(row["key"] or row["only"]).strip().lower() for row, _ in rows}
        if (
            not sets
            or not (ends or rest)
            or (
                keys & {"model", "hw", "gpu", "gpus", "hardware", "engine", "version", "problem", "symptom", "env"}
                and any(map(command_in, sets))
            )
        ):
            return False
        told = [value for value in sets if changes_in(value, self.known) or base_of(value)] or sets[:1]
        found = changes_in(" + ".join(told), self.known)
        said = " . ".join(masked(v, changes_in(v, self.known).spans) for v in (ends[:1] or rest))
        judged = judge(said, self.problem, told=True)
        claim = Claim(
            texts[0].line(),
            shown(" | ".join(t.text for t in texts)),
            found,
            judged,
            base_of(told[0]) or ("" if found else BASELINE),
            label,
        )
        if judged is None:
            self.leave(claim.line, claim.text, "no outcome is told")
        self._keep(claim)
        return True

    def unit(self, texts: Sequence[Text], label: str = "", nested: bool = False) -> bool:
        """A line or an item: one trial, or sentences of several. True if it told or opened one."""
        text = Text.joined(texts)
        if len(texts) > 1 and self.record(texts, label):
            return True
        if len(texts) > 1 and any(command_in(t.text) for t in texts):
            before = len(self.claims)
            for one in texts:
                self.line(one, label)
            return len(self.claims) > before or self.open is not None
        if not label and (named := LABEL.match(text.text)):
            label = named["label"]
        if is_question(text.text):
            self._suggest(text)
            return False
        split = self._split(text)
        if split is not None and not (is_supposed(split[0].text) and THAT.search(split[1].text)):
            left, right = split
            if self._unmeant(left, right):
                return True
            self._complete(text, left, right, label)
            return True
        if _AGAIN.match(text.text) and not changes_in(text.text, self.known):
            if self.unused and self.unused[-1].line > max((c.line for c in self.claims), default=0):
                self.leave(text.line(), text.text, "builds on a trial that is not told")
                return True
            judged = judge(text.text, self.problem)
            self.add(Claim(text.line(), shown(text.text), Found(), judged, REPEAT, label))
            return True
        before = len(self.claims)
        self.prose(text, label=label, held=nested, listed=True)
        return len(self.claims) > before or self.open is not None

    def _unmeant(self, left: Text, right: Text) -> bool:
        """Whether a unit with a setting and an outcome only supposes it."""
        opening = re.sub(r"`[^`]*`", " ", right.text)[:40]
        supposed = w.SUPPOSED.match(opening.strip()) or ((found := w.SUPPOSED.search(opening)) and found.start() < 4)
        bare = re.sub(r"`[^`]*`|\([^)]*\)", " ", left.text)
        if (
            supposed
            or w.SUPPOSED.search(bare)
            or w.HEARSAY.search(bare)
            or w.HEARSAY.search(opening)
            or w.CONCLUDES.match(left.text)
        ):
            self.leave(left.line(), f"{left.text}: {right.text}", "only supposed")
            return True
        return False

    def _split(self, text: Text) -> tuple[Text, Text] | None:
        """A unit as what was set and what became of it, if it says both in this order."""
        shielded = re.sub(
            r"`[^`]*`|\"[^\"]*\"|'\{[^']*'",
            lambda m: "`" + "x" * (len(m[0]) - 2) + "`" if len(m[0]) > 1 else m[0],
            text.text,
        )
        if command := command_in(text.text):
            left, right = text.cut(0, command.end), text.cut(command.end, len(text.text))
            return (left, right) if judge(right.text, self.problem) and not changes_in(right.text, self.known) else None
        spans = changes_in(text.text, self.known).spans
        for mark in islice(_SEPARATOR.finditer(shielded), MOST_MARKS):
            if any(begin <= mark.start() and mark.end() < end for begin, end in spans):
                continue
            left, right = text.cut(0, mark.start()), text.cut(mark.end(), len(text.text))
            if not right.text or defines(right.text):
                continue
            found = changes_in(left.text, self.known)
            if any(
                p.judged for s in sentences(left)[:-1] for p in parts_of(s, self.problem, self.known)
            ) and not is_baseline(sentences(left)[0].text, 2):
                continue
            if (
                mark[0].startswith(".")
                and mark[0][1:2].isspace()
                and judge(masked(left.text, found.spans), self.problem)
                and not is_baseline(left.text, 2)
            ):
                continue
            bare = LABEL.sub("", left.text, count=1) if LABEL.match(left.text + " ") else left.text
            plain = (
                not found
                and (
                    (bare.strip(" `-+()") and is_baseline(bare))
                    or (left.text.split() or [""])[-1].strip("`:") in self.plain
                )
                and not changes_in(right.text, self.known)
            )
            if not found and not plain:
                continue
            judged = judge(
                masked(right.text, changes_in(right.text, self.known).spans),
                self.problem,
                told=bool(mark[0].strip(" .")),
            )
            if judged is None and not (base_of(right.text) and refers_by_kind(right.text)):
                continue
            if self._own_end(right):
                return None
            return left, right
        return None

    def _own_end(self, right: Text) -> bool:
        """Whether the right side first ends the left and then tells of another setting with an end of its own."""
        parts = [part for sentence in sentences(right) for part in parts_of(sentence, self.problem, self.known)]
        ended = len(parts) > 1 and not parts[0].found.settings and parts[0].judged
        return bool(ended) and any(p.found.settings and p.judged and not self._joins(p.text.text) for p in parts[1:])

    def _joins(self, text: str) -> bool:
        return (
            re.search(
                r"(?i)\b(?:on top of|together with|along with|in addition to|combined with|plus|only with|but with)\b",
                text,
            )
            is not None
        )

    def _complete(self, text: Text, left: Text, right: Text, label: str) -> None:
        found = changes_in(left.text, self.known)
        more = changes_in(right.text, self.known)
        judged = judge(masked(right.text, more.spans), self.problem, told=True)
        if more.settings and (self._joins(right.text) or re.match(r"\W*(?:and|with|\+)\W", right.text)):
            found = replace(found, settings=(*found.settings, *more.settings))
        base = base_of(left.text)
        base = "" if base in self.plain else base
        if not base and found and self._joins(left.text[:24]) and re.match(r"\W*(?:on top|plus)", left.text):
            base = PREVIOUS
        if not found and not base:
            base = BASELINE
        same = base_of(right.text)
        if _BASE_PROSE.search(right.text) and all(
            re.fullmatch(terms.PACKAGES, s.name, re.IGNORECASE) for s in found.settings
        ):
            found, base = Found(), BASELINE
        claim = Claim(text.line(), shown(text.text), found, judged, base, label, said=right.text)
        if same and refers_by_kind(right.text) and (other := self._labelled(same)):
            claim = claim.ended(other.judged)
        if found.settings and _each(left.text, found):
            for one in found.settings:
                self.add(replace(claim, found=replace(found, settings=(one,))))
            return
        self.add(replace(claim, exported=dict(self.exported)))

    def _labelled(self, label: str) -> Claim | None:
        return next((c for c in reversed(self.claims) if c.label.lower() == label.lower()), None)


def _each(text: str, found: Found) -> bool:
    return (
        len(found.settings) > 1
        and re.search(r"(?i)^\W*(?:both|neither|each of)\b|\beither\b.*\bor\b", text) is not None
    )
