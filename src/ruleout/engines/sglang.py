"""SGLang's `/health_generate` answers 200 once a token has come through the scheduler: that is what ready means here.

`/health` does the same in present releases unless SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION is off, and was a plain 200
of the HTTP server in old ones (python/sglang/srt/entrypoints/http_server.py in https://github.com/sgl-project/sglang).
Both are 503 while the server warms up, and neither asks for the API key.
"""

from __future__ import annotations

from ruleout.engines.serving import Server
from ruleout.reading.formats.sglang import SGLANG as LOG

SGLANG = Server(
    name="sglang",
    called="python -m sglang.launch_server",
    stages=dict(LOG.stages),
    context_flags=("--context-length",),
    logprobs=True,
    ready_path="/health_generate",
    model_flags=("--model-path", "--model"),
    name_flags=("--served-model-name",),
    positional=False,
    port=30000,
    offline={"HF_HUB_OFFLINE": "1"},
    override_flag="--json-model-override-args",
    # https://docs.sglang.io/docs/basic_usage/native_api.md; metrics are off unless the command turns them on
    pages=("/health", "/metrics", "/server_info"),
)
"""The adapter."""
