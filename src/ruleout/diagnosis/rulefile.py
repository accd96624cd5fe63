"""Rules as they are written: YAML, one list a file, with complaints that name the file and the line.

Reading YAML takes longer than reading most logs; so the rules that come with ruleout are also kept as JSON (see
`catalogue`), and only their authors need this module.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from ruleout.diagnosis.rule import within
from ruleout.model import Component, FailureClass, Stage, UsageError

_LISTS = ("engines", "behind", "references")
_TEXTS = ("id", "title", "component", "claim", "test", "confidence")
_KEYS = {*_TEXTS, *_LISTS, "versions", "when", "fix", "examples"}
_WHEN_LISTS, _WHEN_MAPS = ("class", "stage", "any", "lines", "not"), ("settings", "environment")
_ID, _ADDRESS = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*"), re.compile(r"https?://\S+")


def read_rules(path: Path) -> list[dict[str, Any]]:
    """The rules of a file as plain data, checked. Raises UsageError with file and line."""
    return _File(path.name).read(path.read_text(encoding="utf-8"))


class _File:
    def __init__(self, name: str) -> None:
        self.name = name

    def read(self, text: str) -> list[dict[str, Any]]:
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as problem:
            line = problem.problem_mark.line + 1 if problem.problem_mark else 1
            raise self._error(line, f"not YAML: {problem.problem}", "Mend the syntax there.") from None
        if root is None:
            return []
        if not isinstance(root, yaml.SequenceNode):
            raise self._error(1, "a file of rules is a list", "Begin each rule with `- id: its-name`.")
        return [self._rule(node) for node in root.value]

    def _rule(self, node: yaml.Node) -> dict[str, Any]:
        found = self._mapping(node, "a rule", _KEYS)
        line = node.start_mark.line + 1
        for key in ("id", "title", "component", "claim", "test", "confidence", "when", "references", "examples"):
            if key not in found:
                raise self._error(line, f"the rule has no {key}", f"Add `{key}:` to it.")
        rule: dict[str, Any] = {key: self._text(found[key], key) for key in _TEXTS}
        rule["source"] = f"{self.name}:{line}"
        if not _ID.fullmatch(rule["id"]):
            raise self._error(line, f"id {rule['id']!r}", "Use small letters, digits and hyphens.")
        self._one_of(found["component"], rule["component"], Component)
        try:
            rule["confidence"] = float(rule["confidence"])
            if not 0 < rule["confidence"] < 1:
                raise ValueError
        except ValueError:
            raise self._error(self._line(found["confidence"]), "confidence", "Give a number in 0 to 1.") from None
        rule |= {key: self._list(found[key], key) for key in _LISTS if key in found}
        for reference in rule["references"]:
            if not _ADDRESS.fullmatch(reference):
                raise self._error(self._line(found["references"]), f"reference {reference!r}", "Give its address.")
        rule["versions"] = self._texts(found["versions"], "versions") if "versions" in found else {}
        for bounds in rule["versions"].values():
            try:
                within("1", bounds)
            except ValueError as problem:
                raise self._error(self._line(found["versions"]), str(problem), "Write `>=1.2,<2`.") from None
        rule["when"] = self._when(found["when"])
        rule["fix"] = self._fix(found["fix"]) if "fix" in found else {}
        examples = self._mapping(found["examples"], "examples", {"matching", "other"})
        rule |= {key: self._list(examples[key], key) if key in examples else [] for key in ("matching", "other")}
        if not rule["matching"] or not rule["other"]:
            raise self._error(self._line(found["examples"]), "examples", "Give `matching:` and `other:` ones.")
        return rule

    def _when(self, node: yaml.Node) -> dict[str, Any]:
        found = self._mapping(node, "when", {*_WHEN_LISTS, *_WHEN_MAPS})
        when: dict[str, Any] = {key: self._list(found[key], key) for key in _WHEN_LISTS if key in found}
        when |= {key: self._texts(found[key], key) for key in _WHEN_MAPS if key in found}
        for key, words in (("class", FailureClass), ("stage", Stage)):
            for value in when.get(key, []):
                self._one_of(found[key], value, words)
        for key in ("any", "lines", "not"):
            for item, pattern in zip(found[key].value if key in found else (), when.get(key, []), strict=True):
                self._pattern(item, pattern)
        for key in _WHEN_MAPS:
            for pattern in when.get(key, {}).values():
                self._pattern(found[key], f"^(?:{pattern})$")  # as it is matched: in full
        if not set(when) & {"any", "lines", "settings"}:
            raise self._error(self._line(node), "when asks for nothing that a log says", "Add `any:`, a list.")
        return when

    def _fix(self, node: yaml.Node) -> dict[str, Any]:
        found = self._mapping(node, "fix", {"set", "note"})
        fix: dict[str, Any] = {"set": self._texts(found["set"], "set")} if "set" in found else {}
        return fix | ({"note": self._text(found["note"], "note")} if "note" in found else {})

    def _pattern(self, node: yaml.Node, pattern: str) -> None:
        try:
            re.compile(pattern)
        except re.error as problem:
            raise self._error(self._line(node), f"{pattern!r}: {problem}", "Mend the expression.") from None

    def _one_of(self, node: yaml.Node, value: str, words: Any) -> None:
        if value not in list(words):
            names = ", ".join(word.value for word in words)
            raise self._error(self._line(node), f"{value!r} is no such word", f"Use one of: {names}.")

    def _mapping(self, node: yaml.Node, what: str, keys: set[str]) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self._error(self._line(node), f"{what} is a mapping", "Write `key: value` lines.")
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if key.value not in keys or key.value in found:
                problem = "twice" if key.value in found else "an unknown key"
                known = ", ".join(sorted(keys))
                raise self._error(self._line(key), f"{what}: {key.value!r} is {problem}", f"Keys are: {known}.")
            found[key.value] = value
        return found

    def _texts(self, node: yaml.Node, what: str) -> dict[str, str]:
        if not isinstance(node, yaml.MappingNode):
            raise self._error(self._line(node), f"{what} is a mapping", "Write `name: value` lines.")
        return {self._text(key, what): self._text(value, what) for key, value in node.value}

    def _list(self, node: yaml.Node, what: str) -> list[str]:
        if not isinstance(node, yaml.SequenceNode):
            raise self._error(self._line(node), f"{what} is a list", "Write `[a, b]`.")
        return [self._text(item, what) for item in node.value]

    def _text(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._error(self._line(node), f"{what} is a text", "Write it in quotes.")
        return str(node.value)

    def _line(self, node: yaml.Node) -> int:
        return int(node.start_mark.line) + 1

    def _error(self, line: int, what: str, remedy: str) -> UsageError:
        return UsageError(f"{self.name}, line {line}: {what}", remedy)
