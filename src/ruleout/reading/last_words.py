"""What a log says at its end that no line calls a failure: errors by their level alone, and libraries' own words.

Healthy logs hold such lines too. So they are asked only where nothing else failed and the run did not show that it
worked, and only those count after which it got no further.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ruleout.model import Stage
from ruleout.reading.classes import classify
from ruleout.reading.oneliners import DIES, TRIED, raising
from ruleout.reading.records import Record
from ruleout.reading.spotted import Spotted, Weight

_LIBRARIES = (
    r"NCCL WARN (?P<message>\S.+)",
    r"^(?P<message>(?:Bootstrap ?|NET/\w+ ?|socket\w+): .*(?:\bfailed\b|\berror\b|\bno\b).*|Duplicate GPU detected .+)",
    r"^\S+\.(?:c|cc|cpp|cu|cuh|h|hpp):\d+: (?P<message>(?:non-zero status|\w*[Ee]rror): .+)",  # NVSHMEM
    r"(?P<message>Unexpected error from cudaGetDeviceCount\(\).*)",
    r"^(?:gguf|ggml|llama|common|clip|mtmd|load|srv|main)\w*: (?!- kv)(?P<message>.*(?:\binvalid\b|\b[Ff]ailed\b"
    r"|\brequires\b|\b[Ee]rror\b|\b[Uu]nable to\b|\b[Uu]nsupported\b).*)",
    r"llama\.cpp error: '(?P<message>.+)'",
    r"(?P<message>\b\w+ has no \w+ implementation and .+)",
    r"^\s*(?P<kind>Value error|Assertion failed), (?P<message>.+?)(?: \[type=.*)?$",  # pydantic
    r"\b(?P<exception>(?=[A-Z])\w*(?:Error|Exception))\([^()]*\): (?P<message>.+)",
    r"\b(?P<exception>(?=[A-Z])\w*(?:Error|Exception))\(['\"](?P<message>.+?)['\"],?\)",
)
_COMPLAINT = re.compile(r"^\s*(?:Cannot|Can't|Could not|Couldn't|Unable to) \w.+")
"""How sentences begin that tell of an error, whoever prints them; tuners say `Failed to` of what they skip."""
_WORDS = tuple(map(re.compile, _LIBRARIES))
_RAISED_BY = {"Value error": "ValueError", "Assertion failed": "AssertionError"}
_BODY = re.compile(r'\{"(?:object": ?"error"|error": ?["{]|detail": ?["\[{])')
"""What OpenAI's interface answers to a request that it does not take."""
_REFUSED = re.compile(r'"(?:code|status)": ?"?4\d\d\b|BadRequest|invalid_request|NotFoundError|"detail"')
_TOLD, _TYPE = re.compile(r'"(?:message|msg|detail|error)": ?"((?:[^"\\]|\\.)+)"'), re.compile(r'"type": ?"(\w+Error)"')
_LEVELS = ("ERROR", "CRITICAL", "FATAL")
_PART_OF_A_STACK = re.compile(r"^(?:\s|File \"|Traceback|[\^~])")


def last_word(records: Sequence[Record], began: int, known: Collection[int], stage: Stage) -> Spotted | None:
    """The first of the last lines that says that something went wrong.

    Args:
        records: the last lines of a log.
        began: the line with which its last stage began; what was said before has been survived.
        known: lines that were judged already.
        stage: the last stage.
    """
    found = [s for r in records if r.line >= began and r.line not in known and (s := _told(r))]
    if not found:
        return None
    chosen = min(found, key=lambda spotted: (spotted.weight, spotted.line))
    return chosen.at(Stage.READY if refused(chosen.text) else stage)


def refused(text: str) -> bool:
    """It is the answer to a request that was not taken: the server that gave it goes on."""
    return bool(_BODY.search(text) and _REFUSED.search(text))


def _told(record: Record) -> Spotted | None:
    text = record.text[:2000]
    if DIES.search(text):
        return _spotted(record, "", text.strip(), Weight.CONSEQUENCE)
    if TRIED.search(text):
        return None
    if body := _BODY.search(text):
        message, kind = _TOLD.search(text, body.start()), _TYPE.search(text, body.start())
        return _spotted(record, kind[1] if kind else "", message[1].replace('\\"', '"') if message else text.strip())
    if raised := raising(text):
        return _spotted(record, *raised)
    if found := next((found for pattern in _WORDS if (found := pattern.search(text))), None):
        named = found.groupdict()
        exception = named.get("exception") or _RAISED_BY.get(named.get("kind") or "", "")
        return _spotted(record, exception, named["message"].strip())
    by_level = record.level in _LEVELS and text.strip() and not _PART_OF_A_STACK.match(text)
    if by_level or (not record.harmless and _COMPLAINT.match(text)):
        return _spotted(record, "", text.strip())
    return None


def _spotted(record: Record, exception: str, message: str, weight: Weight = Weight.WEAK) -> Spotted:
    class_ = classify(exception, message)
    text = record.text.strip()[:1000]
    return Spotted(class_, exception, message[:1000], record.line, record.line, text, weight, rank=record.source)
