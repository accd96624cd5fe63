"""Engines by name, and by the command that starts them."""

from __future__ import annotations

import pytest

from ruleout.engines import ENGINES, engine_named, recognise
from ruleout.model import UsageError


@pytest.mark.parametrize("name", ["transformers", "command"])
def test_an_adapter_is_found_by_its_name(name: str) -> None:
    assert engine_named(name).name == name


@pytest.mark.parametrize("name", ["sglang", "vllm", "llama.cpp", "tensorrt-llm"])
def test_an_engine_without_an_adapter_is_told_with_a_way_out(name: str) -> None:
    with pytest.raises(UsageError) as error:
        engine_named(name)
    assert error.value.what == f"engine {name} has no adapter yet"
    assert "engine: command" in error.value.remedy


def test_an_unknown_engine_is_told_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="unknown engine 'vlm'") as error:
        engine_named("vlm")
    assert all(name in error.value.remedy for name in ENGINES)


@pytest.mark.parametrize(
    ("command", "engine"),
    [
        ("transformers serve m", "transformers"),
        ("/venv/bin/transformers serve", "transformers"),
        ("python3 -m transformers.cli.transformers serve", "transformers"),
        ("transformers chat", "command"),
        ("python3 -m sglang.launch_server", "command"),
        ("vllm serve m", "command"),
        ("", "command"),
    ],
)
def test_a_command_is_recognised(command: str, engine: str) -> None:
    assert recognise(command.split()) == engine
