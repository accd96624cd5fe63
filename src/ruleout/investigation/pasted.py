"""What a web page, a chat or an editor made of a command on its way: no engine means such signs, no shell splits them.

A command that was pasted with them fails for another reason than the deployment does, so it is not run at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ruleout.model import UsageError

_DASHES = re.compile(
    r"[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]*[\u2010-\u2015\u2212\ufe58\ufe63\uff0d][-\u2010-\u2015]*(?=[A-Za-z])"
)
_QUOTES = re.compile("[\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb]")
_BLANKS = re.compile("[\u00a0\u2000-\u200d\u202f\u205f\u2060\u3000\ufeff]")
_STRUCTURE = re.compile(r"^\W*[\[{]|^[\u2018\u201c\u201e\u00ab]|=[\u2018\u201c\u201e\u00ab]")


def refuse(words: Sequence[str]) -> None:
    """Raises UsageError for the first word that only a paste can have made."""
    for number, word in enumerate(words, start=1):
        if found := _DASHES.match(word):
            dash = next(sign for sign in found[0] if sign != "-")
            name = word[found.end() :]
            flag = f"-{name}" if len(name.partition("=")[0]) == 1 else f"--{name}"
            raise UsageError(
                f"word {number} of the command, {word}, begins with U+{ord(dash):04X}, which is no hyphen",
                f"Write {flag}; a web page or a chat has replaced the hyphens.",
            )
        if _STRUCTURE.search(word) and (quote := _QUOTES.search(word)):
            raise UsageError(
                f"word {number} of the command, {word}, has a typographic quote (U+{ord(quote[0]):04X})",
                """Write ' or " in its place; a web page or a chat has replaced them.""",
            )
        if blank := _BLANKS.search(word):
            raise UsageError(
                f"word {number} of the command, {word!r}, has a blank that no shell splits at (U+{ord(blank[0]):04X})",
                "Write an ordinary blank in its place.",
            )
        if word.endswith("\r"):
            raise UsageError(
                f"word {number} of the command, {word!r}, ends with a carriage return",
                "Save the script that has it with the line ends of Unix (dos2unix).",
            )
        if (not word.strip() and word) or re.match(r"\s+-", word):
            raise UsageError(
                f"word {number} of the command, {word!r}, begins with a blank",
                "Let no blank stand behind the \\ at the end of a line.",
            )
