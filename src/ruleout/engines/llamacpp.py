"""llama.cpp's server answers `/health` with 503 while it loads the model, and with 200 once slots take requests.

So says tools/server/README.md in https://github.com/ggml-org/llama.cpp. It serves one model and takes any name for it.
Command line, flags and log are known; no test of this project runs the engine itself.
"""

from __future__ import annotations

from ruleout.engines.serving import Server
from ruleout.reading.formats.llamacpp import LLAMACPP as LOG

LLAMACPP = Server(
    name="llama.cpp",
    called="llama-server",
    stages=dict(LOG.stages),
    context_flags=("--ctx-size", "-c"),
    ready_path="/health",
    model_flags=("--model", "-m", "--hf-repo", "-hf"),
    name_flags=("--alias", "-a"),
    positional=False,
    reached_by=("--ssl-key-file", "--ssl-cert-file", "--api-prefix"),
    port=8080,
    key_variable="LLAMA_API_KEY",
    pages=("/health", "/metrics", "/slots"),
)
"""The adapter."""
