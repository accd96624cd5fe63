"""What makes a failure say more, and what makes a trial cheaper: offered with their price, never set by themselves.

A step of the ladder watches, and watching changes timing: a failure that goes away with it was a race, or asynchronous.
A proxy serves less than the real model; what holds for it need not hold for the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ruleout.model import ABSENT, UNSET, Factor, Mechanism


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the debugging ladder.

    Attributes:
        change: levels by flag or variable; an empty level is a bare flag.
        price: what a trial costs more.
        effect: what it changes about what is observed.
    """

    change: Mapping[str, str]
    gives: str
    price: str
    effect: str


_BLOCKING = Step(
    # https://docs.nvidia.com/cuda/cuda-c-programming-guide/#asynchronous-execution
    {"CUDA_LAUNCH_BLOCKING": "1"},
    "the stack of the kernel that fails, not of a later one",
    "several times slower; graphs must be off",
    "kernels no longer overlap: races between them go away",
)
_CORE = Step(
    # https://docs.nvidia.com/cuda/cuda-gdb/index.html#gpu-core-dump-support
    {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "1", "CUDA_COREDUMP_FILE": "/tmp/cuda-%h-%p.core"},
    "the failing kernel, its block and its registers, for cuda-gdb",
    "disk: up to the memory in use; the process waits while it is written",
    "none until it fails",
)
_NCCL = Step(
    # https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
    {"NCCL_DEBUG": "INFO"},
    "which transports, rings and interfaces are used, and the call that fails",
    "a longer log; hardly any time",
    "hardly any",
)
LADDERS: Mapping[str, tuple[Step, ...]] = {
    "vllm": (
        Step(
            {"--enforce-eager": ""},
            "Python stacks where graphs hide them",
            "decoding up to 5 times slower; starts faster",
            "no graphs and no torch.compile: their faults go away",
        ),
        _NCCL,
        _BLOCKING,
        _CORE,
    ),
    "sglang": (
        Step(
            {"--disable-cuda-graph": ""},
            "Python stacks where graphs hide them",
            "decoding up to 5 times slower; starts faster",
            "no graphs: their faults go away",
        ),
        Step(
            # python/sglang/srt/environ.py in https://github.com/sgl-project/sglang
            {"SGLANG_ENABLE_ASYNC_ASSERT": "1"},
            "the first index out of range, where it is written",
            "a little slower",
            "asserts on the device: they may fire before the failure that is looked for",
        ),
        _NCCL,
        _BLOCKING,
        _CORE,
    ),
    "transformers": (_NCCL, _BLOCKING, _CORE),
    "tensorrt-llm": (
        Step(
            # https://nvidia.github.io/TensorRT-LLM/reference/troubleshooting.html
            {"TLLM_LOG_LEVEL": "DEBUG"},
            "what the executor does, step by step",
            "a much longer log",
            "slower between kernels",
        ),
        _NCCL,
        _BLOCKING,
        _CORE,
    ),
    "llama.cpp": (
        Step(
            # tools/server/README.md in https://github.com/ggml-org/llama.cpp
            {"--verbosity": "5"},
            "every request and slot",
            "a much longer log",
            "slower between tokens",
        ),
        _BLOCKING,
        _CORE,
    ),
}
"""By engine, the cheapest first."""


def _dummy(name: str) -> Factor:
    return Factor(name, Mechanism.FLAG, "--load-format", (ABSENT, "dummy"), ABSENT, proxy=True)


def _layers(few: str) -> Factor:
    return Factor("layers", Mechanism.OVERRIDE, "num_hidden_layers", (UNSET, few), UNSET, proxy=True)


PROXIES: Mapping[str, tuple[Factor, ...]] = {
    "vllm": (_dummy("weights"), _layers("4")),
    "sglang": (_dummy("weights"), _layers("4")),
}
"""By engine: random weights instead of the real ones; fewer layers. Their faults go away, those of late layers too."""
