"""An audit on one screen: the conclusion first, then each finding with its evidence and what to do, the worst first.

24 rows of 80 columns are enough for any model: what has no room is counted and left to --json.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from ruleout.interfaces.cli.diagnosis import printable
from ruleout.interfaces.cli.output import answer_console
from ruleout.interfaces.cli.rows import cut, number, wrapped
from ruleout.model.audit import Audit, AuditFinding, Departure, RopeOutcome, RopeReading, Severity

SCREEN = 23
"""Rows on a terminal of 80 columns, one left for the prompt."""
LEAST = 40
_INDENT = "     "
_LABEL = 9
_SIGNS = {Severity.ERROR: ("✗", "red"), Severity.WARNING: ("!", "yellow"), Severity.NOTE: ("·", "dim")}
Row = tuple[str, str]
"""Text, style."""


def tell_audit(audit: Audit) -> None:
    """Print the answer on stdout."""
    console = answer_console()
    for text, style in screen(audit, console.width):
        console.print(Text(printable(text, console.encoding), style), soft_wrap=True)


def screen(audit: Audit, width: int) -> Iterator[Row]:
    """The rows of the answer, none of them wider than `width` (at least 40) columns."""
    width = max(LEAST, width)
    head = [(_whole(_head(audit), width), "bold"), (_whole(_conclusion(audit), width), _style(audit))]
    tail = [(row, "") for label, text in _tail(audit) for row in _labelled(label, text, width)]
    room = SCREEN - len(head) - len(tail) - 2
    yield from head
    yield from _findings(audit.findings, width, room)
    yield from tail


def _head(audit: Audit) -> str:
    model = audit.model
    name = model.path.rstrip("/").rpartition("/")[2] or model.path
    parts = [f"{name} ({model.model_type})" if model.model_type else name, model.quantization or ""]
    if model.parameters:
        size, unit = (1e9, "B") if model.parameters >= 1e8 else (1e6, "M")
        parts.append(f"{model.parameters / size:.3g} {unit} parameters")
    return " · ".join(part for part in parts if part)


def _conclusion(audit: Audit) -> str:
    counts = {severity: sum(f.severity is severity for f in audit.findings) for severity in Severity}
    errors, warnings, notes = (counts[severity] for severity in Severity)
    others = [_counted(count, word) for count, word in ((warnings, "warning"), (notes, "note")) if count]
    besides = f" ({', '.join(others)})" if others else ""
    if errors:
        return f"✗ {_counted(errors, 'error')}: it will fail, or its answers will be wrong{besides}"
    if warnings:
        return f"! Nothing is sure to fail{besides}"
    return f"✓ Nothing found that would fail{besides}"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def _style(audit: Audit) -> str:
    return "red" if audit.failed else "green"


def _findings(findings: Sequence[AuditFinding], width: int, room: int) -> Iterator[Row]:
    """As many as fit, each whole: all of the worst come before any other."""
    left = len(findings)
    for finding in findings:
        rows = list(_finding(finding, width))
        if len(rows) + (left > 1) > room:
            break
        yield from rows
        room, left = room - len(rows), left - 1
    if left:
        yield cut(f"  and {left} more: --json", width), "dim"


def _finding(finding: AuditFinding, width: int) -> Iterator[Row]:
    sign, style = _SIGNS[finding.severity]
    yield _whole(f"  {sign}  {finding.id}   {finding.where}", width), style
    most = 2 if finding.severity is Severity.NOTE else 3
    yield from ((f"{_INDENT}{row}", "") for row in _rows(finding.what, width - len(_INDENT), 0, most))
    if finding.remedy and finding.severity is not Severity.NOTE:
        yield from ((f"{_INDENT}{row}", "dim") for row in _rows(f"→ {finding.remedy}", width - len(_INDENT), 2, 2))


def _labelled(label: str, text: str, width: int) -> Iterator[str]:
    for at, row in enumerate(_rows(text, width - _LABEL, 0, 3)):
        yield f"{'' if at else label:<{_LABEL}}{row}"


def _tail(audit: Audit) -> Iterator[tuple[str, str]]:
    need = audit.memory
    if need is not None:
        besides = need.assumed.get("loading_takes_gib") or 0.0
        parts = [f"{_gib(need.weights_gib_per_rank - besides)} of weights a rank"]
        parts += [f"{_gib(besides)} more for loading them"] if besides >= 0.05 else []
        parts.append(f"{number(need.kv_bytes_per_token)} B a token")
        parts += [f"{_tokens(need.kv_tokens, need.kv_tokens_between)} fit"] if need.kv_tokens is not None else []
        yield "Memory", ", ".join(parts)
    if audit.rope:
        yield "RoPE", _by_outcome(audit.rope)
    if audit.against:
        yield "Changed", _by_outcome(audit.against)


def _tokens(found: int, between: tuple[int, int] | None) -> str:
    """How many, and between which numbers where what is measured makes more than a tenth of a difference."""
    low, high = between or (found, found)
    wide = high - found > 0.1 * found or found - low > 0.1 * found
    return f"about {number(found)} tokens ({number(low)} to {number(high)})" if wide else f"{number(found)} tokens"


def _gib(size: float) -> str:
    return f"{size:.1f} GiB" if size >= 0.1 else "less than 0.1 GiB"


def _rows(text: str, width: int, indent: int, most: int) -> list[str]:
    """At most so many rows; where it goes on, the mark stands after a whole word."""
    lines = wrapped(text, width, indent, len(text) + 1)
    return lines if len(lines) <= most else [*lines[: most - 1], _whole(f"{lines[most - 1]} {lines[most]}", width)]


def _whole(text: str, width: int) -> str:
    """The text in one row, cut after a word, or within one that is as long as half of the row."""
    if len(text) <= width:
        return text
    at = text.rfind(" ", 0, width - 1)
    return f"{text[:at].rstrip()} …" if at > width // 2 else cut(text, width)


def _by_outcome(told: Mapping[str, RopeReading] | Mapping[str, Departure]) -> str:
    by: dict[RopeOutcome, list[str]] = {}
    for name, one in told.items():
        by.setdefault(one.outcome, []).append(name.replace("transformers-", ""))
    return "; ".join(f"{outcome}: {', '.join(names)}" for outcome, names in by.items())
