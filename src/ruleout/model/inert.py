"""Text of a stranger as text alone: a log may hold what moves a cursor, turns the direction of writing, or hides.

It is kept out wherever such a text is shown or written down again; what a person can see is left as it is.
"""

from __future__ import annotations

import re

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_=>()])")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""What is not seen and changes how the rest is read: control characters, directions of writing, joiners, tags."""
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")


def shortened(text: str, longest: int) -> str:
    """Text in one line of at most so many characters, cut between words where there are any."""
    line = " ".join(inert(text).split())
    if len(line) <= longest:
        return line
    cut = line[: longest - 1]
    words = cut.rpartition(" ")[0].rstrip(" ,;:-([{")
    return (words if len(words) > longest // 2 else cut) + "…"


def inert(text: str) -> str:
    """The text without escapes and unseen characters; lines end with a newline alone."""
    return _UNSEEN.sub("", _BREAKS.sub("\n", _ANSI.sub("", text)))
