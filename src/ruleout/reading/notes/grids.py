"""Tables, however they are drawn: in pipes, by a spreadsheet, in HTML, or by blanks between columns."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ruleout.reading.notes.text import Text, cleaned

_RULE = re.compile(r"[\s|:+\-=]+$")
_BORDER = re.compile(r"\s*\+?[-=]{2,}(?:\+[-=]{2,})+\+?\s*")
_PIPES = re.compile(r"(?<!\\)\|")
_GAP = re.compile(r"\t| {2,}")
_TAGS = re.compile(r"(?i)<(/?)(table|tr|td|th)\b([^>]*)>")
_SETTING = re.compile(r"(?:^|[\s`|])--?[a-zA-Z]{2}|[A-Z_]{4,}=|^-[a-z]|\b\d+\.\d+\.\d+")
_LISTED = re.compile(r"\s*(?:[-*•]|\d+[.)]|[a-z]\))\s")
MOST_COLUMNS = 60


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row, and its line."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: the heads of its columns (none if it has none) and its rows."""

    heads: tuple[str, ...]
    rows: tuple[Row, ...]


def grid_at(lines: Sequence[str], at: int, end: int) -> tuple[Grid, int, list[Text]] | None:
    """The table that begins at a line, the index after it, and lines of it that stand before its heads."""
    line = lines[at]
    if "<table" in line.lower():
        return _html(lines, at, end)
    if "|" in line or _BORDER.fullmatch(line):
        return _piped(lines, at, end)
    first = (
        at == 0
        or not lines[at - 1].strip()
        or lines[at - 1].rstrip().endswith((":", "```"))
        or lines[at - 1][0] in "#*=-h"
    )
    return _separated(lines, at, end) or (_columns(lines, at, end) if first else None)


def _made(rows: list[Row], at: int) -> tuple[Grid, list[Text]]:
    """The rows with the heads told from what stands before them."""
    before: list[Text] = []
    head: tuple[str, ...] = ()
    width = max(len(row.cells) for row in rows)
    for n, row in enumerate(rows[:12]):
        filled = [cell for cell in row.cells if cell]
        if any(_SETTING.search(cell) for cell in filled) and not all(_SETTING.search(c) or len(c) < 20 for c in filled):
            break
        if len(filled) >= max(2, width - 2) or (len(filled) >= 2 and n == 0 and width <= 3):
            head = row.cells
            before = [Text.of(" ".join(c for c in r.cells if c), r.line) for r in rows[:n]]
            rows = rows[n + 1 :]
            break
    else:
        n = 0
    head = (*head, *[""] * (width - len(head))) if head else ()
    if not head:
        lead = next((n for n, r in enumerate(rows) if len([c for c in r.cells if c]) > 2), 0)
        before = [Text.of(" ".join(c for c in r.cells if c), r.line) for r in rows[:lead]]
        rows = rows[lead:]
    full = [Row(row.line, (*row.cells, *[""] * (width - len(row.cells)))) for row in rows]
    return Grid(head, tuple(full)), before


def _piped(lines: Sequence[str], at: int, end: int) -> tuple[Grid, int, list[Text]] | None:
    stop = at
    rows: list[Row] = []
    ruled = bordered = False
    while stop < end and ("|" in lines[stop] or _BORDER.fullmatch(lines[stop])):
        line = cleaned(lines[stop]).strip()
        if _RULE.fullmatch(line):
            bordered = bordered or (ruled and line.startswith("+") and len(rows) > 1)
            ruled = True
        else:
            bare = re.sub(r"^\|\|?|\|\|?$", "", line)
            cells = re.split(r"\|\|", bare) if line.startswith("||") else _PIPES.split(bare)
            told = tuple(c.strip().replace("\\|", "|") for c in cells[:MOST_COLUMNS])
            if bordered and not told[0] and not _BORDER.fullmatch(lines[stop - 1]) and len(told) == len(rows[-1].cells):
                pairs = zip(rows[-1].cells, told, strict=True)
                rows[-1] = Row(rows[-1].line, tuple(f"{a} {b}".strip() for a, b in pairs))
            else:
                rows.append(Row(stop + 1, told))
        stop += 1
    drawn = ruled or lines[at].lstrip().startswith("|")
    if len(rows) < 2 or not drawn or max(len(r.cells) for r in rows) < 2:
        return None
    width = max(len(r.cells) for r in rows)
    head = (*rows[0].cells, *[""] * (width - len(rows[0].cells)))
    body = tuple(Row(r.line, (*r.cells, *[""] * (width - len(r.cells)))) for r in rows[1:])
    return Grid(head, body), stop, []


def _separated(lines: Sequence[str], at: int, end: int) -> tuple[Grid, int, list[Text]] | None:
    for mark, fewest in (("\t", 2), (";", 3), (",", 4)):
        first = next(csv.reader([lines[at]], delimiter=mark), [])
        if len(first) < fewest or len(first) > MOST_COLUMNS or _LISTED.match(lines[at]):
            continue
        rows: list[Row] = []
        stop = at
        while stop < end and stop - at < 5000:
            cells = next(csv.reader([lines[stop]], delimiter=mark), []) if lines[stop].strip() else []
            if len(cells) != len(first) and not (mark == "\t" and cells and 1 < len(cells) <= len(first) + 1):
                break
            rows.append(Row(stop + 1, tuple(cleaned(c).strip() for c in cells)))
            stop += 1
        if len(rows) < 3 or (
            mark == "," and sum(" " in c and len(c) > 40 for r in rows for c in r.cells) > 2 * len(rows)
        ):
            continue
        grid, before = _made(rows, at)
        return (grid, stop, before) if grid.rows else None
    return None


def _columns(lines: Sequence[str], at: int, end: int) -> tuple[Grid, int, list[Text]] | None:
    """Columns drawn by blanks: where the heads begin, the cells begin."""
    stop = at
    while stop < end and lines[stop].strip() and stop - at < 500:
        stop += 1
    block = [line.expandtabs(8).rstrip() for line in lines[at:stop]]
    if len(block) < 3 or _LISTED.match(block[0]):
        return None
    ruled = re.fullmatch(r"\s*[-=+]{2,}(?:[\s+|]+[-=+]{2,})+\s*", block[1]) is not None
    heads = block[0]
    if _SETTING.search(heads) or len(_GAP.split(heads.strip())) < 2 or re.search(r"[.:;]\s+\w", heads):
        return None
    starts = [m.start() for m in re.finditer(r"(?:(?<=  )|^)\S|(?<=^ )\S", heads)]
    body = [(n, line) for n, line in enumerate(block) if n > 0 and not re.fullmatch(r"[\s\-=+|]+", line)]
    parted = sum(len(_GAP.split(line.strip())) >= 2 for _, line in body)
    if (
        parted < 0.8 * len(body)
        or len(body) < 2
        or len(starts) < 2
        or (len(starts) < 3 and not ruled and parted < len(body))
    ):
        return None
    rows = []
    for n, line in body:
        cells = []
        edges = list(starts)
        for k, edge in enumerate(edges):
            while 0 < edge < len(line) and line[edge - 1] != " " and k:
                edge -= 1
            edges[k] = edge
        for begin, stop_at in zip(edges, [*edges[1:], None], strict=True):
            cells.append(cleaned(line[begin:stop_at]).strip())
        if edges[0] and line[: edges[0]].strip():
            cells[0] = (line[: edges[0]] + line[edges[0] : edges[1]]).strip()
        rows.append(Row(at + n + 1, tuple(cells)))
    names = tuple(heads[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True))
    if any(cell and cell == name for row in rows for cell, name in zip(row.cells, names, strict=True)):
        return None  # what looks like heads is a row
    return Grid(names, tuple(rows)), stop, []


def _html(lines: Sequence[str], at: int, end: int) -> tuple[Grid, int, list[Text]] | None:
    """A table in HTML; a cell over several rows stands in each."""
    rows: list[Row] = []
    spanned: dict[int, tuple[int, str]] = {}
    stop = at
    cells: list[str] = []
    head: tuple[str, ...] = ()
    cell: str | None = None
    span, row_line = 1, at + 1
    is_head = False

    def fill() -> None:
        while len(cells) in spanned and spanned[len(cells)][0] > 0:
            left, text = spanned[len(cells)]
            spanned[len(cells)] = (left - 1, text)
            cells.append(text)

    while stop < end:
        position = 0
        for tag in _TAGS.finditer(lines[stop]):
            if cell is not None:
                cell += lines[stop][position : tag.start()]
            position = tag.end()
            closes, name = bool(tag[1]), tag[2].lower()
            if name == "tr" and not closes:
                cells, row_line, is_head = [], stop + 1, False
            elif name in ("td", "th") and not closes:
                fill()
                over = re.search(r"(?i)rowspan=['\"]?(\d{1,2})", tag[3])
                cell, span, is_head = "", int(over[1]) if over else 1, is_head or name == "th"
            elif name in ("td", "th") and cell is not None:
                text = html.unescape(re.sub(r"<[^>]*>", "", cleaned(cell))).strip()
                if span > 1:
                    spanned[len(cells)] = (span - 1, text)
                cells.append(text)
                cell = None
            elif name == "tr" and cells:
                fill()
                if is_head and not head:
                    head = tuple(cells)
                else:
                    rows.append(Row(row_line, tuple(cells)))
            elif name == "table" and closes:
                width = max([len(head), *(len(r.cells) for r in rows)])
                full = tuple(Row(r.line, (*r.cells, *[""] * (width - len(r.cells)))) for r in rows)
                return Grid((*head, *[""] * (width - len(head))), full), stop + 1, []
        if cell is not None:
            cell += lines[stop][position:] + " "
        stop += 1
    return None
