"""The table of what kernels need, as it is written: rows of YAML, each with the place that says so.

Source of the reading: hardware.yaml beside this file says what its keys mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ruleout.model import Component
from ruleout.model.audit import Severity

Choices = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Need:
    """One row: when it applies, what it needs, what is said where that is not there.

    Attributes:
        works: compute capabilities on which it works; None where it is not said by them.
        fails: those on which it does not.
        shared_memory: bytes a block needs; 0 where that is not the question.
    """

    id: str
    engines: frozenset[str]
    versions: str
    model: frozenset[str]
    quantization: frozenset[str]
    settings: Choices
    unless_settings: Choices
    unless_env: Choices
    works: frozenset[str] | None
    fails: frozenset[str]
    shared_memory: int
    severity: Severity
    component: Component
    what: str
    remedy: str
    source: str


@dataclass(frozen=True)
class Table:
    """All rows, and by compute capability the bytes of shared memory of a block and the first toolkit that knows it."""

    needs: tuple[Need, ...]
    shared_memory: Mapping[str, int]
    toolkits: Mapping[str, str]
    toolkit_source: str


@cache
def table() -> Table:
    """The table that comes with ruleout."""
    import yaml

    raw = yaml.safe_load((files("ruleout.audit") / "hardware.yaml").read_text(encoding="utf-8"))
    groups: dict[str, list[str]] = raw["groups"]
    needs = tuple(_need(row, groups) for row in raw["needs"])
    gpus = raw["gpus"]
    return Table(needs, gpus["shared_memory"], gpus["toolkits"], gpus["toolkit_source"])


def _need(row: dict[str, Any], groups: Mapping[str, list[str]]) -> Need:
    unless = row.get("unless", {})
    return Need(
        id=row["id"],
        engines=frozenset(row["engines"]),
        versions=row.get("versions", ""),
        model=frozenset(row.get("model", ())),
        quantization=frozenset(row.get("quantization", ())),
        settings=_choices(row.get("settings", {})),
        unless_settings=_choices(unless.get("settings", {})),
        unless_env=_choices(unless.get("env", {})),
        works=_capabilities(row["only_on"], groups) if "only_on" in row else None,
        fails=_capabilities(row.get("fails_on", []), groups),
        shared_memory=row.get("shared_memory", 0),
        severity=Severity(row["severity"]),
        component=Component(row["component"]),
        what=row["what"],
        remedy=row["remedy"],
        source=row["source"],
    )


def _capabilities(names: list[str], groups: Mapping[str, list[str]]) -> frozenset[str]:
    return frozenset(capability for name in names for capability in groups.get(name, [name]))


def _choices(settings: Mapping[str, list[str]]) -> Choices:
    return {name: frozenset(values) for name, values in settings.items()}


def within(version: tuple[int, ...], bounds: str) -> bool:
    """Whether a release lies within bounds such as `>=0.5.9,<0.6`; none hold for all."""
    for bound in filter(None, bounds.split(",")):
        found = re.fullmatch(r"\s*(<=|>=|<|>)\s*(\d+(?:\.\d+)*)\s*", bound)
        if not found:
            raise ValueError(f"no bound of a release: {bound!r}")
        there = tuple(int(part) for part in found[2].split("."))
        width = max(len(version), len(there))
        here, there = (v + (0,) * (width - len(v)) for v in (version, there))
        holds = {"<": here < there, "<=": here <= there, ">=": here >= there, ">": here > there}
        if not holds[found[1]]:
            return False
    return True
