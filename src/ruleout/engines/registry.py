"""Which engines ruleout can speak to, and which engine a command starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ruleout.engines.base import Engine
from ruleout.engines.command import Command
from ruleout.engines.transformers import Transformers, serve_position
from ruleout.model import UsageError

ENGINES: Mapping[str, Engine] = {"transformers": Transformers(), "command": Command()}
"""The adapters, by the name in `engine:` of a case file."""

PLANNED = ("sglang", "vllm", "llama.cpp", "tensorrt-llm")
"""Names a case file may use that have no adapter yet."""


def engine_named(name: str) -> Engine:
    """The adapter of that name. Raises UsageError when there is none."""
    if name in ENGINES:
        return ENGINES[name]
    if name in PLANNED:
        raise UsageError(
            f"engine {name} has no adapter yet",
            "Use `engine: command` with {port} in the command and `ready: {path: /health}`.",
        )
    raise UsageError(f"unknown engine {name!r}", f"Use one of {', '.join(ENGINES)}; `command` runs anything.")


def recognise(command: Sequence[str]) -> str:
    """The name of the engine that a command starts; `command` when it is none that is known."""
    return "command" if serve_position(command) is None else "transformers"
