"""Layers are left out of quantisation by names, wildcards and regular expressions: a few hundred, for 60 000 layers.

So names are looked up, and only what is left is matched. The patterns are a stranger's: regular expressions go to RE2,
which takes linear time whatever they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import re2


class Patterns:
    """Patterns as quantisation configs write them: a module's name or that of a module around it, `*`, `re:…`.

    Args:
        inside: whether a name also matches in the middle of a module's name, as AWQ's exclusions do.
    """

    def __init__(self, patterns: Iterable[str], *, inside: bool = False) -> None:
        named: set[str] = set()
        prefixes: list[str] = []
        self._wild: list[str] = []
        self._expressions: list[Any] = []
        for pattern in patterns:
            if pattern.startswith("re:"):
                try:
                    self._expressions.append(re2.compile(pattern[3:]))
                except re2.error:
                    continue  # RE2 has no look-around; what such a pattern leaves out is not known
            elif not any(character in pattern for character in "*?["):
                named.add(pattern.rstrip("."))
            elif pattern.endswith("*") and not any(character in pattern[:-1] for character in "*?["):
                prefixes.append(pattern[:-1])
            else:
                self._wild.append(pattern)
        self._named = frozenset(named)
        self._prefixes = tuple(prefixes)
        self._inside = tuple(name for name in named if name) if inside else ()

    def match(self, module: str) -> bool:
        """Whether a module is meant by any of them."""
        if self._named:
            end = len(module)
            while end > 0:
                if module[:end] in self._named:
                    return True
                end = module.rfind(".", 0, end)
        return (
            module.startswith(self._prefixes)
            or any(name in module for name in self._inside)
            or any(fnmatchcase(module, pattern) for pattern in self._wild)
            or any(expression.match(module) for expression in self._expressions)
        )
