"""Model types to plain JSON data and back. Fields named `class_` and `from_` are `class` and `from` in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


_adapters: dict[Any, TypeAdapter[Any]] = {}


def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Importing pydantic and building an adapter are slow, so each is done once, and not before it is needed."""
    if kind not in _adapters:
        from pydantic import TypeAdapter

        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def to_json(value: Any) -> Any:
    """A model value as plain JSON data (dicts, lists, strings, numbers)."""
    return _adapter(type(value)).dump_python(value, mode="json", by_alias=True)


def from_json(kind: type[T], document: Any) -> T:
    """The model value of that type from plain JSON data. Raises pydantic.ValidationError when it does not fit."""
    value: T = _adapter(kind).validate_python(document)
    return value
