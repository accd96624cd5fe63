"""The reference of the document names every key that the document has, and no other."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ruleout.model import Evidence, Stage
from ruleout.model import diagnosis as facts
from ruleout.model import story as stories

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "diagnosis-json.md").read_text()
SECTIONS = dict(re.findall(r"^##+ (.+)\n\n((?:\|.*\n)+)", PAGE, re.MULTILINE))
TYPES: dict[str, tuple[type[Any], set[str]]] = {
    "The diagnosis": (facts.Diagnosis, {"schema"}),
    "`engine`": (facts.EngineId, set()),
    "`stages[]`": (facts.StageSpan, set()),
    "`failure`": (facts.DiagnosedFailure, set()),
    "`consequences[]`, `evidence[]`, `spoken_of`": (Evidence, set()),
    "`environment`": (facts.Environment, set()),
    "`settings[]`": (facts.Setting, set()),
    "`warnings[]`": (facts.LogWarning, set()),
    "`suspects[]`": (facts.Suspect, set()),
    "`next[]`": (facts.ProposedStep, set()),
    "`sources[]`": (facts.LogSource, set()),
    "`choices[]`": (facts.Choices, set()),
    "The story of several logs": (stories.Story, set()),
    "`target`": (stories.Target, set()),
    "`runs[]`": (stories.StoryRun, {"masked", "informative"}),
    "`runs[].failure`": (stories.RunFailure, set()),
    "`varied[]`": (stories.Varied, set()),
    "`masked[]`": (stories.MaskedRun, set()),
    "`untried[]`": (stories.Untried, set()),
    "`shared[]`": (stories.Shared, set()),
    "`against[]`": (stories.Difference, set()),
    "`brief[]`": (stories.Brief, set()),
}
"""Each section's type, and the keys that the document adds to its fields."""


@pytest.mark.parametrize("section", TYPES)
def test_a_section_has_the_keys_of_its_type_in_their_order(section: str) -> None:
    kind, more = TYPES[section]
    named = re.findall(r"^\| `([^`]+)` \|", SECTIONS[section], re.MULTILINE)
    assert [key for key in named if key not in more] == [field.name.rstrip("_") for field in fields(kind)]
    assert more <= set(named)


def test_every_section_is_of_a_type_and_every_type_of_the_document_has_one() -> None:
    assert set(SECTIONS) == set(TYPES)
    used = {kind.__name__ for kind, _ in TYPES.values()}
    there = {
        name
        for module in (facts, stories)
        for name, kind in vars(module).items()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and hasattr(kind, "__dataclass_fields__")
    }
    assert there - used == {"Levels"}  # what the engines' lists bring, which no document has


@pytest.mark.parametrize("values", [facts.LogOutcome, facts.ChosenBy, facts.StepKind, Stage])
def test_every_value_of_a_small_vocabulary_is_named(values: type[Stage]) -> None:
    assert [value for value in values if f"`{value.value}`" not in PAGE] == []
