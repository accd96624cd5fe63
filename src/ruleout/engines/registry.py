"""Which engines ruleout can speak to."""

from __future__ import annotations

from collections.abc import Mapping

from ruleout.engines.base import Engine
from ruleout.engines.command import Command
from ruleout.engines.llamacpp import LLAMACPP
from ruleout.engines.sglang import SGLANG
from ruleout.engines.tensorrt_llm import TENSORRT_LLM
from ruleout.engines.transformers import TRANSFORMERS
from ruleout.engines.vllm import VLLM
from ruleout.model import UsageError

_ALL: tuple[Engine, ...] = (VLLM, SGLANG, TRANSFORMERS, LLAMACPP, TENSORRT_LLM, Command())
ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in _ALL}
"""The adapters, by the name in `engine:` of a case file."""


def engine_named(name: str) -> Engine:
    """The adapter of that name. Raises UsageError when there is none."""
    if name not in ENGINES:
        raise UsageError(f"unknown engine {name!r}", f"Use one of {', '.join(ENGINES)}; `command` runs anything.")
    return ENGINES[name]
