"""Model values from plain JSON data in little time: for what is looked at in passing.

pydantic builds a validator for every type that is reachable, which takes longer than everything else that `status`
does. Here the fields of a type are looked at once, when the first value of it comes. What does not fit raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ruleout.model.configuration import Configuration
from ruleout.model.naming import document_name

T = TypeVar("T")
Reader = Callable[[Any], Any]


def plain(kind: type[T], document: Any) -> T:
    """The value of that type. Raises ValueError, TypeError or KeyError when the document does not fit."""
    reader: Reader = _reader(kind)  # type: ignore[arg-type]
    value: T = reader(document)
    return value


@cache
def _reader(kind: Any) -> Reader:
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _dataclass(kind)
    if kind is Configuration:
        return Configuration
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    if origin in (Union, UnionType):
        (only,) = (argument for argument in arguments if argument is not NoneType)
        inner = _reader(only)
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        if arguments[1:] == (...,):
            each = _reader(arguments[0])
            return lambda value: tuple(map(each, value))
        several = tuple(map(_reader, arguments))
        return lambda value: tuple(read(item) for read, item in zip(several, value, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        held = _reader(arguments[1])
        return lambda value: {name: held(item) for name, item in value.items()}
    return _scalar(kind)


def _scalar(kind: Any) -> Reader:
    takes = (int, float) if kind is float else kind

    def read(value: Any) -> Any:
        if not isinstance(value, takes) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"{value!r:.40} is no {kind.__name__}")
        return kind(value) if kind is float else value

    return read


def _dataclass(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    known: dict[str, tuple[str, Any]] = {document_name(f.name): (f.name, hints[f.name]) for f in fields(kind) if f.init}
    readers: dict[str, Reader] = {}

    def read(document: Any) -> Any:
        if not isinstance(document, Mapping):
            raise TypeError(f"{document!r:.40} is no {kind.__name__}")
        values = {}
        for name, value in document.items():
            if name in known:
                own, hint = known[name]
                reader = readers.get(name) or readers.setdefault(name, _reader(hint))
                values[own] = reader(value)
        return kind(**values)

    return read
