"""YAML as a person wrote it: every scalar stays text, and every value knows its line.

YAML's own types would turn `off` into false and `1e-3` into a number, and a level is text as written. So types are
given by the schema that reads the tree, not by the file, and its complaints can name the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from ruleout.model import UsageError

Path = tuple[str | int, ...]

MAX_NODES = 100_000
NULL_TAG = "tag:yaml.org,2002:null"
_UNFIT = re.compile("[\0\ud800-\udfff]")
"""Escapes can write what neither a command line nor UTF-8 can hold."""


@dataclass
class Tree:
    """Plain data (dicts, lists, strings, None) with the line of each value and of each key, counted from 1."""

    name: str
    data: Any = None
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """The line of a value; of the nearest one around it when the path leads nowhere."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def error(self, path: Path, what: str, remedy: str) -> UsageError:
        """A complaint about a value, with file and line."""
        return UsageError(f"{self.name}, line {self.line(path)}: {what}", remedy)


def read_tree(text: str, name: str) -> Tree:
    """Read a YAML document.

    Args:
        name: what to call it in errors.

    Raises:
        UsageError: not YAML, tabs, duplicate keys, several documents, more than MAX_NODES values, nested without end.
    """
    tree = Tree(name)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is not None:
            tree.data = _plain(root, (), tree, [0])
    except yaml.MarkedYAMLError as problem:
        raise _syntax(problem, text, name) from None
    except yaml.YAMLError as problem:
        line = text.count("\n", 0, getattr(problem, "position", 0)) + 1
        raise UsageError(
            f"{name}, line {line}: not a text file: {_one_line(problem)}", "Save it as YAML in UTF-8."
        ) from None
    except RecursionError:
        raise UsageError(
            f"{name}: nested too deeply", "Write the case without aliases of what is around them."
        ) from None
    return tree


def _syntax(problem: yaml.MarkedYAMLError, text: str, name: str) -> UsageError:
    mark = problem.problem_mark or problem.context_mark
    line = mark.line + 1 if mark else 1
    source = text.splitlines()[line - 1] if mark and line <= len(text.splitlines()) else ""
    if "\t" in source[: len(source) - len(source.lstrip())] or "'\\t'" in str(problem.problem):
        return UsageError(f"{name}, line {line}: a tab where YAML allows spaces only", "Indent with spaces.")
    return UsageError(f"{name}, line {line}: not YAML: {problem.problem}", "Mend the line, or the one before it.")


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())


def _plain(node: yaml.Node, path: Path, tree: Tree, count: list[int]) -> Any:
    count[0] += 1
    if count[0] > MAX_NODES:
        raise UsageError(f"{tree.name}: more than {MAX_NODES} values", "Write the case without nested aliases.")
    tree.lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        if unfit := _UNFIT.search(node.value):
            raise tree.error(path, f"a character that no command can hold ({unfit[0]!r})", "Leave it out.")
        return None if node.tag == NULL_TAG else str(node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(child, (*path, i), tree, count) for i, child in enumerate(node.value)]
    data: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise tree.error(path, "a key that is not text", "Write keys as plain words.")
        word = str(key.value)
        line = key.start_mark.line + 1
        if unfit := _UNFIT.search(word):
            raise UsageError(
                f"{tree.name}, line {line}: a character that no name can hold ({unfit[0]!r})", "Leave it out."
            )
        if word in data:
            raise UsageError(
                f"{tree.name}, line {line}: key {word!r} stands twice (first in line {tree.line((*path, word))})",
                "Keep one of the two.",
            )
        tree.lines[(*path, word)] = line
        data[word] = _plain(value, (*path, word), tree, count)
    return data
