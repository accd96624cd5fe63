"""What leaves the machine is redacted as a whole: one numbering over logs, events and case, so that they still agree.

A level that is a secret stands in the case and in every trial: wherever a text was replaced once, its equals are too.
Line numbers are addresses, so no line of a log is ever joined to another.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from ruleout.model import Probe
from ruleout.model.private import KINDS, PLACEHOLDER
from ruleout.model.redaction import Redactor

PUBLIC = frozenset({Probe().prompt, "local"})
"""What only looks private: the prompt that ruleout itself sends, and the host that is this one."""
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")


@dataclass(frozen=True, slots=True)
class Replaced:
    """A placeholder that stands in what leaves, and how often."""

    placeholder: str
    count: int

    @property
    def kind(self) -> str:
        """What it stands for."""
        return self.placeholder[1:-1].rpartition("-")[0]


def replaced(texts: Iterable[str]) -> tuple[Replaced, ...]:
    """The placeholders in these texts, kind by kind."""
    found: Counter[str] = Counter()
    for text in texts:
        found.update(PLACEHOLDER.findall(text))
    return in_order(found)


def in_order(found: Mapping[str, int]) -> tuple[Replaced, ...]:
    """Counted placeholders, kind by kind and number by number."""
    each = [Replaced(name, count) for name, count in found.items()]
    number = {one.placeholder: int(one.placeholder[1:-1].rpartition("-")[2]) for one in each}
    return tuple(sorted(each, key=lambda one: (KINDS.index(one.kind), number[one.placeholder])))


@dataclass
class Sharer:
    """Redacts texts and documents with one numbering."""

    redactor: Redactor = field(default_factory=Redactor)
    _known: dict[str, str] = field(default_factory=dict)

    def text(self, text: str) -> str:
        """A text without secrets, line by line where it was."""
        shown = self._shown(self.redactor(text))
        if shown.count("\n") == text.count("\n"):
            return shown
        for one in self.redactor.replacements:
            if "\n" in one.original:
                text = text.replace(one.original, one.placeholder + "\n" * one.original.count("\n"))
        return self._shown(self.redactor(text))

    def value(self, value: Any, name: str = "") -> Any:
        """A document without secrets; `name` is the key that it stands under."""
        if isinstance(value, str):
            return self._string(value, name)
        if isinstance(value, Mapping):
            return {self._string(str(key)): self.value(item, str(key)) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return self._list(list(value), name)
        return value

    def yaml_text(self, text: str) -> str:
        """A YAML text without secrets and comments; what is not replaced is left as it was written."""
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        if tree is None:
            return ""
        self._node(tree, "")
        return str(yaml.serialize(tree, Dumper=yaml.SafeDumper, allow_unicode=True, width=120))

    def _string(self, value: str, name: str = "") -> str:
        if value in PUBLIC:
            return value
        if value not in self._known:
            shown = self._named(value, name)
            if shown == value:
                return value
            self._known[value] = shown
        return self._known[value]

    def _named(self, value: str, name: str) -> str:
        """A text that its name may give away."""
        if name:
            for before, written, read in (
                (f'"{name}": ', json.dumps(value, ensure_ascii=False), json.loads),
                (f"{name}=", value, str),
            ):
                text = self.redactor(before + written)
                if text != before + written and text.startswith(before):
                    try:
                        shown = read(text[len(before) :])
                    except ValueError:
                        continue
                    if isinstance(shown, str):
                        return self._shown(shown)
        return self.text(value)

    def _list(self, values: list[Any], name: str) -> Any:
        if values and not any(isinstance(v, str | list | tuple | Mapping) for v in values):
            written = f'"{name}": {json.dumps(values)}'
            shown = self.redactor(written)
            return PLACEHOLDER.findall(shown)[:1] if shown != written else values
        out: list[Any] = []
        for before, value in zip(["", *values], values, strict=False):
            option = isinstance(before, str) and isinstance(value, str) and _OPTION.fullmatch(before)
            out.append(self._argument(before, value) if option else self.value(value, name))
        return out

    def _argument(self, option: str, value: str) -> str:
        """What stands behind an option, which may give it away."""
        quote = "'" if '"' in value else '"'
        before = f"{option} {quote}"
        for written, end in ((f"{before}{value}{quote}", quote), (f"{option} {value}", "")):
            shown, begin = self.redactor(written), before if end else f"{option} "
            if shown != written and shown.startswith(begin) and shown.endswith(end):
                self._known.setdefault(value, self._shown(shown[len(begin) : len(shown) - len(end)]))
                break
        return self._string(value)

    def _node(self, node: yaml.Node, name: str) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                self._scalar(key, "")
                self._node(value, str(key.value))
        elif isinstance(node, yaml.SequenceNode):
            if all(isinstance(item, yaml.ScalarNode) for item in node.value):
                shown = self._list([item.value for item in node.value], name)
                for item, text in zip(node.value, shown, strict=False):
                    self._replace(item, text)
                return
            for item in node.value:
                self._node(item, name)
        else:
            self._scalar(node, name)

    def _scalar(self, node: yaml.Node, name: str) -> None:
        if isinstance(node, yaml.ScalarNode):
            self._replace(node, self._string(node.value, name))

    def _replace(self, node: yaml.ScalarNode, text: str) -> None:
        if text != node.value:
            node.value, node.tag, node.style = text, "tag:yaml.org,2002:str", '"'

    def _shown(self, text: str) -> str:
        """With what is public put back."""
        for one in self.redactor.replacements:
            if one.original in PUBLIC and one.placeholder in text:
                text = text.replace(one.placeholder, one.original)
        return text
