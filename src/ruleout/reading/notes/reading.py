"""From the tree of notes to claims: a setting and what became of it stand in one place, or follow one another.

One rule for lists, headings, chats, diaries, sessions and prose: what is set stays open until its scope ends or something
else is set, and all that is said meanwhile is about it. A title that tells an outcome gives it to what is listed under it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ruleout.model import Unused
from ruleout.reading.notes import words as w
from ruleout.reading.notes.changes import Found, changes_in
from ruleout.reading.notes.claims import BASELINE, PREVIOUS, REPEAT, Claim
from ruleout.reading.notes.commands import Command, command_in
from ruleout.reading.notes.layout import Node
from ruleout.reading.notes.outcomes import Judged, Problem, judge, masked
from ruleout.reading.notes.relations import base_of, is_baseline, refers_by_kind
from ruleout.reading.notes.sentences import is_question, is_supposed, parts_of, sentences
from ruleout.reading.notes.tables import Table
from ruleout.reading.notes.text import Text, shown

_SEPARATOR = re.compile(
    r"\s*(?:-+>|=+>|→|⇒|➜|➡|➔)\s*|\s\.{3,}\s|\.{4,}\s?|:(?=\s|$)|\s{2,}|\t|\s+[-–—]{1,2}\s+|\s=\s|\s\|\s|(?<=[`\w)])\s+(?=❌|✅|💥|:x:|:white_check_mark:|✗|✘|✔|✓)|(?<=`)\s+(?=\()|(?<=`),\s|(?<=[\w`)])\.\s+(?=\S)"
)
_LABEL = re.compile(
    r"(?i)^[\W_]*(?:(?:run|try|attempt|versuch|exp(?:eriment)?|test|trial|step|job|case|config|variant|nr|no|number|idea|round|take)[\s.#-]*)?#?(?P<label>\d{1,2}:\d\d|[A-Z]{0,4}-?\d{1,6}[a-z]?|[A-Z])(?P<end>[.):]+\s*|\s+[-–—:]\s+|\s{2,}|\s*$|\s+(?=[`(+-]))"
)
_BASE_PROSE = re.compile(
    r"(?i)\b(?:unchanged|unmodified|as[ -]is|as deployed|as reported|as it (?:is|was)|baseline|original (?:command|flags|config\w*)|usual command\w*|without any changes?|nothing changed|no changes|prod args|plain (?:restart|replay|start|run)|as in prod|same arguments|default command|stock command|command as given)\b"
)
_THAT = re.compile(r"(?i)\b(?:with|tried|did|ran|used|done) (?:that|this|it)\b(?! (?:one )?(?:is|was|would))")
_AGAIN = re.compile(
    r"(?i)^\W*(?:same (?:again|thing again|once more)|(?:ran|run|did|tried) (?:it|this|that)(?: one)? again|repeat(?:ed)?\b|re-?ran|once more|again\b(?=,? to be)|second (?:run|time)|another run)"
)
_RECORD = re.compile(
    r"^\W{0,3}(?P<key>[A-Za-z][\w /.]{0,24}?)\**\s*(?::|=)\**\s+(?P<value>\S.*)?$|^\W{0,3}(?P<only>[A-Za-z][\w /.]{0,24}?):\s*$"
)
_EXPORT = re.compile(r"^\W*export\s+(?P<name>[A-Za-z_]\w*)=(?P<level>\S+)\s*$")
_UNSET = re.compile(r"^\W*unset\s+(?P<name>[A-Za-z_]\w*)\s*$")
_COMMENT = re.compile(r"^\s*(?:#|//)+\s*")
MOST_SAID = 6


@dataclass(slots=True)
class Open:
    """What was set and has no end yet, with what was said since."""

    claim: Claim
    said: list[str] = field(default_factory=list)
    held: bool = False
    most: int = MOST_SAID


class Reading:
    """Walks over the tree and collects claims."""

    def __init__(self, problem: Problem, known: Mapping[str, str], before: bool) -> None:
        self.problem, self.known, self.before = problem, known, before
        self.claims: list[Claim] = []
        self.unused: list[Unused] = []
        self.open: Open | None = None
        self.default: Judged | None = None
        self.suggested: Found | None = None
        self.suggested_at = 0
        self.exported: dict[str, str] = {}
        self.ahead: Judged | None = None
        self.loose = True
        self.plain: frozenset[str] = frozenset()

    # -- what is open ---------------------------------------------------------------------------------------------

    def begin(self, claim: Claim, held: bool = False, most: int = MOST_SAID) -> None:
        """Something was set: what was open before is over."""
        self.close()
        self.open = Open(replace(claim, loose=self.loose), [], held, most)

    def close(self) -> None:
        """What is open ends with what was said of it."""
        current, self.open = self.open, None
        if current is None:
            return
        judged = current.claim.judged or judge(" . ".join(current.said), self.problem, told=current.held)
        if judged is None:
            if current.claim.found.command is None and not current.claim.base:
                self.leave(current.claim.line, current.claim.text, "no outcome is told")
            return
        self._keep(current.claim.ended(judged, " ".join(current.said)))

    def add(self, claim: Claim) -> None:
        """A claim that is complete where it stands."""
        if self.open and not self.open.held:
            self.close()
        self._keep(replace(claim, loose=self.loose))

    def _keep(self, claim: Claim) -> None:
        if claim.judged is None:
            return
        if claim.judged.kind is None:
            self.leave(claim.line, claim.text, "not done yet")
            return
        self.claims.append(claim)

    def leave(self, line: int, text: str, why: str) -> None:
        """What looks like a trial and is none."""
        self.unused.append(Unused(line, shown(text), why))

    # -- nodes ----------------------------------------------------------------------------------------------------

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
            _LABEL.match(title.text)
            or node.box == "x"
            or re.match(r"(?i)\W*(?:run|try|attempt|versuch|exp|test|trial)", title.text)
        )
        bare = title.text[labelled.end() :] if isinstance(labelled, re.Match) and labelled.re is _LABEL else title.text
        base = "" if found else BASELINE if labelled and node.kids and bare.strip() and is_baseline(bare) else ""
        self.close()
        if (
            ((found.settings or base or base_of(title.text))
            and node.kids
            and not is_question(title.text))
            or (found.settings and judged)
        ):
            label = labelled["label"] if isinstance(labelled, re.Match) and labelled.re is _LABEL else ""
            claim = Claim(title.line(), shown(title.text), found, None, base or base_of(title.text), label)
            if judged and judged.kind and found.settings:
                self.add(claim.ended(judged))
            elif found.settings or base:
                self.begin(claim, held=True)
        elif judged and judged.kind and not is_question(title.text) and self._groups(node):
            outer, self.default = self.default, judged
            self.read(node.kids)
            self.close()
            self.default = outer
            return
        if len(node.kids) > 1 and all(kid.kind == "item" and not kid.kids for kid in node.kids) and not found:
            if self.record([kid.text for kid in node.kids]):
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
        if (
            (not any(kid.kind == "item" for kid in node.kids)
            and node.depth < 3)
            or (node.kind == "section"
            and node.depth in (1, 2)
            and words > 5)
        ):
            return False
        plain = [kid for kid in node.kids if kid.kind == "item" and is_baseline(kid.text.text)]
        told = [Text.joined([*kid.texts, *(t for deeper in kid.kids for t in deeper.texts)]) for kid in kids]
        own = [
            text for text in told if any(p.judged and p.judged.kind for p in parts_of(text, self.problem, self.known))
        ]
        strong = re.match(
            r"(?i)\W*(?:things?|those|these|what|still|does|doesn|do|don|no|same|works?|crash|hang|fail|ok|good|bad|fine|breaks?|clean|surviv|pass)",
            node.text.text,
        )
        return bool(kids or plain) and (len(own) * 2 <= len(kids) or (bool(strong) and len(node.text.text.split()) < 9))

    def item(self, node: Node) -> None:
        """An item of a list and what is nested in it."""
        text = node.text
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
        done = self.unit(node.texts, node.label, bool(node.kids))
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

    # -- one unit -------------------------------------------------------------------------------------------------

    def record(self, texts: Sequence[Text], label: str = "") -> bool:
        """Lines of `key: value`, of which one says what was set and another what became of it."""
        rows = [(row, text) for text in texts if (row := _RECORD.match(text.text))]
        if len(rows) < 2 or len(rows) < len(texts) - 1:
            return False
        sets: list[str] = []
        ends: list[str] = []
        rest: list[str] = []
        for row, _ in rows:
            key, value = (row["key"] or row["only"]).strip(), row["value"] or ""
            if w.KEY_OUTCOME.fullmatch(key):
                ends.insert(0 if not re.fullmatch(r"(?i)verdict|status|state", key) else len(ends), value)
            elif w.KEY_CHANGE.fullmatch(key) and (
                changes_in(value, self.known) or is_baseline(value.strip("\"'")) or base_of(value)
            ):
                sets.append(value)
            elif re.fullmatch(r"(?i)(?:run|id|name|no|nr|try|label|case|test|exp\w*|#)", key):
                label = label or value
            elif not w.HEAD_ASIDE.fullmatch(key) or re.fullmatch(r"(?i)notes?|remarks?|comments?", key):
                rest.append(value)
        keys = {(row["key"] or row["only"]).strip().lower() for row, _ in rows}
        if (
            not sets
            or not (ends or rest)
            or (keys & {"model", "hw", "gpu", "gpus", "hardware", "engine", "version", "problem", "symptom", "env"}
            and any(map(command_in, sets)))
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
        if not label and (named := _LABEL.match(text.text)):
            label = named["label"]
        if is_question(text.text):
            self._suggest(text)
            return False
        split = self._split(text)
        if split is not None:
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
        for mark in _SEPARATOR.finditer(shielded):
            left, right = text.cut(0, mark.start()), text.cut(mark.end(), len(text.text))
            if not right.text:
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
            bare = _LABEL.sub("", left.text, count=1) if _LABEL.match(left.text + " ") else left.text
            plain = (
                not found
                and bool(bare.strip(" `-+()"))
                and (is_baseline(bare) or bare.strip(" `:") in self.plain)
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
        if not base and found and self._joins(left.text[:24]) and re.match(r"\W*(?:on top|plus)", left.text):
            base = PREVIOUS
        if not found and not base:
            base = BASELINE
        same = base_of(right.text)
        if _BASE_PROSE.search(right.text) and all(
            re.fullmatch(w.PACKAGES, s.name, re.IGNORECASE) for s in found.settings
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

    # -- prose ----------------------------------------------------------------------------------------------------

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
        if w.OTHER_PROGRAM.match(raw) and not judge(raw, self.problem):
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
        if record := _RECORD.match(raw):
            key = (record["key"] or record["only"] or "").strip()
            if w.KEY_PROBLEM.fullmatch(key) and not self.open:
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

    def code(self, node: Node) -> None:
        """Code: commands with comments, and what a program printed, of which only errors say something."""
        errors = 0
        for n, text in enumerate(node.texts):
            raw = re.sub(r"^\s*(?:\([\w.\-]+\)\s*)?(?:[\w.\-]+@[\w.\-]+\S*\s?)?[$❯%]\s+", "", text.text)
            comment = _COMMENT.match(raw)
            following = node.texts[n + 1].text if n + 1 < len(node.texts) else ""
            if comment and command_in(following) and not command_in(raw) and (not self.open or self.open.said or self.before):
                judged = judge(masked(raw[comment.end() :], changes_in(raw, self.known).spans), self.problem)
                if judged and judged.kind and not is_supposed(raw[comment.end() :]):
                    self.ahead = judged
                    continue
            if not raw.strip():
                if self.open and self.open.said:
                    self.close()
                continue
            if command_in(raw) or comment or _EXPORT.match(raw) or _UNSET.match(raw):
                self.line(Text(raw, ((0, text.line()), *text.marks[1:])))
            elif (
                self.open
                and errors < 3
                and (w.EXCEPTION.search(raw) or any(p.search(raw) for p in w.SYMPTOMS.values()))
            ):
                errors += 1
                self.say(raw)
            elif self.open and not self.open.said and re.match(r"\W*(?:=>|->|→|\^)", raw):
                self.say(raw)
    def say(self, text: str) -> None:
        """Something that is said of what is open."""
        if self.open and len(self.open.said) < self.open.most:
            self.open.said.append(masked(text, changes_in(text, self.known).spans))

    def _suggest(self, text: Text) -> None:
        found = changes_in(text.text, self.known)
        if found.settings:
            self.suggested, self.suggested_at = found, text.line()

    def prose(self, text: Text, label: str = "", held: bool = False, listed: bool = False) -> None:
        """Sentences: a setting is open until another one comes."""
        for sentence in sentences(text):
            self._sentence(sentence, label, held, listed)

    def _sentence(self, sentence: Text, label: str, held: bool, listed: bool) -> None:
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
            if _THAT.search(raw) and part.judged and self.suggested and not self.open:
                self.add(Claim(self.suggested_at or part.text.line(), shown(raw), self.suggested, part.judged, "", label, prose=True))
                self.suggested = None
                continue
            waits = self.open and (self.open.held or self.open.said or not self.open.claim.found.command)
            if (
                not waits
                and part.judged
                and part.judged.kind
                and (_BASE_PROSE.search(raw) or (listed and is_baseline(raw.split(",")[0], 2)))
                and not self._limited(raw)
            ):
                self.add(Claim(part.text.line(), shown(raw), Found(), part.judged, BASELINE, label, prose=not listed))
                continue
            if (
                (part.judged is None
                and _BASE_PROSE.search(raw)
                and len(raw.split()) < 14
                and not self._limited(raw))
                or (listed and held and not part.judged and is_baseline(raw))
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
        offset = text.text.find("`") if False else 0
        line = text.line(offset)
        first = found.settings[0]
        position = max(0, text.text.find(first.name))
        line = text.line(position) if not listed else text.line()
        if found.words and (
            (judged is None
            and not (listed and held))
            or (self.open is not None
            and self.open.held
            and self.open.claim.found.settings
            and not self.open.claim.found.words)
        ):
            if self.open and self.open.held:
                self.say(text.text)
            return
        if all(s.name in w.MINOR_PACKAGES for s in found.settings):
            return
        packages = [s for s in found.settings if re.fullmatch(w.PACKAGES, s.name, re.IGNORECASE)]
        if (
            len(packages) == len(found.settings)
            and not listed
            and not re.search(
                r"(?i)\b(?:with|on|back|to|tried|ran|upgrad\w+|downgrad\w+|is|was|gives?|says|has|had|works|same|rolled|:)\b",
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


def _each(text: str, found: Found) -> bool:
    return (
        len(found.settings) > 1
        and re.search(r"(?i)^\W*(?:both|neither|each of)\b|\beither\b.*\bor\b", text) is not None
    )
