"""From the tree of notes to claims: a setting and what became of it stand in one place, or follow one another.

One rule for lists, headings, chats, diaries, sessions and prose: what is set stays open until its scope ends or
something else is set, and all that is said meanwhile is about it. A title that tells an outcome gives it to what is
listed under it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ruleout.reading.notes import terms
from ruleout.reading.notes import words as w
from ruleout.reading.notes.changes import Found, changes_in
from ruleout.reading.notes.claims import BASELINE, Claim
from ruleout.reading.notes.commands import command_in
from ruleout.reading.notes.nodes import Node
from ruleout.reading.notes.outcomes import judge, masked
from ruleout.reading.notes.relations import base_of, is_baseline
from ruleout.reading.notes.sentences import is_question, is_supposed, parts_of, sentences
from ruleout.reading.notes.signs import symptoms
from ruleout.reading.notes.tables import Table
from ruleout.reading.notes.text import Text, shown
from ruleout.reading.notes.units import LABEL, RECORD, Units

_EXPORT = re.compile(r"^\W*export\s+(?P<name>[A-Za-z_]\w*)=(?P<level>\S+)\s*$")
_UNSET = re.compile(r"^\W*unset\s+(?P<name>[A-Za-z_]\w*)\s*$")
_INSTALL = re.compile(rf"^\W*(?:uv )?pip3? install\b.*?\s[\"']?(?P<name>{terms.PACKAGES})==(?P<level>[\w.+]+)")
_ANSWERED = re.compile(r"\"POST /\S+ HTTP/[\d.]+\" 200\b")
_COMMENT = re.compile(r"^\s*(?:#|//)+\s*")

_SURROUNDINGS = re.compile(
    r"(?i)\W*(?:model|engine|hw|hardware|gpus?|drivers?|versions?|env(?:ironment)?|os|host|machine|image)\W{0,3}: "
)


class Reading(Units):
    """Walks over the tree and collects claims."""

    def read(self, nodes: Sequence[Node]) -> None:
        """Nodes that follow one another."""
        n = 0
        while n < len(nodes):
            node = nodes[n]
            if node.kind == "section":
                self.section(node)
            elif node.kind == "item":
                self.item(node)
            elif node.kind == "code":
                self.code(node)
            elif node.kind == "grid":
                self.close()
                self.claims += [c for c in self._table(node) if c.judged]
            elif node.kind == "quote":
                self._suggest(node.text)
                self.suggested_at = 0
            elif node.kind == "turn":
                if not (self.open and self.open.held):
                    self.close()
            else:
                self.paragraph(node)
            n += 1

    def _table(self, node: Node) -> list[Claim]:
        if node.grid is None or not node.grid.rows:
            return []
        claims = Table(node.grid, self.problem, self.known).claims()
        for claim in claims:
            if claim.judged is None and (claim.found or claim.base):
                self.leave(claim.line, claim.text, "no outcome is told")
            elif claim.judged is not None and claim.judged.kind is None:
                self.leave(claim.line, claim.text, "not done yet")
        return [c for c in claims if c.judged and c.judged.kind]

    def _skip(self, node: Node, why: str) -> None:
        for text in (*node.texts, *(t for kid in node.kids for t in kid.texts)):
            if changes_in(text.text, self.known).settings:
                self.leave(text.line(), text.text, why)
        for kid in node.kids:
            for deeper in kid.kids:
                self._skip(deeper, why)

    def section(self, node: Node) -> None:
        """A title and what stands under it."""
        title = node.text
        found = changes_in(title.text, self.known)
        if node.depth <= 2 and (found.words or found.command):
            found = Found()
        if (
            node.box == " "
            or (w.PLAN_TITLE.match(title.text) and not found.settings)
            or (w.CLOSING_TITLE.match(title.text) and not found.settings)
        ):
            outer = self.open
            if node.box == " " or w.PLAN_TITLE.match(title.text):
                self._skip(node, "not done yet" if node.box == " " else "only planned")
            if outer is None or not outer.held:
                self.close()
            return
        judged = judge(masked(title.text, found.spans), self.problem)
        if judged and judged.kind is None and not found and node.kids:
            self._skip(node, "not done yet")
            return
        labelled = (
            LABEL.match(title.text)
            or node.box == "x"
            or re.match(r"\W*(?:[A-Z]{1,3}-?\d{1,3}\s|(?i:run|try|attempt|versuch|exp|test|trial))", title.text)
        )
        bare = title.text[labelled.end() :] if isinstance(labelled, re.Match) and labelled.re is LABEL else title.text
        base = "" if found else BASELINE if labelled and node.kids and bare.strip() and is_baseline(bare) else ""
        self.close()
        if ((found.settings or base or base_of(title.text)) and node.kids and not is_question(title.text)) or (
            found.settings and judged
        ):
            label = labelled["label"] if isinstance(labelled, re.Match) and labelled.re is LABEL else ""
            claim = Claim(title.line(), shown(title.text), found, None, base or base_of(title.text), label)
            if judged and judged.kind and found.settings:
                self.add(claim.ended(judged))
            elif found.settings or base:
                self.begin(claim, held=True)
        elif judged and judged.kind and not is_question(title.text) and self._groups(node):
            before, self.default = self.default, judged
            self.read(node.kids)
            self.close()
            self.default = before
            return
        leaves = len(node.kids) > 1 and all(kid.kind == "item" and not kid.kids for kid in node.kids)
        if leaves and not found and self.record([kid.text for kid in node.kids]):
            self.open = None
            return
        told = len(self.claims)
        self.read(node.kids)
        self.close()
        if labelled and len(self.claims) == told + 1 and self.claims[told].loose:
            self.claims[told] = replace(self.claims[told], line=title.line())

    def _groups(self, node: Node) -> bool:
        """Whether a title's outcome is that of what is listed under it: most of it tells none."""
        kids = [
            kid
            for kid in node.kids
            if kid.kind in ("item", "para") and kid.texts and changes_in(kid.text.text, self.known).settings
        ]
        words = len(node.text.text.split())
        if (not any(kid.kind == "item" for kid in node.kids) and node.depth < 3) or (
            node.kind == "section" and node.depth in (1, 2) and words > 5
        ):
            return False
        plain = [kid for kid in node.kids if kid.kind == "item" and is_baseline(kid.text.text)]
        told = [Text.joined([*kid.texts, *(t for deeper in kid.kids for t in deeper.texts)]) for kid in kids]
        ends = [
            next((p.judged.kind for p in parts_of(t, self.problem, self.known) if p.judged and p.judged.kind), None)
            for t in told
        ]
        own = [end for end in ends if end]
        if len(own) == len(ends) and len(set(own)) > 1:
            return False  # it is the title of trials that ended in different ways
        strong = re.match(
            r"(?i)\W*(?:things?|those|these|what|still|does|doesn|do|don|no|same|works?|crash|hang|fail|ok"
            r"|good|bad|fine|breaks?|clean|surviv|pass)",
            node.text.text,
        )
        return bool(kids or plain) and (len(own) * 2 <= len(kids) or (bool(strong) and len(node.text.text.split()) < 9))

    def item(self, node: Node) -> None:
        """An item of a list and what is nested in it."""
        text = node.text
        if _SURROUNDINGS.match(text.text):
            return
        if node.box in (" ", "~"):
            self._skip(node, "not done yet" if node.box == " " else "struck out")
            return
        if self.default is not None:
            loose, self.loose = self.loose, False
            listed = self._listed(node)
            self.loose = loose
            if listed:
                return
        if self.open and self.open.held and not changes_in(text.text, self.known) and not node.kids:
            self.say(text.text)
            return
        if not (self.open and self.open.held):
            self.close()
        outer, self.open = self.open, None
        loose, self.loose = self.loose, False
        done = self._parted(node) or self.unit(node.texts, node.label, bool(node.kids))
        if (
            not done
            and node.kids
            and not self.open
            and (judged := judge(text.text, self.problem))
            and judged.kind
            and self._groups(node)
        ):
            before, self.default = self.default, judged
            self.read(node.kids)
            self.default = before
        elif done and not self.open:
            self._details(node)
        else:
            self.read(node.kids)
        self.close()
        self.open, self.loose = outer, loose

    def _parted(self, node: Node) -> bool:
        """Whether an item is a title of two or more, of which the first sets something and the others tell the end."""
        kids = node.kids
        titled = changes_in(node.text.text, self.known)
        if len(kids) < 2 or any(kid.kind != "item" or kid.kids for kid in kids) or (titled and not titled.words):
            return False
        first, *rest = (kid.text for kid in kids)
        found = changes_in(first.text, self.known)
        if not found.settings or is_question(first.text) or is_supposed(first.text):
            return False
        if judge(masked(first.text, found.spans), self.problem) or any(changes_in(t.text, self.known) for t in rest):
            return False
        claim = Claim(first.line(), shown(first.text), found, None, base_of(first.text), node.label)
        self.begin(claim, held=True)
        for text in rest:
            self.say(text.text)
        self.close()
        return True

    def _details(self, node: Node) -> None:
        """What is nested in an item that is complete counts where it is complete as well."""
        for kid in node.kids:
            if kid.kind == "item" and kid.texts and changes_in(kid.text.text, self.known).settings:
                self.item(kid)

    def _listed(self, node: Node) -> bool:
        """An item under a title that tells its outcome."""
        text = node.text
        found = changes_in(text.text, self.known)
        own = [part for part in parts_of(text, self.problem, self.known) if part.judged]
        if own and own[0].judged and own[0].judged.kind is None:
            self.leave(text.line(), text.text, "not done yet")
            return True
        if is_question(text.text):
            return True
        base = base_of(text.text) if found else BASELINE if is_baseline(text.text) else ""
        if not found and not base:
            return False
        if found.settings and len({p.begin for p in found.settings}) and "(" in text.text:
            inside = changes_in(re.sub(r"\([^)]*\)", lambda m: " " * len(m[0]), text.text), self.known)
            found = inside if inside else found
        self.add(Claim(text.line(), shown(text.text), found, self.default, base, node.label))
        return True

    def paragraph(self, node: Node) -> None:
        """A paragraph: lines that were meant as such, each a unit, or running text."""
        if node.kind == "message" or len(node.texts) > 1:
            if len(node.texts) > 1 and not (self.open and self.open.held) and self.record(node.texts):
                return
            for text in node.texts:
                self.line(text, node.label)
            return
        if node.texts:
            self.line(node.texts[0], node.label)

    def line(self, text: Text, label: str = "") -> None:
        """A line of its own."""
        raw = text.text
        if exported := _EXPORT.match(raw):
            self.exported[exported["name"]] = exported["level"]
            return
        if unset := _UNSET.match(raw):
            self.exported.pop(unset["name"], None)
            return
        if (installed := _INSTALL.match(raw)) and (self.open or any(c.found.command for c in self.claims)):
            self.exported[installed["name"].lower()] = installed["level"]
            return
        comment = _COMMENT.match(raw)
        command = command_in(raw)
        if comment and not command:
            self.comment(text.cut(comment.end(), len(raw)))
            return
        if command:
            self.command(text, command, label)
            return
        if self.open and re.match(r"\s*(?:=+>|-+>|→|⇒|\^)\s", raw) and not changes_in(raw, self.known):
            self.say(raw)
            return
        if terms.OTHER_PROGRAM.match(raw) and not judge(raw, self.problem):
            return
        if (
            self.default is not None
            and changes_in(raw, self.known)
            and not judge(masked(raw, changes_in(raw, self.known).spans), self.problem)
        ):
            self.add(Claim(text.line(), shown(raw), changes_in(raw, self.known), self.default, base_of(raw), label))
            return
        if self.open and self.open.held and not changes_in(raw, self.known):
            for sentence in sentences(text):
                if not is_supposed(sentence.text) and not is_question(sentence.text):
                    self.say(sentence.text)
            return
        if record := RECORD.match(raw):
            key = (record["key"] or record["only"] or "").strip()
            if terms.KEY_PROBLEM.fullmatch(key) and not self.open:
                return
        if len(sentences(text)) <= 2 or self._split(sentences(text)[0]):
            split = self._split(text)
            if split and not is_question(text.text) and len(split[1].text) < 300:
                self.unit([text], label)
                return
        self.prose(text, label=label)

    def comment(self, text: Text) -> None:
        """A comment in a script or a session: about the command before it, or about the one that follows."""
        if self.before:
            judged = judge(masked(text.text, changes_in(text.text, self.known).spans), self.problem)
            self.ahead = judged if judged and judged.kind and not is_supposed(text.text) else None
            return
        if self.open and self.open.claim.found.command is not None:
            if (
                not is_supposed(text.text)
                and not re.search(r"(?i)\bcould not\b", text.text)
                and not re.match(r"(?i)\W*(?:with|now|next|try|then) ", text.text)
            ):
                self.say(text.text)
                self.close()
            elif is_supposed(text.text):
                self.open = None
            return
        if not is_supposed(text.text) and self._split(text):
            self.unit([text])

    def _answered(self, texts: Sequence[Text]) -> bool:
        """Whether a server's log shows an answer and nothing after it; where notes are about crashes only."""
        kinds = self.problem.kinds
        return (
            bool(kinds)
            and kinds <= w.CRASHES | {"crash"}
            and _ANSWERED.search(texts[0].text) is not None
            and not any(w.EXCEPTION.search(t.text) or w.CRASH.search(t.text) or symptoms(t.text) for t in texts)
        )

    def code(self, node: Node) -> None:
        """Code: commands with comments, and what a program printed, of which only errors say something."""
        errors = 0
        for n, text in enumerate(node.texts):
            raw = re.sub(r"^\s*(?:\([\w.\-]+\)\s*)?(?:[\w.\-]+@[\w.\-]+\S*\s?)?[$❯%]\s+", "", text.text)
            comment = _COMMENT.match(raw)
            following = node.texts[n + 1].text if n + 1 < len(node.texts) else ""
            if (
                comment
                and command_in(following)
                and not command_in(raw)
                and (not self.open or self.open.said or self.before)
            ):
                judged = judge(masked(raw[comment.end() :], changes_in(raw, self.known).spans), self.problem)
                if judged and judged.kind and not is_supposed(raw[comment.end() :]):
                    self.ahead = judged
                    continue
            if not raw.strip():
                if self.open and self.open.said:
                    self.close()
                continue
            if command_in(raw) or comment or any(p.match(raw) for p in (_EXPORT, _UNSET, _INSTALL)):
                self.line(Text(raw, ((0, text.line()), *text.marks[1:])))
            elif (
                self.open
                and errors < 3
                and (w.EXCEPTION.search(raw) or any(p.search(raw) for p in w.SYMPTOMS.values()))
            ):
                errors += 1
                self.say(raw)
            elif self.open and not self.open.said and self._answered(node.texts[n:]):
                self.say("answered")
            elif self.open and not self.open.said and re.match(r"\W*(?:=>|->|→|\^)", raw):
                self.say(raw)
