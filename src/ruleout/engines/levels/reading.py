"""A release has the levels of the latest list that is not newer; one older than all lists has those of the oldest."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from ruleout.model import Component
from ruleout.model.story import Levels

BARE = ("False", "True")
"""The levels of a flag without a value, as configurations print them."""


def levels_of(engine: str, version: str | None = None) -> tuple[Levels, ...]:
    """The levels of an engine's settings in that release (the newest known without one); none for other engines."""
    told = (entry for entry in entries(engine) if not entry.get("trial_only"))
    return tuple(levels for entry in told for levels in _levels(entry, engine, version))


@cache
def entries(engine: str) -> tuple[dict[str, Any], ...]:
    """The settings of an engine as its file lists them; none for other engines."""
    import yaml

    path = files("ruleout.engines") / "levels" / f"{engine}.yaml"
    if not re.fullmatch(r"[\w.\-]+", engine) or not path.is_file():
        return ()
    return tuple(yaml.safe_load(path.read_text(encoding="utf-8"))["settings"])


def _levels(entry: dict[str, Any], engine: str, version: str | None) -> list[Levels]:
    """One for each name that the setting has; under a former name, without a version, those of its last list."""
    component = Component(entry["component"])
    found = []
    for key in ("flag", "formerly"):
        if key in entry:
            at = version or (entry.get("renamed_after") if key == "formerly" else None)
            release = "" if entry.get("bare") else release_of(entry, at)
            levels = tuple(entry["levels"][release]) if release else BARE
            found.append(Levels(_name(entry[key]), levels, component, f"{engine} {release}".strip()))
    return found


def release_of(entry: dict[str, Any], version: str | None) -> str:
    """The release whose list of levels holds in that version."""
    releases: list[str] = sorted(entry["levels"], key=_parts)
    if version is None or not _parts(version):
        return releases[-1]
    return next((r for r in reversed(releases) if _parts(r) <= _parts(version)), releases[0])


def _parts(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _name(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")
