"""One value has many spellings (`bf16`, `torch.bfloat16`): what is compared is what it means, not how it was typed."""

from __future__ import annotations

_TYPES = {"half": "float16", "fp16": "float16", "bf16": "bfloat16", "float": "float32", "fp32": "float32"}
"""One type under the names that the engines take for it."""


def same(one: str, other: str) -> bool:
    """Two spellings of one value."""
    return plain(one) == plain(other)


def plain(value: str) -> str:
    """A value as it is compared."""
    value = value.lower().strip("[]'\"").removeprefix("torch.")
    return _TYPES.get(value, value)
