"""Engines by name."""

from __future__ import annotations

import pytest

from ruleout.engines import ENGINES, engine_named
from ruleout.model import UsageError


@pytest.mark.parametrize("name", ["vllm", "sglang", "transformers", "llama.cpp", "tensorrt-llm", "command"])
def test_an_adapter_is_found_by_its_name(name: str) -> None:
    assert engine_named(name).name == name


def test_an_unknown_engine_is_told_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="unknown engine 'vlm'") as error:
        engine_named("vlm")
    assert all(name in error.value.remedy for name in ENGINES)
