"""Two runs of one failure differ in every number, path and time of their message, and in nothing else.

The signature is a hash of the exception's type and the message without those. Frames are no part of it as long as the
message tells what went wrong: the same fault is reached through different stacks under another factor's level. Only
when the message is empty or generic does the innermost frame outside the usual libraries stand in for it, and never for
an asynchronous CUDA error, whose host stack is an accident.
"""

from __future__ import annotations

import hashlib
import re
from typing import Protocol

from rapidfuzz import fuzz

from ruleout.model import FailureClass

SIMILAR = 85.0
"""Percent of agreement of two normalised messages (rapidfuzz's ratio) from which on they tell of the same failure."""

_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b", "#"),
        (r"\b0[xX][0-9a-fA-F]+\b", "#"),
        (r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)?|\b\d\d?:\d\d:\d\d(?:[.,]\d+)?", "#"),
        (
            r"(?<![\w.~-])(?:[a-z][a-z0-9+.-]*:/|[\w.~-]+)?/(?:[^\s'\"`,;:()\[\]{}<>|/]+/)*([^\s'\"`,;:()\[\]{}<>|/]*)",
            r"\1",
        ),
        (r"\b[A-Za-z]:\\(?:[^\s'\"\\]+\\)*([^\s'\"\\]*)", r"\1"),
        (r"\btmp\w{4,}", "tmp#"),
        (r"(?i)\b(rank|pid|gpu|device|tp|dp|pp|ep|cuda|layers?|worker|node|port)[ =:._]?\d+\b", r"\1#"),
        (r"(['\"`])(?:(?!\1).){60,}?\1", r"\1#\1"),
        (r"\bv?\d+(?:\.\d+)+(?:[.+-]?(?:dev|rc|post|a|b|cu|cpu|rocm|g)\w*)*\b", "#"),
        (r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{10,}\b", "#"),
        (r"(?<![A-Za-z_])[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?(?:\s?(?:[KMGT]i?B|bytes|ms|us|ns|s|%))?(?![A-Za-z_])", "#"),
        (r"#(?:\s*[,x×]\s*#)+", "#"),
        (r"\s+", " "),
    )
)
_LIBRARY = re.compile(
    r"^(?:module|_contextlib|functional|_ops|linear|threading|_base|thread|contextlib|functools|generic|runners|base_events"
    r"|_exception_handler|routing|__init__|eval_frame|_classes|library|<frozen [^>]*>)(?:\.py)?:"
)
_QUOTED = re.compile(r"'([\w.\-]{2,60})'|`([\w.\-]{2,60})`")
_DECIDING = re.compile(r"\bHTTP [1-5]\d\d\b|\bexited with code \d+|\bSIG[A-Z]{2,}\d*")
"""A status, an exit code, a signal: numbers that tell what happened, not where or how much."""
_LONGEST = 600
_GENERIC = 4
"""Letters a message needs to be telling."""


class Failing(Protocol):
    """What is compared of a failure: `Failure` and `LogFailure` are such."""

    @property
    def class_(self) -> FailureClass: ...
    @property
    def exception(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def asynchronous(self) -> bool: ...


def normalise(message: str) -> str:
    """The message without what differs between two runs: numbers, addresses, folders, times, sizes."""
    text = message[: 4 * _LONGEST]
    for pattern, to in _RULES:
        text = pattern.sub(to, text)
    return text.strip()[:_LONGEST]


def _short(exception: str) -> str:
    return exception.rpartition(".")[2]


def _generic(message: str) -> bool:
    return sum(c.isalpha() for c in message) < _GENERIC


def signature(class_: FailureClass, exception: str, message: str, frames: tuple[str, ...] = ()) -> str:
    """Twelve hexadecimal digits for the normalised failure; see the module for what counts."""
    normal = normalise(message)
    parts = [class_.value, "" if device_assertion(message) else _short(exception), normal]
    parts += sorted(set(_DECIDING.findall(message[:_LONGEST])))
    if _generic(normal):
        own = [frame for frame in frames if not _LIBRARY.match(frame)]
        parts += (own or list(frames))[-1:]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:12]


def device_assertion(message: str) -> bool:
    """Whether a message is the text of an assertion that failed on the device."""
    return message.startswith("Assertion `")


def similar(a: Failing, b: Failing) -> bool:
    """Whether two failures are the same one, as far as their messages can tell.

    The class agrees; so does the type of the exception, where both have one; the normalised messages agree to at least
    `SIMILAR` percent and do not name different things in quotes, nor different statuses, exit codes or signals. For
    asynchronous CUDA errors neither the exception nor the stack counts, only the device's assertion: a report that lost
    it agrees with any.
    """
    if a.class_ is not b.class_:
        return False
    if a.asynchronous and b.asynchronous:
        if device_assertion(a.message) != device_assertion(b.message):
            return True
    elif a.exception and b.exception and _short(a.exception) != _short(b.exception):
        return False
    told = [set(_DECIDING.findall(failing.message[:_LONGEST])) for failing in (a, b)]
    if all(told) and not told[0] & told[1]:
        return False
    left, right = normalise(a.message), normalise(b.message)
    if left == right:
        return True
    names = [{x or y for x, y in _QUOTED.findall(text)} for text in (left, right)]
    if all(names) and not names[0] & names[1]:
        return False
    return fuzz.ratio(left, right) >= SIMILAR
