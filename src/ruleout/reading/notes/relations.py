"""How a text refers to other trials: the baseline, the one before, or one by its label."""

from __future__ import annotations

import re

from ruleout.reading.notes import words as w
from ruleout.reading.notes.claims import PREVIOUS

_KIND = r"(?:run|try|attempt|test|trial|exp\w*|step|row|id|no\.?|nr\.?|number|case|job|versuch|config|variant|setup)"
_REFERS = re.compile(
    rf"(?i)\b(?:(?:same|identical)(?: (?:thing|command|config|setup|args|flags|settings))? (?:as|like|to"
    rf"|with)|like|as(?: in| with)?|on top of|repeat(?: of)?)\s+(?:in\s+)?(?:the\s+)?(?P<kind>{_KIND}\s*)?#?"
    rf"\s*(?P<label>\d{{1,2}}:\d\d|[A-Z]{{0,2}}-?\d{{1,4}}[a-z]?|[A-Z]|(?<=run )[a-z])(?![\w.:%/]|\s?(?:min"
    rf"|h\b|s\b|gpu|of|x\b|times|\())"
)
_STARTS = re.compile(r"^\W*(?P<label>\d{1,3}|[A-Z])\s+(?:with|plus|and|but|\+|&)\s")
_PREVIOUS = re.compile(
    r"(?i)^\W*(?:(?:the |all )?same(?: (?:thing|again|command|setup|run|as (?:above|before"
    r"|last)))?,?\s*(?:but|plus|and|\+|with .* on top)\b|(?:same )?as (?:before|above|last),? (?:but|plus"
    r"|and|with)|on top(?! of (?:the |our )?(?:base|orig|prod|stock|default))(?: of (?:that|this|it))?"
    r"|additionally|in addition|and also|ditto (?:but|plus|with"
    r"|\+)|plus\b(?! (?:i|we) )|that plus|previous (?:\+|plus|and|with))|\bon top of (?:that|this|it)\b"
)
_WITH = re.compile(r"(?i)^\W*(?:base(?:line)?|prod\w*|original|default\w*)\s*(?:,\s*)?(?:but|plus|\+|and|with)\b")


def base_of(text: str) -> str:
    """The label of the trial that a text builds on, `PREVIOUS` for the one before, or nothing."""
    bare = re.sub(r"`[^`]*`", lambda m: " " * len(m[0]), text)
    if _WITH.search(bare):
        return ""
    if found := _REFERS.search(bare):
        return found["label"]
    if found := _STARTS.search(re.sub(r"^\W*[A-Za-z]{0,3}\d{0,3}[.):]\s+", "", bare)):
        return found["label"]
    return PREVIOUS if _PREVIOUS.search(bare) else ""


def refers_by_kind(text: str) -> bool:
    """Whether a text names another trial beyond doubt: `same as run 9`."""
    found = _REFERS.search(text)
    return bool(found and found["kind"])


def is_baseline(text: str, most: int = 9) -> bool:
    """Whether a text that names no setting means the command as deployed, in hardly more words than that."""
    bare = re.sub(r"\W+$", "", text.strip())
    if not bare or re.fullmatch(r"[\s\-\u2013\u2014.()]*", text):
        return True
    found = w.BASELINE.search(bare)
    if not found:
        return False
    rest = f"{bare[: found.start()]} the {bare[found.end() :]}"
    return not w.LIMITED.search(rest) and len(rest.split()) <= most + 1
