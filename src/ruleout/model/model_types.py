"""Which release of transformers was the first to know a model type.

The table is made from the releases themselves (https://pypi.org/project/transformers/) by `tools/model_types.py`; types
that are older than all of these are left out.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files


@cache
def first_releases() -> dict[str, str]:
    """By model type, the first release of transformers that knows it; older types are left out."""
    text = (files("ruleout.model") / "model_types.json").read_text(encoding="utf-8")
    table: dict[str, str] = json.loads(text)
    return table


def numbers(version: str) -> tuple[int, ...]:
    """A version as numbers that can be compared, as far as it is numbers."""
    return tuple(int(part) for part in version.split(".")[:3] if part.isdecimal())
