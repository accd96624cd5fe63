"""The tree of notes: which lines are one text, and what stands under what."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ruleout.reading.notes import terms
from ruleout.reading.notes.grids import Grid
from ruleout.reading.notes.text import Text

_RECORD = re.compile(r"(?P<indent>\s*)(?:[-*]\s+)?(?P<key>[A-Za-z][\w /.]{0,24}?)\s*:\s+(?P<value>\S.*)$")
FULL = 60
"""Shorter lines are not wrapped ones."""


DEEPEST = 40


_BEGINS = re.compile(r"`?(?:--?[A-Za-z][\w-]+|[A-Z][A-Z0-9]*_[A-Z0-9_]+=)")


_COLUMNS = re.compile(r"\S {3,}\S")


_LEADS = re.compile(
    r"(?i)(?:\b(?:with|and|or|of|on|to|the|a|add\w*|set\w*|without|nor|neither|also|by|from|at|plus|use"
    r"|using|for|than|i ran|ran|tried|had|was|put|took|by setting|args|arguments|flags)|[,(=+/])\s*$"
)


@dataclass(slots=True)
class Node:
    """A part of notes: `texts` are its own lines as they were meant, `kids` what stands under it."""

    kind: str
    texts: list[Text] = field(default_factory=list)
    depth: int = 0
    kids: list[Node] = field(default_factory=list)
    box: str | None = None
    label: str = ""
    who: str = ""
    grid: Grid | None = None

    @property
    def line(self) -> int:
        return self.texts[0].line() if self.texts else 0

    @property
    def text(self) -> Text:
        return Text.joined(self.texts)


def wrapped(lines: Sequence[Text]) -> list[Text]:
    """Lines as they were meant: one goes on in the next where that one's first word had no room on it."""
    if not lines:
        return []
    width = max(len(line.text) for line in lines)
    groups: list[list[Text]] = [[lines[0]]]
    for before, line in pairwise(lines):
        first = line.text.split(maxsplit=1)[0] if line.text else ""
        room = len(before.text) + 1 + len(first) <= width
        if (
            (
                terms.PROGRAM.search(before.text)
                or terms.PROGRAM.search(line.text)
                or line.text[:2] in ("# ", "$ ")
                or terms.OTHER_PROGRAM.match(before.text)
            )
            or (
                (_RECORD.match(line.text) and _RECORD.match(before.text))
                or (_BEGINS.match(line.text) and not _LEADS.search(before.text))
                or (_COLUMNS.search(line.text) and _COLUMNS.search(before.text))
            )
            or (
                room
                and not _LEADS.search(before.text)
                and not (before.text[-1:].isalnum() and first[:1].islower() and len(before.text) > FULL)
            )
            or len(before.text) < FULL
        ):
            groups.append([line])
        else:
            groups[-1].append(line)
    return [Text.joined(group) for group in groups]


def indented(lines: Sequence[Text], indents: Sequence[int]) -> list[Text]:
    """Lines of a message: one that is indented further goes on the one before."""
    groups: list[list[Text]] = []
    for line, indent in zip(lines, indents, strict=True):
        if groups and indent > indents[0] and not _BEGINS.match(line.text):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [Text.joined(group) for group in groups]


def nested(nodes: Sequence[Node]) -> Node:
    """The nodes as a tree: by the depth of headings, the indentation of items, and titles before lists."""
    root = Node("root", depth=-1)
    stack: list[tuple[float, Node]] = [(-1.0, root)]
    for n, node in enumerate(nodes):
        rank: float
        following = next((m for m in nodes[n + 1 :] if m.kind != "gap"), None)
        gap = n + 1 < len(nodes) and nodes[n + 1].kind == "gap"
        if node.kind == "section":
            rank = float(node.depth)
        elif node.kind == "para" and is_lead(node, following, gap):
            node.kind, rank = "section", 8.0
        elif node.kind == "item":
            rank = 10.0 + min(node.depth, DEEPEST)
        else:
            rank = 100.0
        if node.kind == "gap":
            continue
        if rank == 100.0:
            inside = stack[-1][1].kind == "item" and (
                node.depth > stack[-1][1].depth + 1
                or (node.kind in ("code", "grid") and node.depth > stack[-1][1].depth)
            )
            while stack[-1][0] >= 8.0 and not inside and not (stack[-1][0] == 8.0 and node.kind in ("code", "grid")):
                if stack[-1][0] == 8.0 and node.kind != "para":
                    break
                if stack[-1][0] == 8.0 and not stack[-1][1].kids:
                    break
                stack.pop()
                inside = stack[-1][1].kind == "item" and node.depth > stack[-1][1].depth + 1
            stack[-1][1].kids.append(node)
            continue
        while stack[-1][0] >= rank:
            stack.pop()
        stack[-1][1].kids.append(node)
        stack.append((rank, node))
    return root


def is_lead(node: Node, following: Node | None, gap: bool) -> bool:
    """Whether a paragraph is the title of what follows it: short, of one line, before a list or with a colon."""
    if following is None or len(node.texts) != 1 or following.kind not in ("item", "grid", "para", "message"):
        return False
    text = node.texts[0].text
    if terms.PROGRAM.search(text) or len(text) > 110 or _RECORD.match(text):
        return False
    if following.kind in ("para", "message"):
        return text.endswith(":") and not gap and len(text) < 70 and len(text.split()) <= 8
    if text.endswith((":", ":*", ":_")):
        return True
    return len(text) < 60 and not re.search(r"[.!?]\s", text) and not gap and not text.endswith((".", "!"))
