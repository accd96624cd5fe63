"""Foreign text in Markdown is inert: it stays inside of code, which nothing in it can close, and mentions nobody.

GitHub notifies whoever an `@name` outside of code names, and links every `#1` to an issue: a log may hold both.
"""

from __future__ import annotations

import re

from ruleout.model.inert import inert

_SPECIAL = re.compile(r"[@#<>&\[\]*_|~\\$]|://")
_WORD = re.compile(r"([(“”\"']*)(.*?)([)“”\"',.;:!?]*)")
"""A word with what stands around it."""
LONGEST = 500
"""Characters of a line of a log that are shown."""


def one_line(text: str) -> str:
    """The same in one line."""
    return " ".join(inert(text).split())


def code(text: str) -> str:
    """Text as code within a line."""
    plain = one_line(text) or " "
    fence = "`" * (_longest_run(plain) + 1)
    pad = " " if "`" in (plain[0], plain[-1]) else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


def prose(text: str) -> str:
    """A sentence: words that Markdown would read otherwise are shown as code."""
    words = (_WORD.fullmatch(word) for word in one_line(text).replace("`", "'").split(" "))
    return " ".join(w[1] + (code(w[2]) if _SPECIAL.search(w[2]) else w[2]) + w[3] for w in words if w)


def block(text: str, language: str = "text") -> str:
    """Text as a block of code, fenced with more backticks than any run in it."""
    lines = [clipped(line) for line in inert(text).strip("\n").split("\n")]
    fence = "`" * max(3, max(map(_longest_run, lines)) + 1)
    return "\n".join((f"{fence}{language}", *lines, fence))


def cell(text: str) -> str:
    """Text in a cell of a table: as code, without what would end the cell."""
    return code(text.replace("|", "\N{BROKEN BAR}")) if text.strip() else ""


def clipped(line: str, longest: int = LONGEST) -> str:
    """A line of at most so many characters, with what was left out told."""
    if len(line) <= longest:
        return line
    half = longest // 2
    return f"{line[:half]} … [{len(line) - 2 * half} characters left out] … {line[-half:]}"


def folded(summary: str, body: str) -> str:
    """Something that is read only when it is opened. `summary` is our own text."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
