"""Running text: a setting is open until another one comes, and each sentence says something of it or of nothing."""

from __future__ import annotations

import re
from dataclasses import replace

from ruleout.reading.notes import terms
from ruleout.reading.notes import words as w
from ruleout.reading.notes.changes import Found, changes_in
from ruleout.reading.notes.claims import BASELINE, Claim
from ruleout.reading.notes.commands import Command
from ruleout.reading.notes.opened import MOST_SAID, Opened
from ruleout.reading.notes.outcomes import Judged, judge
from ruleout.reading.notes.relations import base_of, is_baseline
from ruleout.reading.notes.sentences import defines, is_question, is_supposed, parts_of, sentences
from ruleout.reading.notes.text import Text, shown

_BASE_PROSE = re.compile(
    r"(?i)\b(?:unchanged|unmodified|as[ -]is|as deployed|as reported|as it (?:is|was)|baseline|original"
    r" (?:command|flags|config\w*)|usual command\w*|without any changes?|nothing changed|no changes|prod"
    r" args|plain (?:restart|replay|start|run)|as in prod|same arguments|(?:default|stock|shipped|normal|usual)"
    r" (?:command|args|arguments|settings|flags|config\w*)|as shipped"
    r"|command as given)\b"
)
THAT = re.compile(r"(?i)\b(?:with|tried|did|ran|used|done) (?:that|this|it)\b(?! (?:one )?(?:is|was|would))")


class Prose(Opened):
    """Reads sentences, and commands that stand in them."""

    def prose(self, text: Text, label: str = "", held: bool = False, listed: bool = False) -> None:
        """Sentences: a setting is open until another one comes."""
        for sentence in sentences(text):
            self._sentence(sentence, label, held, listed)

    def _sentence(self, sentence: Text, label: str, held: bool, listed: bool) -> None:
        if terms.DETECTS.match(sentence.text) or defines(sentence.text):
            return
        if (
            sentence.text.endswith(":")
            and not listed
            and self.open
            and self.open.claim.found.command
            and not changes_in(sentence.text, self.known).command
        ):
            return  # it leads to the next command
        if is_question(sentence.text) or is_supposed(sentence.text):
            self._suggest(sentence)
            if changes_in(sentence.text, self.known).settings and not is_question(sentence.text):
                self.leave(sentence.line(), sentence.text, "only planned")
            return
        for part in parts_of(sentence, self.problem, self.known):
            raw = part.text.text
            if part.found.command is not None:
                self.command(part.text, part.found.command, label)
                continue
            if part.found.settings:
                self._told(part.text, part.found, part.judged, part.each, label, held, listed)
                continue
            if THAT.search(raw) and part.judged and self.suggested and not (self.open and self.open.held):
                self.close()
                self.add(
                    Claim(
                        self.suggested_at or part.text.line(),
                        shown(raw),
                        self.suggested,
                        part.judged,
                        "",
                        label,
                        prose=True,
                    )
                )
                self.suggested = None
                continue
            judged = part.judged
            if judged and (plain := _BASE_PROSE.search(raw)):
                judged = judge(raw[: plain.start()] + raw[plain.end() :], self.problem)
            waits = self.open and (self.open.held or self.open.said or not self.open.claim.found.command)
            if (
                not waits
                and judged
                and judged.kind
                and (_BASE_PROSE.search(raw) or (listed and is_baseline(raw.split(",")[0], 2)))
                and not self._limited(raw)
            ):
                self.add(Claim(part.text.line(), shown(raw), Found(), judged, BASELINE, label, prose=not listed))
                continue
            if (judged is None and _BASE_PROSE.search(raw) and len(raw.split()) < 14 and not self._limited(raw)) or (
                listed and held and not judged and is_baseline(raw)
            ):
                self.begin(Claim(part.text.line(), shown(raw), Found(), None, BASELINE, label, prose=not listed), held)
                continue
            self.say(raw)

    def _limited(self, text: str) -> bool:
        """Whether a baseline in prose is one that something else was done to."""
        found = _BASE_PROSE.search(text)
        around = text[max(0, found.start() - 30) : found.end() + 25] if found else text.split(",")[0]
        return w.LIMITED.search(around) is not None

    def _told(
        self, text: Text, found: Found, judged: Judged | None, each: bool, label: str, held: bool, listed: bool
    ) -> None:
        first = found.settings[0]
        position = max(0, text.text.find(first.name))
        line = text.line(position) if not listed else text.line()
        if found.words and (
            (judged is None and not (listed and held))
            or (
                self.open is not None
                and self.open.held
                and self.open.claim.found.settings
                and not self.open.claim.found.words
            )
        ):
            if self.open and self.open.held:
                self.say(text.text)
            return
        if all(s.name in terms.MINOR_PACKAGES for s in found.settings):
            return
        begun = self.claims or self.open or re.search(r"(?i)\b(?:i|we|then|now)\b", text.text)
        if judged is None and not begun and not listed and not held and terms.HARDWARE.search(text.text):
            return  # the surroundings
        packages = [s for s in found.settings if re.fullmatch(terms.PACKAGES, s.name, re.IGNORECASE)]
        if (
            len(packages) == len(found.settings)
            and not listed
            and not re.search(
                r"(?i)\b(?:with|on|back|to|tried|ran|upgrad\w+|downgrad\w+|is|was|gives?|says|has|had|works"
                r"|same|rolled|:)\b",
                text.text,
            )
        ):
            return
        if len(packages) > 1 and len(packages) == len(found.settings) and not listed:
            return
        if len(packages) == len(found.settings) and judged is None and not listed and not held:
            return
        base = base_of(text.text)
        names = {s.name: s.level for s in found.settings}
        if (
            self.open
            and self.open.claim.found.settings
            and {s.name: s.level for s in self.open.claim.found.settings}.items() >= names.items()
        ):
            if judged:
                self.say(text.text)
            return
        claim = Claim(
            line, shown(text.text), found, judged, base, label, prose=not listed, exported=dict(self.exported)
        )
        if self.open and self.open.held and self.open.claim.found.words and not self.open.said:
            claim = replace(claim, line=self.open.claim.line)
        if judged is None or not judged.sure:
            self.begin(replace(claim, judged=None), held, most=MOST_SAID if listed else 2)
            if judged:
                self.say(text.text)
            return
        self.close()
        if each:
            for one in found.settings:
                at = text.line(max(0, text.text.find(one.name)))
                self.add(replace(claim, line=at, found=replace(found, settings=(one,))))
            return
        self.add(claim)

    def command(self, text: Text, command: Command, label: str) -> None:
        """A command, with what stands behind it in its line."""
        inside = text.text
        rest = text.cut(command.end, len(inside)).text
        ahead, self.ahead = self.ahead, None
        lead = text.text[: command.begin]
        for sentence in sentences(text.cut(0, command.begin))[:-1] if command.begin > 60 else ():
            if self.open and not changes_in(sentence.text, self.known):
                self.say(sentence.text)
        supposed = is_supposed(lead) or w.SUPPOSED.search(lead)
        claim = Claim(
            text.line(command.begin),
            shown(inside[command.begin : command.begin + 300]),
            Found((), command),
            None,
            "",
            label,
            exported=dict(self.exported),
        )
        if ahead:
            self.close()
            self.add(claim.ended(ahead))
            return
        if supposed:
            self.close()
            return
        claim = (
            replace(claim, line=self.open.claim.line)
            if self.open and self.open.claim.base == BASELINE and not self.open.said
            else claim
        )
        self.begin(claim, most=4)
        rest = re.sub(r"^\s*`?\s*(?:=>|->|→|⇒|➜|#|\|)?\s*", "", rest)
        told = [s for s in sentences(Text.of(rest, 1)) if not is_supposed(s.text)] if rest else []
        if told and judge(" ".join(s.text for s in told), self.problem):
            more = changes_in(rest, self.known)
            if not more:
                self.say(" ".join(s.text for s in told))
