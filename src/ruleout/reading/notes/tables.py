"""Tables of trials: what each column is for is told by its head and by what most of its cells are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ruleout.reading.notes import terms
from ruleout.reading.notes import words as w
from ruleout.reading.notes.changes import Found, changes_in
from ruleout.reading.notes.claims import BASELINE, Claim
from ruleout.reading.notes.commands import ABSENT, PRESENT
from ruleout.reading.notes.grids import Grid, Row
from ruleout.reading.notes.outcomes import CLEAN, OTHER, REPRODUCED, UNRESOLVED, Judged, Problem, answer, judge
from ruleout.reading.notes.relations import base_of, is_baseline
from ruleout.reading.notes.text import shown

_NOTHING = re.compile(r"[\s\-\u2013\u2014.()/`]*(?:n/?a)?[\s\-\u2013\u2014.()/`]*")
_DITTO = re.compile(r"(?i)\s*(?:\"|''|〃|ditto|dito|same|s\.o\.|↑)\s*")
_AS_ABOVE = re.compile(r"(?i)\s*(?:\"|''|〃|ditto|dito|↑)\s*")
_MARK = re.compile(r"(?i)\s*(?:x|✓|✔|✅|☑|yes|y|on|true|1|•|●)\s*")
_LEVEL = re.compile(r"[`'\"]?[\w.\-+:/{}=,\"]{1,40}[`'\"]?(?: dev)?")


@dataclass(slots=True)
class Columns:
    """Which columns are what."""

    outcome: int = -1
    changes: list[int] = field(default_factory=list)
    pair: tuple[int, int] | None = None
    levels: list[int] = field(default_factory=list)
    label: int = -1
    asides: list[int] = field(default_factory=list)
    counted: tuple[int, int] | None = None


def _head(grid: Grid, k: int) -> str:
    return grid.heads[k].strip() if k < len(grid.heads) else ""


def _column(grid: Grid, k: int) -> list[str]:
    return [row.cells[k] for row in grid.rows if k < len(row.cells)]


def _share(values: Sequence[object]) -> float:
    return sum(map(bool, values)) / max(1, len(values))


class Table:
    """Reads the trials of a table."""

    def __init__(self, grid: Grid, problem: Problem, known: Mapping[str, str]) -> None:
        self.grid, self.problem, self.known = self._upright(grid), problem, known
        self.columns = self._columns()

    def _upright(self, grid: Grid) -> Grid:
        """The table with a trial in each row."""
        firsts = [row.cells[0] for row in grid.rows if row.cells]
        named = [
            bool(changes_in(f"`{c}`" if "`" not in c else c)) or bool(re.fullmatch(r"[a-z]+_[a-z_]+", c.strip("`")))
            for c in firsts
        ]
        results = [n for n, c in enumerate(firsts) if terms.HEAD_OUTCOME.fullmatch(c.strip("* "))]
        runs = [
            h for h in grid.heads[1:] if re.match(r"(?i)\W*(?:run|try|attempt|test|exp\w*|#)?\W?\w{1,2}\W*$|base", h)
        ]
        if not results or not any(named) or not grid.heads or len(runs) < len(grid.heads) - 1:
            return grid
        line = grid.rows[results[0]].line
        rows = tuple(
            Row(line, (grid.heads[k], *(row.cells[k] for row in grid.rows))) for k in range(1, len(grid.heads))
        )
        return Grid(("run", *firsts), rows)

    def _columns(self) -> Columns:
        grid, columns = self.grid, Columns()
        width = len(grid.rows[0].cells) if grid.rows else 0
        outcomes: list[tuple[float, int]] = []
        sets: list[float] = []
        for k in range(width):
            head, cells = _head(grid, k), [c for c in _column(grid, k) if c.strip()]
            settled = _share([changes_in(c, self.known) for c in cells]) if cells else 0.0
            judged = _share([answer(c, head, self.problem) for c in cells]) if cells else 0.0
            sets.append(settled)
            aside = bool(terms.HEAD_ASIDE.fullmatch(head))
            named = bool(terms.HEAD_OUTCOME.search(head)) or "?" in head or bool(w.SYMPTOMS and self._asks(head))
            about = _share([self._asks(c) for c in cells]) if cells else 0.0
            score = (
                judged
                + 0.5 * about
                + (0.7 if named else 0.0)
                - (0.6 if aside else 0.0)
                - (1.0 if settled > 0.3 else 0.0)
            )
            if judged and score >= 0.5 and not self._is_setting(head):
                outcomes.append((score, -k))
        if outcomes:
            columns.outcome = -max(outcomes)[1]
        for k in range(width):
            head = _head(grid, k)
            cells = [c for c in _column(grid, k) if c.strip()]
            if k == columns.outcome or not cells:
                continue
            bare = _share(
                [
                    re.fullmatch(
                        r"`?(?:--?[a-z][\w.\-]*|[A-Z][A-Z0-9]*_[A-Z0-9_]+|[a-z]+[\w.\-]*(?: [a-z]+){0,2})`?"
                        r"|[\s\-\u2013]+|\(\w+\)",
                        c.strip(),
                    )
                    for c in cells
                ]
            )
            following = _head(grid, k + 1)
            if (
                columns.pair is None
                and bare > 0.7
                and terms.HEAD_VALUE.fullmatch(following)
                and k + 1 < width
                and k + 1 != columns.outcome
            ):
                columns.pair = (k, k + 1)
        taken = {columns.outcome, *(columns.pair or ())}
        for k in range(width):
            head, cells = _head(grid, k), [c for c in _column(grid, k) if c.strip()]
            if k in taken or not cells:
                continue
            aside = bool(terms.HEAD_ASIDE.fullmatch(head))
            distinct = {c.strip("` ").lower() for c in cells}
            if (sets[k] >= 0.4 and not aside and (not self._is_setting(head) or re.fullmatch(r"[a-z_]+", head))) or (
                terms.HEAD_CHANGE.search(head) and sets[k] > 0 and not aside
            ):
                columns.changes.append(k)
            elif self._is_setting(head) or (
                not aside
                and not terms.HEAD_LABEL.fullmatch(head)
                and head
                and "?" not in head
                and not terms.HEAD_OUTCOME.search(head)
                and all(_LEVEL.fullmatch(c) or _NOTHING.fullmatch(c) for c in cells)
                and not (len(distinct) > 3 and all(re.fullmatch(r"\d+(?:[.,]\d+)?%?|[\s\-\u2013]*", c) for c in cells))
                and len(distinct) <= max(2, len(cells) * 0.67)
                and not (terms.HEAD_CHANGE.fullmatch(head) and all(c.isdigit() for c in cells))
            ):
                columns.levels.append(k)
            elif columns.label < 0 and (terms.HEAD_LABEL.fullmatch(head) or k == 0) and all(len(c) < 16 for c in cells):
                columns.label = k
            else:
                columns.asides.append(k)
        if columns.changes and columns.pair and columns.pair[0] not in columns.changes:
            columns.pair = None if all(not c.strip() for c in _column(grid, columns.pair[0])) else columns.pair
        runs = next(
            (k for k in range(width) if re.fullmatch(r"(?i)(?:runs|tries|n|starts|attempts)", _head(grid, k))), None
        )
        bad = columns.outcome
        if runs is not None and bad >= 0 and runs != bad and all(c.isdigit() for c in _column(grid, bad) if c.strip()):
            columns.counted = (runs, bad)
        return columns

    def _asks(self, head: str) -> bool:
        return any(pattern.search(head) for pattern in w.SYMPTOMS.values()) or bool(w.CRASH.search(head))

    def _is_setting(self, head: str) -> bool:
        bare = head.strip("` ")
        return (
            not terms.HEAD_ASIDE.fullmatch(bare)
            and bool(
                re.fullmatch(
                    r"-{1,2}[A-Za-z][\w.\-]*(?:[ =]\S+)?|[A-Z][A-Z0-9]*_[A-Z0-9_]+(?:=\S+)?|[a-z]+(?:_[a-z0-9]+)+", bare
                )
            )
        ) or bare in {n.lstrip("-") for n in self.known}

    def claims(self) -> list[Claim]:
        """The trials of the table; none for a table of something else."""
        columns = self.columns
        if columns.outcome < 0 or not (columns.changes or columns.pair or columns.levels):
            return []
        if any(terms.HEAD_DESCRIBES.fullmatch(head) for head in self.grid.heads):
            return []
        if not (columns.changes or columns.pair) and not self._varies():
            return []
        rows = [
            row
            for row in self._filled(self.grid.rows)
            if sum(bool(c.strip()) for c in row.cells) > 1 or row.cells[columns.outcome].strip()
        ]
        judged = {row.line: self._judged(row) for row in rows} if len({r.line for r in rows}) == len(rows) else {}
        ends = [judged.get(row.line) if judged else self._judged(row) for row in rows]
        base = self._base(rows, ends)
        claims: list[Claim] = []
        plain: Row | None = None
        above: dict[int, str] = {}
        for row, end in zip(rows, ends, strict=True):
            claim = self._claim(row, end, base, above)
            if claim.base == BASELINE and not claim.levels:
                if plain is not None and self._differs(row, plain):
                    continue
                plain = plain or row
            claims.append(claim)
        return self._named(claims, rows)

    def _varies(self) -> bool:
        return (
            any(len({c.strip() for c in _column(self.grid, k)}) > 1 for k in self.columns.levels)
            and len(self.grid.rows) > 1
        )

    def _differs(self, row: Row, other: Row) -> bool:
        for k in self.columns.asides:
            cells = _column(self.grid, k)
            if (
                row.cells[k] != other.cells[k]
                and cells.count(row.cells[k]) + cells.count(other.cells[k]) > 2
                and not terms.HEAD_ASIDE.fullmatch(_head(self.grid, k))
            ):
                return True
        return False

    def _base(self, rows: Sequence[Row], ends: Sequence[Judged | None]) -> Row | None:
        """The row of the baseline: told as such, or the first that has failed as the notes are about."""
        for row in rows:
            if any(
                re.search(r"(?i)\bbase(?:line)?\b|as deployed|\bprod\w*\b|delivered", row.cells[k])
                for k in (self.columns.label, *self.columns.asides)
                if k >= 0
            ):
                return row
        failed = [row for row, end in zip(rows, ends, strict=True) if end and end.kind is REPRODUCED]
        return failed[0] if failed else (rows[0] if rows else None)

    def _judged(self, row: Row) -> Judged | None:
        columns = self.columns
        cell, head = row.cells[columns.outcome], _head(self.grid, columns.outcome)
        notes = "; ".join(
            row.cells[k]
            for k in columns.asides
            if row.cells[k].strip() and not re.fullmatch(r"[\d\s.:hms\u2013-]+", row.cells[k])
        )
        if columns.counted:
            runs, bad = (row.cells[k].strip() for k in columns.counted)
            if runs.isdigit() and int(runs) > 0 and (bad.isdigit() or not bad) and int(bad or 0) <= int(runs):
                n, k = int(runs), int(bad or 0)
                return Judged(REPRODUCED, k, n - k) if k else Judged(CLEAN, n)
            cell = ""
        said = answer(cell, head, self.problem) if not _NOTHING.fullmatch(cell) else None
        extra = judge(notes, self.problem) if notes else None
        if re.fullmatch(r"\W*\?+\W*", cell):
            return extra if extra and extra.kind is None else Judged(UNRESOLVED)
        if _NOTHING.fullmatch(cell):
            also = [k for k in columns.asides if terms.HEAD_OUTCOME.search(_head(self.grid, k))]
            if said_too := next((j for k in also if (j := judge(row.cells[k], self.problem))), None):
                return said_too
            return extra if extra and (extra.kind in (None, OTHER, UNRESOLVED) or cell.strip()) else None
        if said is None and extra is not None:
            return extra
        if said and re.fullmatch(r"(?i)\W*(?:err(?:or)?|e)\W*", cell):
            others = {c.strip().lower() for c in _column(self.grid, columns.outcome)} - {cell.strip().lower()}
            if any(w.FAILS.search(c) or self._asks(c) for c in others):
                return Judged(OTHER)
        if (
            said
            and said.kind is REPRODUCED
            and extra
            and extra.kind is OTHER
            and re.fullmatch(r"(?i)\W*(?:fail\w*|crash\w*|❌|error)\W*", cell)
            and self.problem.kinds
        ):
            return Judged(OTHER) if w.REFUSED.search(notes) or w.STARTING.search(notes) else said
        return said

    def _merged(self, k: int) -> bool:
        """Whether an empty cell stands for the one above it: what is unchanged is told in so many words."""
        cells = [c.strip("*_ ") for c in _column(self.grid, k)]
        return (
            len(self.columns.changes) > 1
            and any("" not in map(str.strip, _column(self.grid, other)) for other in self.columns.changes)
            and any(re.fullmatch(r"(?i)default|none|baseline|unchanged|-", c) for c in cells)
            and "" in cells
        )

    def _spans(self) -> frozenset[int]:
        """Columns of levels whose empty cells stand for the one above: a level comes back after another by its name."""
        for k in reversed(self.columns.levels):
            cells = [c.strip("*_` ") for c in _column(self.grid, k)]
            told = [c for c in cells if c]
            if cells[0] and "" in cells and any(c != told[0] for c in told) and told[0] in told[2:]:
                return frozenset(j for j in self.columns.levels if j <= k)
        return frozenset()

    def _filled(self, rows: Sequence[Row]) -> list[Row]:
        """The rows with what merged cells hold, and with the outcome that a sign for "as above" means."""
        spans, columns = self._spans(), self.columns
        above: dict[int, str] = {}
        filled: list[Row] = []
        for row in rows:
            cells = list(row.cells)
            for k in spans | {columns.outcome}:
                empty = not cells[k].strip() if k in spans else _AS_ABOVE.fullmatch(cells[k])
                cells[k] = above.get(k, cells[k]) if empty else cells[k]
                above[k] = cells[k]
            filled.append(Row(row.line, tuple(cells)))
        return filled

    def _claim(self, row: Row, end: Judged | None, base: Row | None, above: dict[int, str]) -> Claim:
        columns = self.columns
        parts: list[str] = []
        for k in columns.changes:
            cell = row.cells[k]
            if _DITTO.fullmatch(cell) or (not cell.strip() and self._merged(k)):
                cell = above.get(k, "")
            above[k] = cell
            if re.search(r"(?i)\b(?:removed|without|dropped|taken (?:out|off)|minus|left out)\b", _head(self.grid, k)):
                cell = f"without {cell}" if changes_in(cell, self.known) else cell
            if cell.strip():
                parts.append(cell)
        if columns.pair:
            name, value = columns.pair
            named = row.cells[name].strip("` ") or (above.get(name, "") if row.cells[value].strip() else "")
            above[name] = named
            level = row.cells[value].strip("` ")
            if named and not _NOTHING.fullmatch(named):
                bare = (
                    _NOTHING.fullmatch(level)
                    or re.fullmatch(r"(?i)\W*(?:set|present|added|x)\W*", level)
                    or (named.startswith("--") and re.fullmatch(r"(?i)on|true|yes|enabled", level))
                )
                gone = (
                    re.fullmatch(r"(?i)\W*(?:removed|absent|off|unset|none)\W*", level)
                    and named.startswith("--")
                    and self.known.get(named) == PRESENT
                )
                named = named if re.fullmatch(r"\S+", named) else re.sub(r"\W+", "_", named.lower())
                parts.append(f"without `{named}`" if gone else f"`{named}`" if bare else f"`{named}={level}`")
        told = " + ".join(parts)
        found = changes_in(told, self.known) if told else Found()
        levels = self._levels(row, base)
        label = row.cells[columns.label].strip() if columns.label >= 0 else ""
        text = shown(" | ".join(c for c in row.cells if c.strip()))
        ref = base_of(told)
        if not found and not ref:
            unchanged = _NOTHING.fullmatch(told) is not None or all(is_baseline(part) for part in parts)
            if not unchanged and not levels:
                return Claim(row.line, text, found, None, label=label)
            ref = BASELINE if unchanged else ""
        return Claim(row.line, text, found, end, ref, label, levels)

    def _levels(self, row: Row, base: Row | None) -> dict[str, str]:
        levels: dict[str, str] = {}
        for k in self.columns.levels:
            head = _head(self.grid, k).strip("` ")
            cell, was = row.cells[k].strip("` "), (base.cells[k].strip("` ") if base else "")
            flag = re.fullmatch(r"(-{1,2}[A-Za-z][\w.\-]*|[A-Z][A-Z0-9_]*)(?:[ =](\S+))?", head)
            name, told = (
                (flag[1], flag[2]) if flag and (head.startswith("-") or "=" in head or "_" in head) else (head, None)
            )
            marks = {c.strip("` ") for c in _column(self.grid, k)}
            switch = all(
                not c or _MARK.fullmatch(c) or re.fullmatch(r"(?i)no?|off|false|0|[-\u2013\u2014✗✘❌]|none", c)
                for c in marks
            )
            if (
                switch
                and ((name.startswith("-") and (told or all(not re.fullmatch(r"[01]", c) for c in marks))) or told)
                and not any(c.lower() in ("on", "off", "true", "false") for c in marks)
            ):
                on, base_on = bool(_MARK.fullmatch(cell)), bool(_MARK.fullmatch(was))
                if on != base_on:
                    levels[name] = (told or PRESENT) if on else ABSENT
                continue
            if not cell or cell == was or _NOTHING.fullmatch(cell):
                continue
            if not re.fullmatch(r"-{0,2}\w[\w.\-]*", name):
                name = re.sub(r"\W+", "_", name.lower()).strip("_")
            levels[name] = cell
        return levels

    def _named(self, claims: list[Claim], rows: Sequence[Row]) -> list[Claim]:
        """Cells that the judge does not understand are what the baseline's cell is, where they are the same."""
        k = self.columns.outcome
        cells = {id(c): next((r.cells[k].strip().lower() for r in rows if r.line == c.line), "") for c in claims}
        failed = {cells[id(c)] for c in claims if c.judged and c.judged.kind is REPRODUCED}
        base = next((c for c in claims if c.base == BASELINE and not c.levels and not c.found), None)
        if base and base.judged is None and not failed and cells[id(base)]:
            failed.add(cells[id(base)])
        return [
            c.ended(Judged(REPRODUCED)) if c.judged is None and cells[id(c)] and cells[id(c)] in failed else c
            for c in claims
        ]
