"""A configuration assigns a level to every factor; what a trial changed is its difference to the baseline."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any


def shown(level: str) -> str:
    """A level as it is shown: quoted like a shell would where it would be mistaken for something else."""
    text = "".join(c if c.isprintable() else "\N{MIDDLE DOT}" for c in level)
    return text if text and not re.search(r"[\s\"'|,]", text) else shlex.quote(text)


class Configuration(Mapping[str, str]):
    """An immutable, hashable assignment of levels to factors. Equality ignores the order of the factors."""

    __slots__ = ("_hash", "_levels")

    def __init__(self, levels: Mapping[str, str] | None = None, **more: str) -> None:
        self._levels: dict[str, str] = {**(levels or {}), **more}
        self._hash = hash(frozenset(self._levels.items()))

    def __getitem__(self, factor: str) -> str:
        return self._levels[factor]

    def __iter__(self) -> Iterator[str]:
        return iter(self._levels)

    def __len__(self) -> int:
        return len(self._levels)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Configuration):
            return self._levels == other._levels
        return NotImplemented

    def __repr__(self) -> str:
        return f"Configuration({self._levels!r})"

    def __str__(self) -> str:
        return " ".join(f"{factor}={shown(level)}" for factor, level in self._levels.items()) or "baseline"

    def moved(self, changes: Mapping[str, str]) -> Configuration:
        """This configuration with the given levels instead of its own."""
        return Configuration({**self._levels, **changes})

    def difference(self, baseline: Mapping[str, str]) -> Configuration:
        """The levels in which this configuration departs from a baseline."""
        return Configuration({f: level for f, level in self._levels.items() if baseline.get(f) != level})

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """In JSON a configuration is a plain object of strings."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.dict_schema(core_schema.str_schema(), core_schema.str_schema()),
            serialization=core_schema.plain_serializer_function_ser_schema(dict),
        )
