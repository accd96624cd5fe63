"""What makes a failure say more, with its price and with what it changes about what is looked at.

A step of the ladder watches, and watching changes timing: a failure that goes away with it tells of a race, one that
stays tells where it is born.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ruleout.model import FailureClass
from ruleout.model.diagnosis import DiagnosedFailure
from ruleout.model.outcome import Failure


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


BLOCKING = Step(
    # https://docs.nvidia.com/cuda/cuda-c-programming-guide/#asynchronous-execution
    {"CUDA_LAUNCH_BLOCKING": "1"},
    "the stack of the kernel that fails, not of a later one",
    "several times slower; graphs must be off",
    "kernels no longer overlap: races between them go away",
)
CORE = Step(
    # https://docs.nvidia.com/cuda/cuda-gdb/index.html#gpu-core-dump-support
    {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "1", "CUDA_COREDUMP_FILE": "/tmp/cuda-%h-%p.core"},
    "the failing kernel, its block and its registers, for cuda-gdb",
    "disk: up to the memory in use; the process waits while it is written",
    "none until it fails",
)
ASYNC_ASSERT = Step(
    # python/sglang/srt/environ.py in https://github.com/sgl-project/sglang
    {"SGLANG_ENABLE_ASYNC_ASSERT": "1"},
    "the first index out of range, where it is written",
    "a little slower",
    "asserts on the device: they may fire before the failure that is looked for",
)
NCCL = Step(
    # https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
    {"NCCL_DEBUG": "INFO"},
    "which transports, rings and interfaces are used, and the call that fails",
    "a longer log; hardly any time",
    "hardly any",
)
_SLOWER = "decoding up to 5 times slower; starts faster"
_STACKS = "Python stacks where graphs hide them"
EAGER: Mapping[str, Step] = {
    "vllm": Step({"--enforce-eager": ""}, _STACKS, _SLOWER, "no graphs and no torch.compile: their faults go away"),
    "sglang": Step({"--disable-cuda-graph": ""}, _STACKS, _SLOWER, "no graphs: their faults go away"),
}
"""How an engine is kept from CUDA graphs, inside of which no kernel can be waited for."""
LADDERS: Mapping[str, tuple[Step, ...]] = {
    "vllm": (
        EAGER["vllm"],
        NCCL,
        BLOCKING,
        CORE,
    ),
    "sglang": (
        EAGER["sglang"],
        ASYNC_ASSERT,
        NCCL,
        BLOCKING,
        CORE,
    ),
    "transformers": (NCCL, BLOCKING, CORE),
    "tensorrt-llm": (
        Step(
            # https://nvidia.github.io/TensorRT-LLM/reference/troubleshooting.html
            {"TLLM_LOG_LEVEL": "DEBUG"},
            "what the executor does, step by step",
            "a much longer log",
            "slower between kernels",
        ),
        NCCL,
        BLOCKING,
        CORE,
    ),
    "llama.cpp": (
        Step(
            # tools/server/README.md in https://github.com/ggml-org/llama.cpp
            {"--verbosity": "5"},
            "every request and slot",
            "a much longer log",
            "slower between tokens",
        ),
        BLOCKING,
        CORE,
    ),
}
"""By engine, the cheapest first."""

_LATE = frozenset(
    {FailureClass.ILLEGAL_MEMORY_ACCESS, FailureClass.KERNEL_LAUNCH_ERROR, FailureClass.ILLEGAL_INSTRUCTION}
    | {FailureClass.DEVICE_SIDE_ASSERT, FailureClass.OTHER}
)


def reported_late(failure: Failure | DiagnosedFailure) -> bool:
    """Whether waiting for every kernel would tell which one failed.

    Not where the device says what it found: values that are no probabilities were written long before.
    """
    return failure.asynchronous and failure.class_ in _LATE and "probability tensor" not in failure.message


def waiting_for_each(engine: str) -> Step:
    """Every kernel is waited for, and CUDA graphs are off where the engine has them."""
    graphs = EAGER.get(engine)
    if graphs is None:
        return BLOCKING
    return Step(
        {**BLOCKING.change, **graphs.change}, BLOCKING.gives, BLOCKING.price, f"{BLOCKING.effect}; {graphs.effect}"
    )
