"""The catalogue of known failures, as it comes with ruleout: written in YAML, loaded from JSON.

`rules/*.yaml` is what people edit and read; `rules/catalogue.json` is made from it by `tools/rules.py`, and a test sees
to it that both say the same. So a diagnosis need not wait for a YAML parser.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ruleout.diagnosis.rule import Conditions, Rule
from ruleout.model import Component, UsageError

_DATA = files("ruleout.diagnosis") / "rules"


@cache
def catalogue() -> tuple[Rule, ...]:
    """All rules that come with ruleout."""
    return built(json.loads((_DATA / "catalogue.json").read_text(encoding="utf-8")))


def read_files(paths: Iterable[Path]) -> tuple[Rule, ...]:
    """The rules of YAML files. Raises UsageError with file and line, also for an id that is there twice."""
    from ruleout.diagnosis.rulefile import read_rules

    plain = [rule for path in paths for rule in read_rules(path)]
    seen: dict[str, str] = {}
    for rule in plain:
        if rule["id"] in seen:
            raise UsageError(
                f"{rule['source']}: the id {rule['id']} is taken ({seen[rule['id']]})", "Name it otherwise."
            )
        seen[rule["id"]] = rule["source"]
    return built(plain)


def shipped_files() -> list[Path]:
    """The YAML files that come with ruleout, in order."""
    return sorted(Path(str(_DATA)).glob("*.yaml"))


def built(plain: Iterable[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Rules from plain data."""
    return tuple(_rule(data) for data in plain)


def _rule(data: Mapping[str, Any]) -> Rule:
    when = data["when"]
    return Rule(
        data["id"],
        data["title"],
        Component(data["component"]),
        data["claim"],
        data["test"],
        data["confidence"],
        tuple(data["references"]),
        Conditions(
            tuple(when.get("class", ())),
            tuple(when.get("stage", ())),
            tuple(when.get("any", ())),
            tuple(when.get("lines", ())),
            tuple(when.get("not", ())),
            dict(when.get("settings", {})),
            dict(when.get("environment", {})),
        ),
        tuple(data.get("engines", ())),
        dict(data.get("versions", {})),
        dict(data.get("fix", {})),
        tuple(data.get("behind", ())),
        tuple(data.get("matching", ())),
        tuple(data.get("other", ())),
        data.get("source", ""),
    )
