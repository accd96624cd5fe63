"""Tables of trials: which column says what was changed, and which what became of it.

Headers say it where they can, and cells where headers do not. Without a column of outcomes it is no table of trials.
A column may also be a factor, with a level in every row: then a row's changes are its differences from the baseline's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ruleout.model import ABSENT, PRESENT
from ruleout.reading.notes.changes import changes_in
from ruleout.reading.notes.claims import Claim, base_of, has_outcome
from ruleout.reading.notes.found import Found
from ruleout.reading.notes.layout import Table
from ruleout.reading.notes.sentences import is_supposed
from ruleout.reading.notes.values import is_level

_RESULT = re.compile(
    r"\b(?:results?|outcome|verdict|status|what happen\w*|observ\w*|behaviou?r|effect|works?|ok|pass\w*|crash\w*"
    r"|fail\w*|symptom|hangs?|nans?|reproduc\w*|garbage|broken|ergebnis|good|clean|stable|happened|response)\b\??",
    re.I,
)
_CHANGE = re.compile(
    r"\b(?:flags?|chang\w*|config\w*|settings?|args?|arguments?|options?|varia\w+|delta|diff|command|cmd|what|tried"
    r"|experiment|knobs?|modifi\w+|parameters?|env\w*|setup|extra\w*|with|vs\.? base\w*|try)\b",
    re.I,
)
_LABEL = re.compile(r"^(?:#|no\.?|nr\.?|n|id|idx|trial|run|test|attempt|exp\w*|case|step|try|t|)\W*\d*$", re.I)
_MINUTES = re.compile(r"^(?:t|time|min\w*|duration|took|wall\w*|elapsed)\b", re.I)
_ASIDE = re.compile(
    r"^(?:note\w*|remark\w*|comment\w*|details?|why.*|who|owner|user|date|day|when|host|node|machine"
    r"|logs?|log ?file|stage|where|link|ticket|by|tok/s"
    r"|tput|throughput|perf\w*|speed|latency|ttft.*|mem\w*)$",
    re.I,
)
_ERROR = re.compile(r"^(?:error|message|exception|failure|symptom|details?)\b", re.I)
_BADNESS = re.compile(r"^(?:crash\w*|fail\w*|hangs?|nans?|bug|broken|reproduc\w*|repro|garbage|oom|bad)\b", re.I)
_GOODNESS = re.compile(r"^(?:ok|pass\w*|good|clean|works?|success\w*)\b", re.I)
_MANUAL = re.compile(r"^(?:meaning|descri\w*|defaults?|purpose|help|explanation)$", re.I)
"""A header of what a manual says of flags."""
_RUNS = re.compile(r"^(?:#\s*)?(?:no\.? of |number of )?(?:runs|tries|attempts|starts|total)$", re.I)
_WHEN = re.compile(r"\b(?:crash\w*|fail\w*|hangs?|died?|nans?|oom\w*)\W+(?:after|at|in)\b", re.I)
"""A header whose cells say when it failed."""
_YES = re.compile(r"^(?:(?:y|yes|x|true|1)\b|[✓✔✅]|:\w+check\w*:)", re.I)
_NO = re.compile(r"^(?:(?:n|no|false|0)\b|[-–—✗❌]|:x:)\W*$", re.I)
_SAME_CELL = re.compile(r"^(?:\"|''|〃|same|ditto|=|\^|)$", re.I)
_OFF_CELL = re.compile(r"^(?:-|–|—|no|n|off|absent|unset|not set|none|✗|❌|n/a|false)$", re.I)
_ON_CELL = re.compile(r"^(?:x|yes|y|on|present|set|✓|✔|✅|true)$", re.I)
_NAME = re.compile(r"^`?(?:--?[\w-]+|[A-Z][A-Z0-9_]+|[a-z][\w./-]*(?: [\w./-]+){0,2}|[A-Z][\w-]*(?: [\w-]+){0,2})`?$")
_EXCEPTION = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(h|hours?|m|min\w*|s|sec\w*)?(?![\w.])")


def claims_in(table: Table) -> list[Claim] | None:
    """The claims of a table, one a row; None for a table of something else."""
    table = _upright(table)
    header, rows = table.rows[0][1] if table.rows else [], table.rows[1:]
    width = len(header)
    rows = [(line, [*row, *[""] * (width - len(row))][:width]) for line, row in rows if any(row)]
    if width < 2 or not rows:
        return None
    heads = [re.sub(r"[*`]", "", head).strip() for head in header]
    rows = _counted(heads, rows)
    columns = [[row[i] for _, row in rows] for i in range(width)]
    result = _result_column(heads, columns)
    if result is None:
        return None
    changed = [i for i in range(width) if i != result and _tells_changes(heads[i], columns[i])]
    factors = [
        i
        for i in range(width)
        if i not in (result, *changed) and _is_factor(header[i], heads[i], columns[i], bool(changed))
    ]
    if not changed and not factors:
        return None
    label = next((i for i in range(width) if i not in (result, *changed, *factors) and _LABEL.match(heads[i])), None)
    errors = [i for i in range(width) if i not in (result, *changed, *factors) and _ERROR.match(heads[i])]
    asides = [i for i in range(width) if i not in (result, *changed, *factors, *errors) and _ASIDE.match(heads[i])]
    minutes = next(
        (i for i in range(width) if _MINUTES.match(heads[i]) and i not in (result, *changed, *factors)), None
    )
    known = {result, *changed, *factors, *errors, *asides, label, minutes}
    unread = [i for i in range(width) if i not in known]
    empty = [row for _, row in rows if not any(row[i].strip(" -–—") for i in changed)]
    return [
        Claim(
            line,
            " | ".join(cell for cell in row if cell),
            _told_result(heads[result], row[result], [row[i] for i in errors], [row[i] for i in asides]),
            Found()
            if row in empty and not factors and any(row[i] != empty[0][i] for i in unread)
            else _found([row[i] for i in changed]),
            label=row[label].strip(" #*`.") if label is not None else "",
            base=next((base for i in changed if (base := base_of(row[i]))), ""),
            told={_factor(header[i]): row[i].strip("` *") for i in factors},
            minutes=_minutes(row[minutes], heads[minutes]) if minutes is not None else 0.0,
        )
        for line, row in rows
    ]


def against(baseline: dict[str, str], row: dict[str, str]) -> dict[str, str]:
    """The levels in which a row departs from the baseline's, where each has a cell for every factor."""
    changed = {}
    for name, cell in row.items():
        before = baseline.get(name, "")
        if _SAME_CELL.match(cell) or cell == before:
            continue
        level = cell
        if name.startswith("-") and _ON_CELL.match(cell):
            level = PRESENT
        elif _OFF_CELL.match(cell) and (name.startswith("-") or not re.match(r"(?:no|off|none|false)$", cell, re.I)):
            level = ABSENT if name.startswith("-") else "default"
        if not (_OFF_CELL.match(cell) and (not before or _OFF_CELL.match(before))):
            changed[name] = level
    return changed


def _upright(table: Table) -> Table:
    """The table with a trial in each row: where each column is one, the row of outcomes tells which."""
    header, rows = table.rows[0][1] if table.rows else [], table.rows[1:]
    if any(_RESULT.search(head) for head in header):
        return table
    last = next(
        ((line, row) for line, row in rows if row and _RESULT.fullmatch(re.sub(r"[*`]", "", row[0]).strip())), None
    )
    if last is None or sum(has_outcome(cell) for cell in last[1][1:]) < 0.5 * (len(last[1]) - 1):
        return table
    width = len(header)
    columns = [[header[i], *((row + [""] * width)[i] for _, row in rows)] for i in range(width)]
    return Table([(last[0], column) for column in columns])


def _counted(heads: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Rows in which a count of failures, or of passes, beside one of runs is put in words: `crash 4 of 5`."""
    every = next((i for i, head in enumerate(heads) if _RUNS.match(head)), None)
    if every is None:
        return list(rows)
    words = ["crash" if _BADNESS.match(head) else "ok" if _GOODNESS.match(head) else "" for head in heads]
    return [
        (
            line,
            [
                f"{word} {cell} of {row[every]}" if word and cell.isdecimal() and row[every].isdecimal() else cell
                for word, cell in zip(words, row, strict=True)
            ],
        )
        for line, row in rows
    ]


def _result_column(heads: Sequence[str], columns: Sequence[Sequence[str]]) -> int | None:
    """The column of outcomes: named as one, with cells that say one; where none is named, the one that says most."""
    share = [sum(_says(heads[i], cell) for cell in column) / len(column) for i, column in enumerate(columns)]
    named = [i for i, head in enumerate(heads) if _RESULT.search(head) and share[i] >= 0.3]
    if named:
        first = [i for i in named if re.search(r"result|outcome|verdict|status|happen", heads[i], re.I)]
        return (first or named)[0]
    if any(_MANUAL.match(head) for head in heads):
        return None
    others = [
        i
        for i in range(len(heads))
        if share[i] >= 0.5 and not _tells_changes(heads[i], columns[i]) and not _ASIDE.match(heads[i])
    ]
    return max(others, key=lambda i: share[i], default=None)


def _says(head: str, cell: str) -> bool:
    if has_outcome(cell[: 60 if _RESULT.search(head) else 30]) or (_WHEN.search(head) and re.match(r"\d", cell)):
        return True
    return bool(_RESULT.search(head)) and bool(_YES.match(cell) or _NO.match(cell))


def _tells_changes(head: str, cells: Sequence[str]) -> bool:
    if _ASIDE.match(head) or _MINUTES.match(head):
        return False
    found = [changes_in(cell) for cell in cells]
    sure = sum(bool(one.changes or one.commands) for one in found)
    base = sum(one.baseline >= 0 for one in found)
    if _CHANGE.search(head):
        return sure + base > 0
    return sure > 0 and sure + base >= 0.5 * len(cells) and not _RESULT.search(head)


def _is_factor(header: str, head: str, cells: Sequence[str], changed: bool) -> bool:
    """Whether a column has a level in each row. Where another column tells changes, it takes a flag's or a
    variable's name, or cells that are levels and nothing else."""
    if (
        _LABEL.match(head)
        or _ASIDE.match(head)
        or _MINUTES.match(head)
        or _ERROR.match(head)
        or not _NAME.match(header.strip(" *"))
    ):
        return False
    if changed and not re.match(r"--|[A-Z][A-Z0-9]*_[A-Z0-9_]+$|[a-z]+_[a-z_]+$", head):
        return _are_levels(cells)
    return all(len(cell) <= 40 and len(cell.split()) <= 3 for cell in cells)


def _are_levels(cells: Sequence[str]) -> bool:
    """Whether cells are a few values that come again: `on`, `triton`, `fp8_e4m3`; no measure, date or person."""
    told = [cell.strip("` *") for cell in cells if cell.strip("` *")]
    return len(set(told)) < len(told) and all(is_level(cell) for cell in told)


def _factor(header: str) -> str:
    name = header.strip("` *")
    return name if name.startswith("-") or (name.isupper() and "_" in name) else re.sub(r"[ -]+", "_", name.lower())


def _found(cells: Sequence[str]) -> Found:
    """What the cells of changes say together."""
    told = [changes_in(cell) for cell in cells]
    changes = tuple(change for one in told for change in one.changes)
    commands = tuple(command for one in told for command in one.commands)
    nothing = not changes and not commands and (not cells or any(one.baseline >= 0 for one in told))
    empty = bool(cells) and not any(cell.strip(" -–—") for cell in cells)
    return Found(changes, commands, 0 if nothing or empty else -1, 0)


def _told_result(head: str, cell: str, errors: Sequence[str], asides: Sequence[str]) -> str:
    """The outcome of a row in words, where its header is half of it (`crash?` yes), and the error that it names."""
    if re.fullmatch(r"n/?a|\?*", cell, re.I):
        cell = next((aside for aside in asides if has_outcome(aside) and not is_supposed(aside)), cell)
    if not has_outcome(cell):
        if _WHEN.search(head) and re.match(r"\d", cell):
            cell = f"crash after {cell}"
        elif _YES.match(cell):
            cell = f"{'crash' if _BADNESS.match(head) else 'ok'} {cell}"
        elif _NO.match(cell):
            cell = f"{'ok' if _BADNESS.match(head) else 'fail'} {cell}"
    elif _BADNESS.match(head) and (_YES.match(cell) or _NO.match(cell)):
        cell = f"{'crash' if _YES.match(cell) else 'ok'}: {cell}"
    named = (f"`{aside}`" for aside in asides if _EXCEPTION.search(aside))
    return " ".join([cell, *(error for error in errors if error.strip(" -")), *named])


def _minutes(cell: str, head: str) -> float:
    found = _DURATION.search(cell)
    if found is None:
        return 0.0
    unit = (found[2] or ("s" if re.search(r"\bs(?:ec)?\b", head) else "m"))[0].lower()
    return round(float(found[1]) * {"h": 60.0, "m": 1.0, "s": 1 / 60}[unit], 4)
