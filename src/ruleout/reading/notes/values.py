"""Whether the word after a flag is its value, where a sentence goes on behind it."""

from __future__ import annotations

import re

from ruleout.reading.notes.words import said

_VALUE = re.compile(r"\s+(\"[^\"]*\"|'[^']*'|\{[^{}]*\}|[^\s,;`|()→]+)")
_GIVEN = re.compile(r"\s+(?:set\s+)?(?:to|of|at)\s+([\w./-]*\d[\w./-]*\w|\d)(?![\w-])")
"""A value behind a word: `--context-length to 8192`."""
_NEGATIVE = re.compile(r"-\d+(?:\.\d+)?(?![\w%]|\s*%)")
_LOOKS = re.compile(r"-?\d[\w.]*|\w*[_/.\\]\w[\w./\\-]*|\w*\d\w*|[A-Z][A-Z0-9_]{2,}|[\[{\"'].*|\w+:\w+")
"""A word that is a value wherever it stands."""
_KNOWN = re.compile(
    r"on|off|auto|true|false|none|eager|sdpa|triton|flashinfer|torch_native|trtllm|aiter|cutlass|marlin"
    r"|cutedsl|half|bfloat|float|pytorch|xgrammar|outlines|ray|mp|external|pull|kv|full|piecewise|spawn"
    r"|fork|ring|tree|simple|deepep|naive|ascend|flashmla|cudnn|bf|fp|nvfp|mxfp|dummy|safetensors"
)
"""Values that are ordinary words."""
_NO_VALUE = re.compile(
    r"and|or|nor|but|with|without|then|also|as|at|by|for|from|in|is|it|its|of|the|this|that|to|too|was|were"
    r"|are|be|both|again|still|same|only|now|alone|here|there|when|while|which|where|plus|instead|makes"
    r"|made|gives|gave|did|does|do|had|has|have|just|not|no|yes|so|since|because|if|under"
)
"""Words that are no value, whatever follows them."""


def value_after(text: str, end: int) -> tuple[str, int] | None:
    """The value after a flag in a sentence, with where it ends; None where the next word is none."""
    if (given := _GIVEN.match(text, end)) is not None:
        return given[1], given.end()
    found = _VALUE.match(text, end)
    if found is None:
        return None
    word = found[1].rstrip(":.!?")
    if (
        not word
        or (word.startswith("-") and not _NEGATIVE.match(text, found.start(1)))
        or any(True for _ in said(word))
    ):
        return None
    if _NO_VALUE.fullmatch(word):
        return None
    after = text[found.start(1) + len(word) :]
    ends = not after.strip() or re.match(r"\s*(?:[:,;|)(→`]|->|=>|--|-\s|$)", after) is not None
    plain = word.lower().rstrip("0123456789")
    if (
        _LOOKS.fullmatch(word)
        or (_KNOWN.fullmatch(plain) and (ends or word not in ("on", "off")))
        or (ends and word.isalnum() and len(word) > 2)
    ):
        return word, found.start(1) + len(word)
    return None


def looks_like_value(word: str) -> bool:
    """Whether a word is a value wherever it stands."""
    return _LOOKS.fullmatch(word) is not None


def is_level(word: str) -> bool:
    """Whether a word is a level by itself: a known one, a version, or a name with a digit or an underscore in it."""
    known = _KNOWN.fullmatch(word.lower().rstrip("0123456789")) is not None
    return known or (looks_like_value(word) and re.search(r"[A-Za-z]|\.\d+\.", word) is not None)


def bare(value: str) -> str:
    """A value without the quotes around it."""
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
