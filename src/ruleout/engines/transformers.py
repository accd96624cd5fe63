"""`transformers serve`, as of 5.2 to 5.24.

Two things differ from the other servers. It answers `/health` as soon as it listens, which is before the model is
loaded unless the command forces one. And under continuous batching 5.2 encodes its answers twice: the body is a JSON
string that holds the JSON. The model is `--force-model` (5.2) or the argument of `serve` (5.24, which refuses a request
that names any other); completions it answers through chat alone.
"""

from __future__ import annotations

from ruleout.engines import openai
from ruleout.engines.serving import Server
from ruleout.model import Stage

TRANSFORMERS = Server(
    name="transformers",
    called="transformers serve",
    # Requests are announced from 5.24 on; 5.2 logs nothing when one arrives. Neither says when decoding begins.
    stages={
        Stage.MODEL_CONFIG: r"^(\[transformers\] )?(Loading \S+$|loading configuration file (.*/)?config\.json)",
        Stage.WEIGHT_LOAD: r"loading weights file |Loading weights:|Loading checkpoint shards:",
        Stage.READY: r"^INFO: +Uvicorn running on ",
        Stage.PREFILL: r"\[Request received\] Model: ",
        Stage.SHUTDOWN: r"^INFO: +Shutting down$",
    },
    ready_path="/health",
    model_flags=("--force-model",),
    bare=frozenset(
        {"--continuous-batching", "--compile", "--trust-remote-code", "--cb-use-cuda-graph", "--enable-cors"}
        | {"--input-validation", "--non-blocking", "--json", "-q", "--quiet", "-h", "--help"}
    ),
    completions=openai.CHAT,
    offline={"HF_HUB_OFFLINE": "1"},
    pages=("/health",),
)
"""The adapter."""
