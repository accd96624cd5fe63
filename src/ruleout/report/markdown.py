"""What engines, clients and people said, as Markdown in which it does nothing: no tag, no link, no escape, no secret.

A log can hold anything, and a record is rendered by whoever opens it. Text of others is redacted, made visible and
bounded, and only then escaped by backslashes, so that a record can be read again.
"""

from __future__ import annotations

import re

from ruleout.model.redaction import Redactor

LONGEST = 600
"""Characters of a sentence; of code it is `LONGEST_CODE`, since a command that is cut is of no use."""
LONGEST_CODE = 8000
_LOOKED_AT = 40_000
"""Characters of a text that are redacted at all: what lies beyond is cut in any case."""
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_=>()]?)")
_ACTIVE = re.compile(r"[\\`]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<=\])[(\[:]")


class Markdown:
    """Writes the texts of one document, with one numbering of what is redacted."""

    def __init__(self) -> None:
        self._redactor = Redactor()
        self._known: dict[str, str] = {}

    def redact(self, raw: str) -> str:
        """A text without secrets, as far as it can be shown at all."""
        if raw not in self._known:
            self._known[raw] = self._redactor(raw[:_LOOKED_AT])
        return self._known[raw]

    def text(self, raw: str) -> str:
        """A text of others inside of a line."""
        return _escaped(_cut(" ".join(visible(self.redact(raw)).split()), LONGEST))

    def cell(self, raw: str) -> str:
        """The same in a table, with its spaces as they are: what may be read again."""
        return _escaped(_cut(visible(self.redact(raw)), LONGEST_CODE)).replace("|", "\\|")

    def code(self, raw: str) -> str:
        """A text of others as code. Marks of code inside of it become quotes."""
        shown = _cut(" ".join(visible(self.redact(raw)).split()), LONGEST_CODE).replace("`", "'")
        return f"`{shown}`" if shown else ""

    def whole(self, document: str) -> str:
        """The document, without what one of its places gives away of another."""
        return self._redactor(document)


def visible(text: str) -> str:
    """A text in one line, without what a terminal obeys, and without what nobody sees (marks of direction, NULs)."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text if text.isprintable() else "".join(c if c.isprintable() else " " if c.isspace() else "" for c in text)


def _escaped(text: str) -> str:
    return _ACTIVE.sub(lambda found: f"\\{found[0]}", text)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
