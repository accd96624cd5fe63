"""A fake vLLM or SGLang for tests: it takes their flags, logs in their words, and serves; what fails is in a plan.

    engine.py NAME PLAN [the engine's command line]...

The plan has `faults`: flags and variables with their levels (or `{"above": N}`), and `how`: `refused` (an unsupported
model, in loading), `oom` (the KV cache does not fit), `dies` (the first request kills the core), `empty` (200 without
text) or `other` (another text). A fault with `words`, `at_once` or `stream` shows only with prompts of so many words,
with so many requests at once, or in a stream; one with `known`, only with a prompt whose first words were seen before.
"""

from __future__ import annotations

import fcntl
import http.server
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, ClassVar

NAME, PLAN, WORDS = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
plan: dict[str, Any] = json.loads(PLAN.read_text())
HELP = {
    "vllm": """usage: vllm serve [model_tag] [options]
  --host HOST           Host name.
  --port PORT           Port number.
  --attention-backend ATTENTION_BACKEND
  --dtype {auto,bfloat16,float,float16,float32,half}
  --enforce-eager, --no-enforce-eager
  --enable-prefix-caching, --no-enable-prefix-caching
  --kv-cache-dtype {auto,bfloat16,fp8}
  --max-model-len MAX_MODEL_LEN
  --kv-cache-memory-bytes KV_CACHE_MEMORY_BYTES
""",
    "sglang": """usage: sglang serve [-h] --model-path MODEL_PATH [--dtype {auto,half,float16,bfloat16,float,float32}]
    [--attention-backend {triton,torch_native,flashinfer,intel_amx}] [--disable-radix-cache] [--host HOST] [--port PORT]
    [--disable-overlap-schedule] [--chunked-prefill-size CHUNKED_PREFILL_SIZE]
""",
}


def plainly(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def say(text: str, who: str = "") -> None:
    stamp = time.strftime("%m-%d %H:%M:%S")
    head = f"({who} pid={os.getpid()}) INFO {stamp} [fake.py:1] " if NAME == "vllm" else time.strftime("[%Y-%m-%d %X] ")
    plainly("\n".join(f"{head}{line}" for line in text.splitlines()))


def flags() -> dict[str, str]:
    found = {}
    for i, word in enumerate(WORDS):
        if word.startswith("--"):
            after = WORDS[i + 1] if i + 1 < len(WORDS) else "--"
            found[word] = "present" if after.startswith("--") else after
    return found


WORKLOAD = ("words", "at_once", "stream", "known")
TOGETHER_S = 0.5
"""How long a request waits for others to come, where a fault is about several at once."""


class Asked:
    """A request, and how many others are under way with it."""

    under_way = threading.Condition()
    count = 0
    seen: ClassVar[set[str]] = set()

    def __init__(self, body: dict[str, Any]) -> None:
        words = body["prompt"].split()
        start = " ".join(words[:3])
        self.words, self.stream = len(words), bool(body.get("stream"))
        self.known = start in Asked.seen
        Asked.seen.add(start)

    def has(self, one: dict[str, Any]) -> bool:
        """Whether it is one that the fault is about."""
        if self.words < one.get("words", 0) or (one.get("stream") and not self.stream):
            return False
        if one.get("known") and not self.known:
            return False
        with Asked.under_way:
            least = one.get("at_once", 1)
            Asked.count += 1
            Asked.under_way.notify_all()
            together = bool(Asked.under_way.wait_for(lambda: Asked.count >= least, TOGETHER_S))
        time.sleep(0.05 if least > 1 else 0)  # the others have to see it, too
        with Asked.under_way:
            Asked.count -= 1
        return together


def fault(asked: Asked | None = None) -> str:
    """How it fails here, at its start or with a request; empty when it does not."""
    here = {**dict.fromkeys(plan.get("variables", ()), "unset"), **os.environ, **flags()}
    for one in plan.get("faults", ()):
        when = {k: v for k, v in one.items() if k not in ("how", *WORKLOAD)}
        if all(meets(here.get(k, "absent"), v) for k, v in when.items()):
            return str(one["how"]) if asked is None or asked.has(one) else ""
    return ""


def meets(level: str, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return level.isdecimal() and int(level) > wanted["above"]
    return level in (wanted if isinstance(wanted, list) else [wanted])


def crash(error: str, *frames: str) -> None:
    lines = ["Traceback (most recent call last):"]
    for frame in frames:
        path, _, name = frame.partition(":")
        lines += [f'  File "/venv/lib/python3.11/site-packages/{path}", line 87, in {name}', f"    {name}()"]
    plainly("\n".join([*lines, error]))


def start_vllm() -> None:
    given = {name[2:].replace("-", "_"): value for name, value in flags().items()}
    say(f"non-default args: {given}", "APIServer")
    say("Resolved architecture: LlamaForCausalLM\nUsing max model len 512", "APIServer")
    dtype = {"bfloat16": "bfloat16", "float16": "float16"}.get(given.get("dtype", ""), "float32")
    config = f"model='m', dtype=torch.{dtype}, max_seq_len=512, tensor_parallel_size=1, device_config=cpu"
    say(f"Initializing a V1 LLM engine (v0.32.0+cpu) with config: {config}", "EngineCore")
    say("Starting to load model m...", "Worker")
    if given.get("attention_backend", "CPU_ATTN") != "CPU_ATTN":
        say(f"Cannot use AttentionBackendEnum.{given['attention_backend']} backend on CPU.", "Worker")
    if fault() == "refused":
        crash(
            "NotImplementedError: Sparse Attention is not supported on CPU.",
            "vllm/v1/worker/cpu_worker.py:load_model",
            "vllm/platforms/cpu.py:get_attn_backend_cls",
        )
        raise SystemExit(1)
    say("Loading weights took 0.02 seconds", "Worker")
    if fault() == "oom":
        crash(
            "ValueError: Available memory on node 0 (9.71/20.0 GiB) on startup is less than desired CPU memory "
            "utilization: not enough memory for the KV cache",
            "vllm/v1/worker/cpu_worker.py:determine_available_memory",
        )
        raise SystemExit(1)
    say("GPU KV cache size: 699,008 tokens", "EngineCore")


def start_sglang() -> None:
    given = {name[2:].replace("-", "_"): value for name, value in flags().items()}
    say(f"server_args={ {'version': '0.5.23', **given} }")
    say("Load weight begin. avail mem=21.59 GB")
    if fault() == "refused":
        crash("ValueError: FlashInfer is not available.", "sglang/srt/model_executor/model_runner.py:init_attention")
        raise SystemExit(1)
    say("Load weight end. elapsed=0.04 s, type=LlamaForCausalLM, avail mem=21.59 GB, mem usage=0.00 GB.")
    say("KV Cache is allocated. dtype: torch.float32, #tokens: 1483716, K size: 1.06 GB, V size: 1.06 GB")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status: int, body: str) -> None:
        plainly(f'INFO:     127.0.0.1:1 - "{self.command} {self.path} HTTP/1.1" {status}')
        self.send_response(status)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self) -> None:
        self.answer(200 if self.path == {"vllm": "/health", "sglang": "/health_generate"}[NAME] else 404, "")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/completions" or body["model"] != flags().get("--served-model-name", plan.get("model")):
            self.answer(404, '{"error": "no such model"}')
            return
        how = fault(Asked(body))
        if how == "dies":
            crash("ValueError: Head dimension 96 is not supported by MLA.", "vllm/v1/attention/backend.py:__init__")
            say("EngineCore encountered a fatal error.", "EngineCore")
            self.answer(500, '{"error": "EngineDeadError"}')
            return
        text = {"empty": "", "other": " Lyon, as in no other fake."}.get(how, " Paris, as in every fake.")
        choice = {"index": 0, "text": text, "finish_reason": "length"}
        if body.get("logprobs"):
            choice["logprobs"] = {
                "tokens": [text],
                "token_logprobs": [-0.25],
                "top_logprobs": [{text: -0.25, "!": -4.0}],
            }
        document = json.dumps({"choices": [choice], "usage": {"completion_tokens": 8}})
        self.answer(200, f"data: {document}\n\ndata: [DONE]\n\n" if body.get("stream") else document)

    def log_message(self, *words: object) -> None:
        pass


def main() -> None:
    if any(word.startswith("--help") for word in WORDS):
        plainly(HELP[NAME])
        return
    with open(plan["ledger"], "a") as ledger:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        ledger.write(json.dumps({"words": WORDS, "flags": flags()}) + "\n")
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))
    {"vllm": start_vllm, "sglang": start_sglang}[NAME]()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(flags()["--port"])), Handler)
    server.daemon_threads = True
    plainly("INFO:     Application startup complete.")
    if NAME == "sglang":
        say("The server is fired up and ready to roll!")
    server.serve_forever()


if __name__ == "__main__":
    main()
