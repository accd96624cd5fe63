"""On how many accelerators a command runs, as far as its flags tell: those are the ones that have to be free for it.

Where nothing is known, none is asked for: a server that adapts to what is free must not be refused for what is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ruleout.model import arguments

_TENSOR = ("--tensor-parallel-size", "-tp", "--tp-size", "--tp", "--tp_size")
_PIPELINE = ("--pipeline-parallel-size", "-pp", "--pp-size", "--pp", "--pp_size")
_DATA = ("--data-parallel-size", "-dp", "--dp-size", "--dp")
_RANKS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "vllm": (_TENSOR, _PIPELINE, _DATA),
    "sglang": (_TENSOR, _PIPELINE),
    "tensorrt-llm": (_TENSOR, _PIPELINE),
}
"""By engine, the flags whose numbers multiply. SGLang's data parallelism may share the ranks of tensor parallelism."""
_ELSEWHERE = ("--base-gpu-id", "--nnodes", "--data-parallel-address", "--headless")
"""With these, it is not the first accelerators of this host, or not all of them."""


def devices(engine: str, argv: Sequence[str]) -> int:
    """How many of the visible accelerators, the first ones, the command takes for itself; 0 where that is not known."""
    device = arguments.value_of(argv, "--device") or ""
    elsewhere = any(arguments.value_of(argv, flag) is not None or flag in argv for flag in _ELSEWHERE)
    if engine not in _RANKS or elsewhere or device not in ("", "auto", "cuda"):
        return 0
    return prod(_size(argv, flags) for flags in _RANKS[engine])


def _size(argv: Sequence[str], flags: Sequence[str]) -> int:
    values = (arguments.value_of(argv, flag) for flag in flags)
    given = next((value for value in values if value is not None), "1")
    return int(given) if given.isdecimal() and int(given) else 1
