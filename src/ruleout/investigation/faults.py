"""What is wrong with an answer, in words that are the same in every trial, and a quotation that need not be."""

from __future__ import annotations

from dataclasses import dataclass

from ruleout.model import FailureClass

QUOTED = 120


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with an answer, as a client sees it; `detail` quotes it, and may differ from run to run."""

    class_: FailureClass
    text: str
    detail: str = ""

    @property
    def whole(self) -> str:
        """With the quotation."""
        return f"{self.text}: {self.detail}" if self.detail else self.text


def excerpt(text: str, most: int = QUOTED) -> str:
    """The beginning of a text on one line, without control characters, and with a mark where it goes on."""
    line = " ".join(text[: 100 * most].split())
    line = line if len(line) <= most else f"{line[: most - 1]}…"
    return "".join(c if c.isprintable() else "·" for c in line)
