"""Words that Python keeps for itself (`class`, `from`) end with an underscore in the types, and without in documents.

A type that has such a field says `__pydantic_config__: ClassVar = DOCUMENT_NAMES`. Pydantic is not imported for it:
most commands never need it, and it takes as long to import as a log takes to read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping


def document_name(field: str) -> str:
    """A field's name in documents."""
    return field.rstrip("_")


DOCUMENT_NAMES: Mapping[str, Callable[[str], str]] = {"alias_generator": document_name}
