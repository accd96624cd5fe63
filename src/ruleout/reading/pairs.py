"""Engines print their whole configuration as one line of Python: `ServerArgs(a=1, b='x')`, `{'a': 1}`, `a=1, b=[…]`.

Only the top level is split, by walking over brackets and quotes once, so that a line that is cut in the middle or holds
anything else than Python gives the pairs that can be told, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 1 << 16
"""Characters of a line that are looked at."""
_VALUE = 200
"""Characters of a value that are kept; a longer one is a structure, not a setting."""
_KEY = re.compile(r"^\s*(?:(?P<name>[A-Za-z_]\w*)\s*=(?!=)|['\"](?P<quoted>[\w.\-]+)['\"]\s*:)\s*(?P<value>.*)$", re.S)
_NEXT = re.compile(r"['\"(\[{)\]},]")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """Names and values at the top level of the text, which begins at the first name or right before it."""
    text = text[:LONGEST].lstrip()
    start = 1 if text[:1] in ("{", "(", "[") else 0
    position, depth = start, 0
    while position < len(text):
        found = _NEXT.search(text, position)
        if not found:
            break
        position, sign = found.end(), found[0]
        if sign in "'\"":
            position = _end_of_string(text, position, sign)
        elif sign in _CLOSING:
            depth += 1
        elif sign == ",":
            if not depth:
                yield from _pair(text[start : position - 1])
                start = position
        else:
            depth -= 1
            if depth < 0:
                yield from _pair(text[start : position - 1])
                return
    if not depth:
        yield from _pair(text[start:])


def _end_of_string(text: str, position: int, quote: str) -> int:
    """Behind the closing quote. An apostrophe that nothing closes is taken for a letter."""
    end = position
    while (end := text.find(quote, end)) > 0 and text[end - 1] == "\\":
        end += 1
    return end + 1 if end >= 0 else position


def _pair(piece: str) -> Iterator[tuple[str, str]]:
    found = _KEY.match(piece) if len(piece) < _VALUE + 100 else None
    cut = found and found["value"][:1] in "'\"" and found["value"].count(found["value"][:1]) < 2
    if found and not cut and len(found["value"]) <= _VALUE:
        yield found["name"] or found["quoted"], plain(found["value"])


def plain(value: str) -> str:
    """A printed value without its quotes, the module of a dtype and the decoration of an enumeration."""
    value = value.strip()
    if enumerated := re.match(r"^<(\w+\.\w+): .*>$", value):
        value = enumerated[1]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return value.removeprefix("torch.")
