"""How many GPUs have to be free for a command."""

from __future__ import annotations

import pytest

from ruleout.engines.devices import devices


@pytest.mark.parametrize(
    ("engine", "command", "count"),
    [
        ("vllm", "vllm serve m", 1),
        ("vllm", "vllm serve m -tp 4 --pipeline-parallel-size=2", 8),
        ("vllm", "vllm serve m --tensor-parallel-size 2 --data-parallel-size 2", 4),
        ("vllm", "vllm serve m --device cpu", 0),
        ("sglang", "python -m sglang.launch_server --model-path m --tp 8 --dp 8 --device cuda", 8),
        ("sglang", "python -m sglang.launch_server --model-path m --tp 8 --base-gpu-id 4", 0),
        ("sglang", "python -m sglang.launch_server --model-path m --tp 16 --nnodes 2", 0),
        ("tensorrt-llm", "trtllm-serve m --tp_size 2", 2),
        ("vllm", "vllm serve m -tp many", 1),
        ("command", "python train.py --tp 8", 0),
        ("transformers", "transformers serve m", 0),
    ],
)
def test_what_its_flags_say(engine: str, command: str, count: int) -> None:
    assert devices(engine, command.split()) == count
