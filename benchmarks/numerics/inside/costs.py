# mypy: disable-error-code="import-not-found"
"""CPU time of prefill and decode with an instrument: python -m benchmarks.numerics.inside.costs INSTRUMENT SIZE

It answers each line of its input, the name of a phase, with the seconds of the CPU that one block of it took, over all
threads of the process. Two of these processes asked in turns meet the same disturbances.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # before the import: nothing here needs the network

import torch
from benchmarks.numerics.inside.models import LARGE, VOCABULARY, build, configuration
from benchmarks.numerics.inside.peers import INSTRUMENTS
from benchmarks.numerics.inside.serving import cache_argument

PROMPT = 128
BLOCKS = {"large": (1, 8), "tiny": (8, 32)}
"""Prefills, and decode steps, in one block."""


def blocks(model: Any, size: str) -> dict[str, Callable[[], Callable[[], None]]]:
    """Each phase: what prepares a block, and returns what is timed."""
    prefills, steps = BLOCKS[size]
    ids = torch.randint(8, VOCABULARY, (1, PROMPT), generator=torch.Generator().manual_seed(1))
    name = cache_argument(model)

    def once(tokens: torch.Tensor, cache: Any = None) -> Any:
        with torch.no_grad():
            return model(input_ids=tokens, use_cache=True, logits_to_keep=1, **({name: cache} if cache else {}))

    def prefill() -> Callable[[], None]:
        def block() -> None:
            for _ in range(prefills):
                once(ids)

        return block

    def decode() -> Callable[[], None]:
        cache = once(ids)[name]

        def block() -> None:
            for _ in range(steps):
                once(ids[:, :1], cache)

        return block

    return {"prefill": prefill, "decode": decode}


def main() -> None:
    """Says the number of parameters, then answers until its input ends."""
    instrument, size = sys.argv[1:]
    torch.set_num_threads(1)
    model = build(configuration("llama", **(LARGE if size == "large" else {})), 0, "float32", "sdpa")
    INSTRUMENTS[instrument].load()
    phases = blocks(model, size)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print must not come between the answers
    print(sum(parameter.numel() for parameter in model.parameters()), file=answers)
    for line in sys.stdin:
        block = phases[line.strip()]()
        looking = INSTRUMENTS[instrument]()
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            looking.start(model)
            began = time.process_time()
            block()
            looking.stop()
            used = time.process_time() - began
        print(used, file=answers)


if __name__ == "__main__":
    main()
