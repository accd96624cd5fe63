"""A known kind of failure: when it is the case, what it claims, what would refute it, who has traced it before.

A rule states a kind with parameters, never one thread's text: the named groups of its patterns fill its claim, its test
and its fix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ruleout.diagnosis.view import Place, View
from ruleout.model import Component, Evidence

_PARAMETER = re.compile(r"\{(\w+)\}")
_ASIDE = re.compile(r" ?\([^()]*\)")


@dataclass(frozen=True)
class Conditions:
    """All of them must hold. Patterns are regular expressions.

    Attributes:
        class_, stage: of the failure, one of these.
        any: at least one of these in the failure, in a line near it, or else in a warning of the stage in which it
            failed; their named groups are the rule's parameters.
        lines: each of these in a line that was kept of the log.
        without: none of these in the failure or near it.
        settings, environment: a value by its name, which matches in full; a name may end in `*`.
    """

    class_: tuple[str, ...] = ()
    stage: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    @cached_property
    def compiled(self) -> dict[str, tuple[re.Pattern[str], ...]]:
        """The patterns of `any`, `lines` and `without`."""
        parts = {"any": self.any, "lines": self.lines, "without": self.without}
        return {name: tuple(re.compile(p) for p in patterns) for name, patterns in parts.items()}


@dataclass(frozen=True)
class Rule:
    """A rule of the catalogue.

    Attributes:
        engines: those it is about; any when empty.
        versions: by engine, bounds such as `>=0.5.9,<0.6`.
        fix: what removes the failure: flags under `set`, words under `note`.
        test: what observation would refute it.
        behind: what is likely to show next once it is removed.
        references: addresses of independent accounts of it.
        confidence: the probability of its component where it matches.
        matching, other: examples of our own, each an excerpt.
    """

    id: str
    title: str
    component: Component
    claim: str
    test: str
    confidence: float
    references: tuple[str, ...]
    when: Conditions
    engines: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    fix: dict[str, Any] = field(default_factory=dict)
    behind: tuple[str, ...] = ()
    matching: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A rule that holds for a run: its parameters, and the lines that say so."""

    rule: Rule
    parameters: dict[str, str]
    evidence: tuple[Evidence, ...]

    def filled(self, text: str) -> str:
        """A text of the rule with the parameters in their places; what is in parentheses goes where its own lack."""
        text = _ASIDE.sub(lambda found: found[0] if self._knows(found[0]) else "", text)
        return _PARAMETER.sub(lambda found: self.parameters.get(found[1]) or f"some {found[1]}", text)

    def _knows(self, text: str) -> bool:
        return all(self.parameters.get(name) for name in _PARAMETER.findall(text))


def match(rule: Rule, view: View) -> Match | None:
    """Whether a rule holds for a run that failed."""
    diagnosis, when = view.diagnosis, rule.when
    failure, engine = diagnosis.failure, diagnosis.engine
    if failure is None or (rule.engines and engine.name and engine.name not in rule.engines):
        return None
    if (when.class_ and failure.class_ not in when.class_) or (when.stage and diagnosis.stage not in when.stage):
        return None
    if engine.name in rule.versions and engine.version and not within(engine.version, rule.versions[engine.name]):
        return None
    if any(view.find(pattern, Place.WHOLE) for pattern in when.compiled["without"]):
        return None
    evidence: list[Evidence] = []
    for wanted, place in ((when.settings, Place.SETTINGS), (when.environment, Place.ENVIRONMENT)):
        for name, value in wanted.items():
            start = re.escape(name.removesuffix("*")) + (r"\w*" if name.endswith("*") else "")
            found = view.find(re.compile(rf"^{start}=(?:{value})$"), place)
            if not found:
                return None
            evidence.append(found[0])
    parameters: dict[str, str] = {}
    if when.any:
        tries = ((pattern, place) for place in (Place.WHOLE, Place.WARNED) for pattern in when.compiled["any"])
        hit = next((hit for pattern, place in tries if (hit := view.find(pattern, place))), None)
        if not hit:
            return None
        evidence.insert(0, hit[0])
        parameters = {name: value.strip() for name, value in hit[1].groupdict().items() if value}
    for pattern in when.compiled["lines"]:
        line = view.find(pattern, Place.LINES) or view.find(pattern, Place.WHOLE)
        if not line:
            return None
        evidence.append(line[0])
    named = {(e.source, e.line): e for e in evidence if e.line}
    return Match(rule, parameters, tuple(named.values()))


def within(version: str, bounds: str) -> bool:
    """Whether a version lies within bounds such as `>=0.5.9,<0.6`. What is no number counts as nothing."""
    for bound in bounds.split(","):
        found = re.fullmatch(r"\s*(<=|>=|==|<|>)\s*([\w.]+)\s*", bound)
        if not found:
            raise ValueError(f"no bound of a version: {bound!r}")
        width = max(len(_numbers(version)), len(_numbers(found[2])))
        here, there = (v + (0,) * (width - len(v)) for v in (_numbers(version), _numbers(found[2])))
        holds = {"<": here < there, "<=": here <= there, "==": here == there, ">=": here >= there, ">": here > there}
        if not holds[found[1]]:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"[+\-]|rc|dev|a\d|b\d|post", version)[0]))
