"""Logs of any size as a serving engine writes them for days: almost nothing matters, or every fifth line looks so."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

START = (
    "$ python -m sglang.launch_server --model-path /models/big --tp 2 --kv-cache-dtype auto\n"
    "[2025-11-29 20:41:31] server_args=ServerArgs(model_path='/models/big', tp_size=2, kv_cache_dtype='auto')\n"
    "[2025-11-29 20:42:02 TP0] Load weight begin. avail mem=92.81 GB\n"
    "[2025-11-29 20:44:12 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, mem usage=40.10 GB.\n"
    "[2025-11-29 20:44:13 TP0] KV Cache is allocated. #tokens: 912345, K size: 20.00 GB, V size: 20.00 GB\n"
    "[2025-11-29 20:44:40] The server is fired up and ready to roll!\n"
)
END = (
    "[2025-11-30 08:12:01 TP1] Scheduler hit an exception: Traceback (most recent call last):\n"
    '  File "/sglang/srt/managers/scheduler.py", line 2901, in run_scheduler_process\n'
    "    scheduler.event_loop_overlap()\n"
    '  File "/sglang/srt/layers/sampler.py", line 90, in forward\n'
    "    next_token_ids = torch.multinomial(probs, 1)\n"
    "torch.AcceleratorError: CUDA error: device-side assert triggered\n"
    "\n"
    "[2025-11-30 08:12:01] Received sigquit from a child process. It usually means the child failed.\n"
)
"""The failure is at the very end: who stops early finds nothing."""

_ORDINARY = (
    "[2025-11-29 {h:02d}:{m:02d}:{s:02d} TP0] Decode batch, #running-req: {a}, #token: {b}, token usage: 0.4{c}, "
    "cuda graph: True, gen throughput (token/s): {d}.{c}, #queue-req: {c}",
    "[2025-11-29 {h:02d}:{m:02d}:{s:02d} TP1] Prefill batch, #new-seq: 1, #new-token: {b}, #cached-token: {a}, "
    "token usage: 0.2{c}, #running-req: {a}, #queue-req: {c}",
    '[2025-11-29 {h:02d}:{m:02d}:{s:02d}] INFO:     127.0.0.1:{b} - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    "INFO 11-29 {h:02d}:{m:02d}:{s:02d} [loggers.py:122] Engine 000: Avg prompt throughput: {d}.{c} tokens/s, Avg "
    "generation throughput: {d}.{c} tokens/s, Running: {a} reqs, Waiting: {c} reqs, GPU KV cache usage: {a}.{c}%",
    "[2025-11-29 {h:02d}:{m:02d}:{s:02d}] req {b}{d}: accepted {a} of {c} draft tokens in step {d}, tree depth {c}",
)
_LOOKS_SO = (
    '[2025-11-29 {h:02d}:{m:02d}:{s:02d}] INFO:     127.0.0.1:{b} - "POST /v1/completions HTTP/1.1" 500 Internal '
    "Server Error",
    "[2025-11-29 {h:02d}:{m:02d}:{s:02d} TP0] INFO: request {i:032x} timed out in the queue after {a} s, tried again",
    "WARNING 11-29 {h:02d}:{m:02d}:{s:02d} [shm_broadcast.py:466] No available block in {a} s, no watchdog was asked",
    "ERROR 11-29 {h:02d}:{m:02d}:{s:02d} [serving_chat.py:200] Error in preprocessing prompt inputs of cmpl-{i:032x}",
    "[2025-11-29 {h:02d}:{m:02d}:{s:02d} TP1] INFO: shared memory of request {b} was given back after {d} ms",
)


def _lines(rng: random.Random, one_in: int) -> Iterator[str]:
    """No two of them alike: a reader must not gain by having seen a line before."""
    number = 0
    while True:
        number += 1
        bits = rng.getrandbits(64)
        text = _LOOKS_SO[bits % 5] if number % one_in == 0 else _ORDINARY[bits % 5]
        second = number // 100 % 86400
        yield text.format(
            h=second // 3600, m=second // 60 % 60, s=second % 60, a=bits >> 8 & 127, b=bits >> 16 & 65535,
            c=bits >> 32 & 7, d=(bits >> 36 & 8191) / 100, i=bits * 0x9E3779B97F4A7C15 & ((1 << 128) - 1),
        )  # fmt: skip


def ordinary(count: int = 200) -> str:
    """Lines of which none matters."""
    lines = _lines(random.Random(1), 1 << 40)
    return "".join(next(lines) + "\n" for _ in range(count))


def write(path: Path, size: int, one_in: int, seed: int = 7) -> None:
    """A log of about so many bytes; of its lines one in so many looks like a failure and is none."""
    lines = _lines(random.Random(seed), one_in)
    with path.open("w") as stream:
        written = stream.write(START)
        while written < size:
            written += stream.write("\n".join(islice(lines, 10_000)) + "\n")
        stream.write(END)
