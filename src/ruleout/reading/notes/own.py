"""FINDINGS.md as ruleout writes it: every trial back, with what was in effect; what says nothing of factors is named.

Its form is known to the letter, so nothing is guessed. A row that a person has changed is left out, with its line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from ruleout.model import Configuration, Notes, OutcomeKind, ToldTrial, Unused

_HEADER = re.compile(r"\|\s*trial\s*\|\s*changed against the baseline\s*\|\s*outcome\s*\|\s*stage\s*\|\s*minutes\s*\|")
_ESCAPED = re.compile(r"\\([\\`|<&(\[:])")
_CELL = re.compile(r"((?:\\.|[^|\\])*)\|")
_OUTCOMES = {"masked": OutcomeKind.OTHER} | {kind.value: kind for kind in OutcomeKind}
_COMMAND = re.compile(r"- Command: `(.*)`$")
_FAILS = re.compile(r"- (?:Engine|Kernel|The log names no error; seen from outside): `(.*)`$")
_MASKED = re.compile(r"- Masked: .* failed otherwise \(`(.*)`, trial (\d+)\)$")
_SAID = re.compile(r"- Trial (\d+): (.*)$")
_LONGEST = 200


def own_findings(lines: Sequence[str], source: str) -> Notes | None:
    """What the lines of a FINDINGS.md tell; None for a text of another form."""
    header = next((i for i, line in enumerate(lines) if _HEADER.match(line)), None)
    if header is None or "## Question" not in lines[:header]:
        return None
    masks = {int(found[2]): plain(found[1]) for line in lines if (found := _MASKED.match(line))}
    said = {int(found[1]): plain(found[2]) for line in lines[header:] if (found := _SAID.match(line))}
    problem = next((found[1] for line in lines[:header] if (found := _FAILS.match(line))), "")
    commands = ((n, found[1]) for n, line in enumerate(lines[:header], 1) if (found := _COMMAND.match(line)))
    at, command = next(commands, (0, ""))
    trials: list[ToldTrial] = []
    unused: list[Unused] = []
    for number, line in _rows(lines, header):
        told = _trial(number, line, masks, said, problem)
        if isinstance(told, Unused):
            unused.append(told)
        else:
            trials.append(told)
    return Notes(source, command, at, problem, tuple(trials), tuple(unused))


def _rows(lines: Sequence[str], header: int) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines[header + 2 :], header + 3):
        if not line.startswith("|"):
            return
        yield number, line


def _trial(
    number: int, line: str, masks: Mapping[int, str], said: Mapping[int, str], problem: str
) -> ToldTrial | Unused:
    cells = [plain(cell.strip()) for cell in _CELL.findall(line[1:])]
    text = " | ".join(cells[:3])[:_LONGEST]
    if len(cells) < 5 or not cells[0].isdecimal():
        return Unused(number, text, "not a row of a trial")
    label, changed, outcome = cells[:3]
    if outcome not in _OUTCOMES:
        return Unused(number, text, "unfinished" if outcome == "unfinished" else f"{outcome!r} is no outcome")
    if changed.startswith("without ") or ", watched with " in changed:
        return Unused(number, text, "made to shorten the command, or to see more: says nothing of factors")
    read = levels(changed)
    if read is None:
        return Unused(number, text, "does not say which setting was changed")
    kind = _OUTCOMES[outcome]
    failure = {OutcomeKind.OTHER: masks.get(int(label), ""), OutcomeKind.REPRODUCED: problem}.get(kind, "")
    failure = failure or (said.get(int(label), "") if kind is not OutcomeKind.CLEAN else "")
    minutes = float(cells[4]) if re.fullmatch(r"\d+(?:\.\d+)?", cells[4]) else 0.0
    return ToldTrial(
        number, text, Configuration(read[0]), kind, 1, failure, label, effective=read[1], minutes=minutes, exact=True
    )


def levels(changed: str) -> tuple[dict[str, str], dict[str, str]] | None:
    """`a=b c='d e' (in effect: a=f)`: the levels that were asked for, and those in effect; None for any other text."""
    lexer = shlex.shlex(changed, posix=True)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
    try:
        words = list(lexer)
    except ValueError:
        return None
    instead: list[str] = []
    if words[-1:] and words[-1].endswith(")") and "(in" in words and words[words.index("(in") + 1] == "effect:":
        at = words.index("(in")
        words, instead = words[:at], [*words[at + 2 : -1], words[-1][:-1]]
    words = [] if words == ["baseline"] else words
    if not all("=" in word for word in (*words, *instead)):
        return None
    asked, effective = (dict(word.split("=", 1) for word in row) for row in (words, instead))
    return asked, effective


def plain(escaped: str) -> str:
    """The text that was escaped for Markdown."""
    return _ESCAPED.sub(r"\1", escaped)
