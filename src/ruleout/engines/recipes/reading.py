"""The recipes that ruleout brings, by the name of their environment."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from ruleout.engines.recipes.recipe import FixUp, Proof, Recipe
from ruleout.model import UsageError


@cache
def recipes() -> Mapping[str, Recipe]:
    """All of them."""
    shipped = sorted(path.name for path in files(__package__).iterdir() if path.name.endswith(".yaml"))
    found = [_read(yaml.safe_load((files(__package__) / name).read_text(encoding="utf-8"))) for name in shipped]
    return {each.name: each for each in found}


def recipe(name: str) -> Recipe:
    """The recipe of an environment, by its full name or by an engine that has only one. Raises UsageError."""
    known = recipes()
    if name in known:
        return known[name]
    of_engine = [each for each in known.values() if each.engine == name]
    if len(of_engine) == 1:
        return of_engine[0]
    choice = ", ".join(each.name for each in of_engine) or ", ".join(known)
    raise UsageError(
        f"{name}: {'more than one environment of that engine' if of_engine else 'no environment of that name'}",
        f"Name one of {choice}.",
    )


def _read(document: Mapping[str, Any]) -> Recipe:
    return Recipe(
        engine=document["engine"],
        version=document["version"],
        steps=tuple(tuple(step) for step in document["install"]),
        fixups=tuple(FixUp(**each) for each in document.get("fixups", ())),
        proofs=tuple(Proof(tuple(each["run"].split()), each.get("says", "")) for each in document.get("proof", ())),
    )
