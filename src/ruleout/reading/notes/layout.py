"""Lines of notes as a tree: sections with what stands under them, items, paragraphs, code and tables.

No markup is required: a line that begins with a time is a message, columns may be drawn by blanks alone, and a short
line before a list is its title. Where a line of a paragraph ends before it was full, its writer meant the line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from ruleout.reading.notes import terms
from ruleout.reading.notes.grids import grid_at
from ruleout.reading.notes.nodes import FULL, Node, indented, nested, wrapped
from ruleout.reading.notes.text import Text, cleaned

_FENCE = re.compile(r"\s*(?:```|~~~|\{(?:code|noformat)\b[^}]*\}|#\+begin_\w+)", re.IGNORECASE)
_NO_NOTES = re.compile(
    r"\s*(?:```|~~~|\{code:|#\+begin_src )\s*(?:mermaid|dot|python|json|toml|html|css|diff|c|cpp|cuda|rust|js)\b",
    re.IGNORECASE,
)
_FENCE_END = re.compile(r"\s*(?:```|~~~|\{(?:code|noformat)\}|#\+end_\w+)", re.IGNORECASE)
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*$|h([1-6])\.\s+(.*)$")
_ORG = re.compile(r"(\*{1,6})\s+(.*?)(?:\s+:[\w:]+:)?\s*$")
_ORG_TAG = re.compile(r"\s+:(\w[\w:]*):\s*$")
_UNDERLINE = re.compile(r"\s*(?:={4,}|-{4,}|~{4,})\s*$")
_BOLD = re.compile(r"\s*(?:\*\*|__)[^*]{2,120}(?:\*\*|__)(?P<rest>:?|\s*\([^)]*\):?)\s*$")
_ITEM = re.compile(
    r"(?P<indent>\s*)(?P<mark>[-*•◦‣·+]|\(?(?P<label>\d{1,3}|[A-Za-z])[.)])\s+(?:\[(?P<box>["
    r" xX\-~?!✓✔]?)\]\s+)?(?P<text>\S.*)$"
)
_MINUS = re.compile(r"\s*[-+]\s+-{1,2}[A-Za-z]")
_TIME = re.compile(
    r"(?P<box>\[?)(?P<time>(?:\d{4}-\d\d-\d\d|\d\d?[-./]\d\d?\.?)?[ T]?\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm]"
    r")?|\d{4}-\d\d-\d\d)(?(box)\]?)(?:\s*(?:UTC|h|Uhr)\b)?:?\s*[-–|]?\s+(?=\S)"
)
_DAY = re.compile(
    r"(?i)\W*(?:(?:mon|tue|wed|thu|fri|sat|sun|montag|dienstag|mittwoch|donnerstag|freitag)\w*|day"
    r"|tag)\b[,.]?\s*(?:\d{1,2}\b)?(?:\s*(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov"
    r"|dec)\w*)?\s*(?:\d{1,4})?[\s:.*]*$"
)
_SPEAKS = re.compile(r"(?:<(?P<a>[\w.\- ]{1,24})>|(?P<b>[\w.\-]{2,20}):)\s+(?=\S)")
_MESSAGE = re.compile(
    r"\W{0,4}(?P<who>[\w.'\- ]{1,30}?)\W{0,3}(?:\s{1,4}(?:\[?\d{1,2}:\d\d(?: ?[AP]M)?\]?)\s*$"
    r"|\s+(?:commented|replied|opened this issue)\b.{0,30}$)"
)
_MAIL = re.compile(r"(?:From|To|Cc|Date|Reply-To|Message-ID|Subject|Betreff|Von|An): ")
_LOG = re.compile(
    r"\s*(?:\([\w ]+pid=\d+\)|(?:INFO|WARNING|ERROR|DEBUG)\b.{0,30}\d\d:\d\d|\[\d{4}-\d\d-\d\d[^\]]{0,30}\]"
    r"(?= server_args|.*\bTP\d)|\[\d{4}-[^\]]*TP\d+\]|File \"|Traceback |\s+(?:raise|return|self)\b"
    r"|\[rank\d+\])"
)
_STRUCK = re.compile(r"~~.*?~~")
_STAMP = re.compile(r"^\s*(?:CLOSED|SCHEDULED|DEADLINE):|^#\+(?!begin|end|title)|^:\w+:", re.IGNORECASE)


class Layout:
    """Reads lines into nodes, and those into a tree."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.org = any(line.lower().startswith("#+") for line in lines[:40])
        self.nodes: list[Node] = []
        spoken = Counter[str]()
        for line in lines:
            timed = _TIME.match(line.strip())
            rest = line.strip()[timed.end() :] if timed else line.strip()
            if said := _SPEAKS.match(rest):
                spoken[said["a"] or (said["b"] if timed else "")] += 1
        spoken.pop("", None)
        self.speakers = set(spoken) if sum(spoken.values()) >= 4 and max(spoken.values()) >= 2 else set()
        self.who = ""

    def tree(self) -> Node:
        """The notes as one node."""
        self._read(0, len(self.lines))
        return nested(self.nodes)

    def _read(self, at: int, end: int) -> None:
        while at < end:
            at = max(at + 1, self._step(at, end))

    def _step(self, at: int, end: int) -> int:
        raw = self.lines[at]
        line = cleaned(raw)
        if found := re.match(r"(?i)#\+title:\s*(.*)", line):
            self.nodes.append(Node("section", [Text.of(found[1].strip() or "-", at + 1)], 0))
            return at + 1
        if not line.strip() or _STAMP.match(line) or re.fullmatch(r"\s*[-=_*~#]{3,}\s*", line):
            if not line.strip():
                self.nodes.append(Node("gap"))
            return at + 1
        if _FENCE.match(raw) and not re.match(r"\s*```.+```", raw):
            return self._fence(at, end)
        if line.lstrip().startswith(">") and not re.match(r"\s*>\s*(?:--|[A-Z_]+=)", line):
            self.nodes.append(Node("quote", [Text.of(line.lstrip("> \t"), at + 1)]))
            return at + 1
        if _LOG.match(line):
            return at + 1
        if _MAIL.match(line) and at < 12:
            if re.match(r"Subject|Betreff", line):
                self.nodes.append(Node("section", [Text.of(line.split(":", 1)[1].strip(), at + 1)], 0))
            return at + 1
        if (table := grid_at(self.lines, at, end)) is not None:
            grid, after, before = table
            for text in before:
                self.nodes.append(Node("para", [text]))
            self.nodes.append(Node("grid", [Text.of("", at + 1)], grid=grid))
            return after
        if heading := self._heading(raw, line, at, end):
            return heading
        if re.match(r"(?: {4}|\t)\s*\S", raw) and terms.PROGRAM.search(line) and not _ITEM.match(line):
            return self._indented(at, end)
        if self._lists(line) and (item := _ITEM.match(line)):
            return self._item(item, raw, at, end)
        return self._para(at, end)

    def _lists(self, line: str) -> bool:
        """Whether a line is an item; one that only has a minus before a flag takes that away."""
        item = _ITEM.match(line)
        taken = _MINUS.match(line) and not re.search(r"[:→=]", line)
        return item is not None and (not taken or item["box"] is not None)

    def _heading(self, raw: str, line: str, at: int, end: int) -> int:
        found = _HEADING.match(line)
        if (
            found
            and not self.org
            and terms.PROGRAM.search(line) is None
            and not (raw.startswith("# ") and self._script)
        ):
            depth = len(found[1]) if found[1] else int(found[3])
            self._section(found[2] if found[1] else found[4], depth, at)
            return at + 1
        if self.org and (found := _ORG.match(raw)):
            tag = _ORG_TAG.search(raw)
            state = re.match(r"(TODO|DONE|WAITING|CANCELL?ED|NEXT|STARTED)\s+", found[2])
            title = cleaned(found[2][state.end() :] if state else found[2])
            self._section(title, len(found[1]), at)
            self.nodes[-1].box = {"DONE": "x", None: None}.get(state[1] if state else None, " ")
            if tag:
                self.nodes.append(Node("para", [Text.of(tag[1].replace(":", " "), at + 1)]))
            return at + 1
        if (
            at + 1 < end
            and _UNDERLINE.match(self.lines[at + 1])
            and len(line.strip()) < 120
            and not _ITEM.match(line)
            and "|" not in line
        ) and (at == 0 or not self.lines[at - 1].strip()):
            self._section(line.strip(), 1 if "=" in self.lines[at + 1] else 2, at)
            return at + 2
        if _BOLD.match(raw) and not _ITEM.match(raw):
            self._section(line.strip(), 7, at)
            return at + 1
        return 0

    @cached_property
    def _script(self) -> bool:
        """Whether `#` begins comments here, not headings."""
        starts = [line for line in self.lines if line.strip()]
        hashes = [line for line in starts if re.match(r"#+ ?\S?", line)]
        bare = [line for line in starts if terms.PROGRAM.search(line) and not re.search(r"`|: |^ {4}", line)]
        return (
            len(bare) >= 2
            and len(hashes) >= 2
            and not any(line.startswith(("##", "```", "| ", "- ")) for line in starts)
        )

    def _section(self, title: str, depth: int, at: int) -> None:
        self.nodes.append(Node("section", [Text.of(title.strip(), at + 1)], depth))

    def _fence(self, at: int, end: int) -> int:
        stop = at + 1
        while stop < end and not _FENCE_END.match(self.lines[stop]):
            stop += 1
        if _NO_NOTES.match(self.lines[at]):
            return stop + 1
        inside = [cleaned(line) for line in self.lines[at + 1 : stop]]
        tabled = sum(line.count("|") >= 2 or bool(_ITEM.match(line)) for line in inside)
        settings = sum(bool(re.search(r"(?:^|\s)--?[a-z]|[A-Z_]{4,}=", line)) for line in inside)
        if not any(terms.PROGRAM.search(line) for line in inside) and (tabled >= 3 or settings >= 3):
            self._read(at + 1, stop)
        else:
            self._code(at + 1, stop)
        return stop + 1

    def _indented(self, at: int, end: int) -> int:
        stop = at
        while (stop < end and re.match(r"(?: {2}|\t)\s*\S", self.lines[stop])) or (
            stop > at and stop < end and self.lines[stop - 1].rstrip().endswith("\\")
        ):
            stop += 1
        self._code(at, stop)
        return stop

    def _code(self, at: int, end: int) -> None:
        """Lines of code: a command that goes on in the next line is one."""
        node = Node("code", depth=self._indent(at))
        pending: list[Text] = []
        for number in range(at, end):
            line = self.lines[number].strip()
            pending.append(Text.of(re.sub(r"^>\s+", "", line) if pending else line, number + 1))
            if line.endswith("\\"):
                pending[-1] = Text.of(pending[-1].text.rstrip("\\ "), number + 1)
                continue
            node.texts.append(Text.joined(pending))
            pending = []
        node.texts += [Text.joined(pending)] if pending else []
        if node.texts:
            self.nodes.append(node)

    def _indent(self, at: int) -> int:
        line = self.lines[at] if at < len(self.lines) else ""
        return len(line) - len(line.lstrip())

    def _item(self, item: re.Match[str], raw: str, at: int, end: int) -> int:
        text = item["text"]
        struck = raw.count("~~") >= 2 and not _STRUCK.sub("", raw.split(item["mark"], 1)[-1]).strip(" .,;")
        node = Node("item", [], min(len(item["indent"].expandtabs(4)), 60), box=item["box"], label=item["label"] or "")
        if node.box is not None:
            node.box = "x" if node.box in "xX✓✔" and node.box else " "
        if struck:
            node.box = "~"
        if timed := _TIME.match(text):
            node.label, text = clock(timed["time"]), text[timed.end() :]
        parts = [Text.of(text, at + 1)]
        stop = at + 1
        while stop < end:
            line = cleaned(self.lines[stop])
            if (
                not line.strip()
                or _ITEM.match(line)
                or _FENCE.match(line)
                or _HEADING.match(line)
                or _LOG.match(line)
                or line.lstrip().startswith("|")
            ):
                break
            if self._indent(stop) <= len(item["indent"]) and (
                len(parts[-1].text) < FULL or _TIME.match(line) or terms.PROGRAM.search(line)
            ):
                break
            if not _STAMP.match(line):
                parts.append(Text.of(line.strip(), stop + 1))
            stop += 1
        node.texts = wrapped(parts) if len(parts) > 1 else parts
        self.nodes.append(node)
        return stop

    def _para(self, at: int, end: int) -> int:
        stop = at
        parts: list[Text] = []
        indents: list[int] = []
        node = Node("para", depth=self._indent(at))

        def flush() -> None:
            nonlocal parts, node, indents
            if parts:
                node.texts = indented(parts, indents) if node.kind == "message" else wrapped(parts)
                node.who = node.who or self.who
                self.nodes.append(node)
            parts, indents, node = [], [], Node("para", depth=self._indent(min(stop, end - 1)))

        while stop < end:
            raw = self.lines[stop]
            line = cleaned(raw)
            if (
                not line.strip()
                or _FENCE.match(raw)
                or _LOG.match(line)
                or (
                    stop > at
                    and (
                        (_HEADING.match(line) and not self._script)
                        or _BOLD.match(raw)
                        or (self.org and _ORG.match(raw))
                    )
                )
            ):
                break
            if stop > at and (self._lists(line) or grid_at(self.lines, stop, end)):
                break
            body = line.strip()
            timed = _TIME.match(body)
            rest = body[timed.end() :] if timed else body
            said = _SPEAKS.match(rest)
            speaker = (said["a"] or said["b"]) if said and self.speakers & {said["a"], said["b"]} else ""
            message = _MESSAGE.match(body)
            if timed or speaker or message:
                flush()
                node.kind = "message"
                if message and not speaker:
                    self.who = message["who"].strip()
                    self.nodes.append(Node("turn", who=self.who))
                    stop += 1
                    continue
                node.label = clock(timed["time"]) if timed else ""
                node.who = speaker or self.who
                body = rest[said.end() :] if said and speaker else rest
            elif _DAY.fullmatch(body):
                flush()
                self.nodes.append(Node("turn"))
                stop += 1
                continue
            parts.append(Text.of(body, stop + 1))
            indents.append(self._indent(stop))
            stop += 1
        flush()
        return stop


def clock(time: str) -> str:
    """The time of the day in a stamp, by which others refer to it."""
    found = re.search(r"\d{1,2}:\d\d", time)
    return found[0] if found else time
