"""How notes are laid out: headings, tables, lists, code, paragraphs; in Markdown, org-mode, wikis, chats or neither.

Each block keeps the numbers of its lines. Nothing is refused: what is no known block is a paragraph.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

Line = tuple[int, str]
"""A line with its number."""


@dataclass
class Heading:
    """A heading; the lower its level, the more it holds. Lines in bold and `Tried:` are headings of the last level."""

    line: int
    level: int
    text: str


@dataclass
class Table:
    """Rows of cells; the first one is the header."""

    rows: list[tuple[int, list[str]]]


@dataclass
class Item:
    """An item of a list, or of a diary (`dated`). `done`: what its box says, None where it has none."""

    line: int
    indent: int
    label: str
    lines: list[Line]
    done: bool | None = None
    dated: bool = False
    children: list[Item] = field(default_factory=list)
    code: list[Line] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its own words."""
        return " ".join(text.strip() for _, text in self.lines)


@dataclass
class Code:
    """Lines that are quoted."""

    lines: list[Line]


@dataclass
class Paragraph:
    """Lines that belong together."""

    lines: list[Line]


@dataclass
class Break:
    """A rule, or whoever speaks next: what came before is over."""

    line: int


Block = Heading | Table | Item | Code | Paragraph | Break

LAST_LEVEL = 9
_FENCE = re.compile(r"^\s*(?:(```+|~~~+)|#\+begin_(\w+)|\{(code|noformat)(?::[^}]*)?\}\s*$)", re.I)
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$|^h([1-6])\.\s+(.*)$|^(={1,6})\s+(\S.*?)\s*=*$")
_ORG = re.compile(r"^(\*+)\s+(?:DONE\s+)?(?:\[#\w\]\s+)?(.*?)(?:\s+:[\w:]+:)?$")
_IS_ORG = re.compile(r"(?m)^(?:#\+\w+|\*\* |:PROPERTIES:)")
_PROMPT = re.compile(r"^\s*(?:\([\w.-]+\)\s*)?(?:[\w.-]+@[\w.-]+\S*\s*)?[$❯]\s+\S")
_UNDERLINE = re.compile(r"^\s*(?:={3,}|-{3,}|~{3,}|\^{3,})\s*$")
_RULE = re.compile(r"^\s*(?:-{3,}|\*{3,}|_{3,}|={3,}|(?:- ){3,}-?)\s*$")
_BOLD = re.compile(r"^\s*(?:\*\*|__|\*)([^*_|]{2,80}?):?(?:\*\*|__|\*):?\s*$")
_TOPIC = re.compile(r"^\s*([A-Z][^|:`]{1,48}):?\s*$")
_BULLET = re.compile(r"^(\s*)(?:[-*+•◦‣▪–]|o(?= {2}))\s+(?:\[(?P<box>[ xX✓✔~\-/])\]\s+)?(?P<text>\S.*)$")
_NUMBER = re.compile(
    r"^(\s*)\(?(?P<label>\d{1,3}|[A-Za-z])[.):]\)?\s+(?:\[(?P<box>[ xX✓✔~\-/])\]\s+)?(?P<text>\S.*)$"
    r"|^(\s*)#(?P<hash>\d{1,3})[:.)]?\s+(?P<more>\S.*)$"
)
_NAMED = re.compile(
    r"^(\s*)(?:\*\*|__)?(?P<label>(?:run|trial|test|try|attempt|exp(?:eriment)?|case|step|iter(?:ation)?|config|cfg"
    r"|t|v)\s*[#-]?\s*(?:\d{1,3}|[A-Z]))(?:\*\*|__)?(?:\s*(?:[:.)|—–=]|->|→)|\s+-(?=\s)|\s{2,})\s*(?P<text>\S.*)$",
    re.I,
)
_CLOCK = re.compile(
    r"^(\s*)[\[(<]?(?:(?:\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?|(?:mon|tue|wed|thu|fri|sat|sun)\w*"
    r"|[A-Z][a-z]{2} \d{1,2}),?[ T]*)?\d{1,2}[:h]\d\d(?::\d\d)?(?:[.,]\d+)?\s*(?:[AaPp][Mm])?(?:\s*(?:UTC|CET|CEST|Z"
    r"|PST|PDT|EST|EDT))?[\])>]?\s*(?:[-–—:|]\s+)?(?P<text>\S.*)$|"
    r"^(\s*)[\[(]?\d{4}-\d\d-\d\d[\])]?\s*(?:[-–—:|]\s+)?(?P<dated>\S.*)$"
)
_WHO = re.compile(r"^<?@?[\w.-]{2,24}>?(?::|>)\s+|^<@?[\w.-]{2,24}>\s+")
_SPEAKER = re.compile(
    r"^\s*(?:@?[\w.\-]+(?: [\w.\-]+){0,3}|\*\*[^*]+\*\*)\s+(?:APP\s+)?[\[(]?(?:(?:today|yesterday|\w{3,9}day"
    r"|\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?|\w{3} \d{1,2}(?:st|nd|rd"
    r"|th)?)(?: at)?,?\s+)?\d{1,2}:\d\d(?:\s*[AaPp][Mm])?[\])]?\s*$"
    r"|^\s*[\w.\-]+ commented (?:on )?.{0,40}$"
)
_DIVIDER = re.compile(r"^[\s|:+=-]*-{2,}[\s|:+=-]*$")
_GAP = re.compile(r"\s{2,}|\t+")


def blocks(lines: Sequence[str]) -> list[Block]:
    """The blocks of a text, in their order; items hold what is indented below them."""
    return list(_Layout(lines).blocks())


class _Layout:
    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.org = bool(_IS_ORG.search("\n".join(lines[:400])))
        self.at = 0
        self.open: list[Item] = []
        self.blank = True

    def blocks(self) -> Iterator[Block]:
        if self.lines and self.lines[0].startswith("#!"):
            yield Code(list(enumerate(self.lines, 1)))  # a script: no comment of it is a heading
            return
        while self.at < len(self.lines):
            text, number = self.lines[self.at], self.at + 1
            if not text.strip():
                self.at += 1
                self.blank = True
                continue
            block = self._block(text, number)
            self.blank = False
            if block is not None:
                if not isinstance(block, Item):
                    self.open = []
                yield block

    def _block(self, text: str, number: int) -> Block | None:
        if fence := _FENCE.match(text):
            return self._code(fence, text)
        if _PROMPT.match(text):
            return self._session()
        if table := self._table():
            return table
        if heading := self._heading(text, number):
            return heading
        if _RULE.match(text) or _SPEAKER.match(text):
            self.at += 1
            return Break(number)
        if (item := self._item(text, number)) is not None:
            self.at += 1
            return self._placed(item)
        self.at += 1
        if self.open and (not self.blank or len(text) - len(text.lstrip()) > self.open[-1].indent):
            self._owner(text).lines.append((number, text))
            return None
        paragraph = Paragraph([(number, text)])
        while self.at < len(self.lines) and self._continues(self.lines[self.at]):
            paragraph.lines.append((self.at + 1, self.lines[self.at]))
            self.at += 1
        return paragraph

    def _continues(self, text: str) -> bool:
        if not text.strip() or _FENCE.match(text) or _HEADING.match(text) or _RULE.match(text) or _SPEAKER.match(text):
            return False
        if self.org and _ORG.match(text):
            return False
        return self._item(text, 0) is None and not text.lstrip().startswith("|") and not _BOLD.match(text)

    def _code(self, fence: re.Match[str], text: str) -> Code | None:
        ends = (
            rf"^\s*{re.escape(fence[1][:3])}" if fence[1] else r"^\s*#\+end_" if fence[2] else rf"^\s*\{{{fence[3]}\}}"
        )
        close = re.compile(ends, re.I)
        self.at += 1
        inside: list[Line] = []
        while self.at < len(self.lines) and not close.match(self.lines[self.at]):
            inside.append((self.at + 1, self.lines[self.at]))
            self.at += 1
        self.at += 1
        if self.open and len(text) - len(text.lstrip()) > self.open[-1].indent:
            self.open[-1].code += inside
            return None
        return Code(inside)

    def _session(self) -> Code:
        """What was typed at a prompt, to the next blank line: no comment of it is a heading."""
        inside: list[Line] = []
        while self.at < len(self.lines) and self.lines[self.at].strip() and not _FENCE.match(self.lines[self.at]):
            inside.append((self.at + 1, self.lines[self.at]))
            self.at += 1
        return Code(inside)

    def _heading(self, text: str, number: int) -> Heading | None:
        if found := _HEADING.match(text):
            self.at += 1
            level = len(found[1]) if found[1] else int(found[3]) if found[3] else len(found[5])
            return Heading(number, level, found[2] or found[4] or found[6] or "")
        if self.org and (found := _ORG.match(text)):
            self.at += 1
            return Heading(number, len(found[1]), found[2])
        below = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
        if (
            _UNDERLINE.match(below)
            and self.blank
            and not text.startswith((" ", "|", "-", "*"))
            and len(below.strip()) + 8 > len(text)
        ):
            self.at += 2
            return Heading(number, 1 if "=" in below else 2, text.strip())
        beyond = next((line for line in self.lines[self.at + 1 : self.at + 3] if line.strip()), "")
        topic = _BOLD.match(text) or (
            _TOPIC.match(text)
            if (text.rstrip().endswith(":") or (self.blank and not below.strip())) and self._item(beyond, 0)
            else None
        )
        if topic and not self._item(text, 0) and len(topic[1].split()) <= 7:
            self.at += 1
            return Heading(number, LAST_LEVEL, topic[1].strip())
        return None

    def _item(self, text: str, number: int) -> Item | None:
        if found := _BULLET.match(text):
            box = found["box"]
            item = Item(number, len(found[1]), "", [(number, found["text"])], None if box is None else box not in " /-")
            if (inner := _NAMED.match(found["text"])) is not None:
                item.label, item.lines = inner["label"], [(number, inner["text"])]
            elif (inner := _CLOCK.match(found["text"])) is not None:
                item.dated, item.lines = True, [(number, inner["text"] or inner["dated"])]
            return item
        if found := _NAMED.match(text):
            return Item(number, len(found[1]), found["label"], [(number, found["text"])])
        if found := _CLOCK.match(text):
            said = found["text"] or found["dated"]
            return Item(number, len(found[1] or found[3] or ""), "", [(number, _WHO.sub("", said))], dated=True)
        if found := _NUMBER.match(text):
            inside = found["text"] or found["more"]
            box = found["box"]
            return Item(
                number,
                len(found[1] or found[5] or ""),
                found["label"] or found["hash"],
                [(number, inside)],
                None if box is None else box not in " /-",
            )
        return None

    def _placed(self, item: Item) -> Item | None:
        """The item below the one that it is indented under, or as one of its own."""
        while self.open and self.open[-1].indent >= item.indent:
            self.open.pop()
        if self.open:
            self.open[-1].children.append(item)
            self.open.append(item)
            return None
        self.open = [item]
        return item

    def _owner(self, text: str) -> Item:
        """Whose words a line is that stands below items: by how far it is indented."""
        indent = len(text) - len(text.lstrip())
        return next((item for item in reversed(self.open) if item.indent < indent), self.open[-1])

    # -- tables ------------------------------------------------------------------------------------------------

    def _table(self) -> Table | None:
        text = self.lines[self.at]
        below = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
        if text.lstrip().startswith("|") or (text.count("|") > 1 and _DIVIDER.match(below) and "|" in below + text):
            return self._ruled()
        if not self.open and (rows := self._columns()):
            self.at += len(rows)
            return Table([(n, cells) for n, cells in rows if cells])
        return None

    def _ruled(self) -> Table | None:
        rows = []
        while self.at < len(self.lines) and "|" in self.lines[self.at]:
            text = self.lines[self.at]
            if not _DIVIDER.match(text):
                rows.append((self.at + 1, cells(text)))
            self.at += 1
        return Table(rows)

    def _columns(self) -> list[tuple[int, list[str]]]:
        """Rows whose columns are told by tabs, gaps, commas or semicolons, all as long as the header or nearly."""
        for split in (_exported("\t"), _by_gaps, _exported(","), _exported(";")):
            head = split(self.lines[self.at])
            if len(head) < 3 or any(len(cell) > 30 or not cell or re.match(r"[-:]|\w+=", cell) for cell in head):
                continue
            rows = [(self.at + 1, head)]
            for number, text in enumerate(self.lines[self.at + 1 :], self.at + 2):
                if _DIVIDER.match(text) or re.fullmatch(r"[\s=-]+", text or "x"):
                    rows.append((number, []))
                    continue
                row = split(text) if text.strip() else []
                if len(row) < max(2, len(head) - 2):
                    break
                row = [*row[: len(head) - 1], " ".join(row[len(head) - 1 :])]
                rows.append((number, row + [""] * (len(head) - len(row))))
            if len([row for _, row in rows if row]) > 2:
                return rows
        return []


def _exported(separator: str) -> Callable[[str], list[str]]:
    """How a spreadsheet writes the cells of a row: empty ones stay, and quotes hold separators."""

    def split(text: str) -> list[str]:
        return [cell.strip() for cell in next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])]

    return split


def _by_gaps(text: str) -> list[str]:
    return _GAP.split(text.strip())


def cells(text: str) -> list[str]:
    """The cells of a row between bars. A bar behind a backslash or inside of code stands for itself."""
    text = text.strip().replace("||", "|") if text.lstrip().startswith("||") else text.strip()
    found = re.findall(
        r"((?:\\.|`[^`]*`|[^|\\`]|[\\`])*)(?:\||$)",
        text.removeprefix("|").removesuffix("|") if not text.endswith("\\|") else text.removeprefix("|"),
    )
    parts = found[:-1] if len(found) > 1 and not found[-1] else found
    return [re.sub(r"\\([|\\`*_<>#\[\]])", r"\1", part).strip() for part in parts]
