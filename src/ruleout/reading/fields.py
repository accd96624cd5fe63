"""A validator counts its complaints in the exception's line, and makes them in the lines below: those are the message.

pydantic prints, below `1 validation error for VllmConfig`, a field's name if there is one, then what is wrong with it
(https://docs.pydantic.dev/latest/errors/errors/).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

FIELD_LINES = 3
"""Lines below the exception in which its first complaint stands."""
_COUNT = re.compile(r"^\d+ validation errors? for \S+$")
_FIELD = re.compile(r"^[\w.\-\[\]]+$")
_ASIDE = re.compile(r"\s*\[type=\w+, input.*$|^(?:Value|Assertion) error, ")


def told_of_fields(message: str, below: Sequence[str]) -> str:
    """The first complaint behind a count of complaints, with its field; empty where the message is no such count."""
    if not _COUNT.match(message):
        return ""
    field = ""
    for line in (text.strip() for text in below[:FIELD_LINES]):
        if _FIELD.match(line):
            field = f"{line}: "
        elif line:
            return field + _ASIDE.sub("", line)
    return ""
