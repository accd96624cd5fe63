"""Transformers 5 refuses a configuration with a key of the wrong type, in releases that check them at all.

An integer is no float there, and a boolean no integer. Source: `dataclasses.py` of
https://github.com/huggingface/huggingface_hub (`strict`), and the configurations' own annotations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ruleout.audit.folder import kind_of
from ruleout.audit.rope.families import Family
from ruleout.audit.rope.reading import Refused

_SIMPLE: Mapping[str, type] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "dict": dict,
    "list": list,
    "None": type(None),
}
STRICT = "StrictDataclassFieldValidationError"
"""How the reason begins where a key is of another type than it has to be."""
_PART = re.compile(r"[^|\[\]]+(?:\[[^\]]*\])?")


def check_types(config: Mapping[str, Any], known: Family) -> None:
    """Raises Refused for the first key whose value is of another type than it has to be."""
    for annotation, keys in known.types.items():
        for key in keys.split():
            if key in config and not fits(config[key], annotation):
                kind = _kind(config[key])
                raise Refused(f"{STRICT}: {key} has to be {_told(annotation)}, not {kind}")
    if known.divides:
        size, heads = (config.get(key, known.sizes.get(key)) for key in ("hidden_size", "num_attention_heads"))
        if isinstance(size, int) and isinstance(heads, int) and (not heads or size % heads):
            raise Refused(f"ValueError: hidden_size {size} is no multiple of num_attention_heads {heads}")


def fits(value: Any, annotation: str) -> bool:
    """Whether a value is of a type; of types that are not simple, nothing is said against it."""
    parts = [part for part in _PART.findall(annotation) if part]
    return any(_fits_one(value, part) for part in parts)


def _fits_one(value: Any, part: str) -> bool:
    name, _, inner = part.rstrip("]").partition("[")
    if name == "Literal":
        return True  # words, of which others are refused for other reasons
    if name == "float" and isinstance(value, dict) and value.keys() == {"__float__"}:
        return True  # how transformers writes infinity
    if name not in _SIMPLE:
        return name[:1].isupper() and not isinstance(value, int | float | str | bool | type(None))
    if name == "int" and isinstance(value, bool):
        return False
    if not isinstance(value, _SIMPLE[name]):
        return False
    return not isinstance(value, list) or inner not in _SIMPLE or all(_fits_one(item, inner) for item in value)


def _kind(value: Any) -> str:
    """What a value is, in words; numbers by their types, since one of them is refused for the other."""
    return type(value).__name__ if type(value) in (int, float) else kind_of(value)


def _told(annotation: str) -> str:
    return annotation.replace("|", " or ").replace("None", "null")
