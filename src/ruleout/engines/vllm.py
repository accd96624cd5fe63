"""vLLM's server listens only after its engine core is up: until then `/health` is refused, from then on it is 200.

It turns to 503 once the engine core has died (vllm/entrypoints/serve/instrumentator/health.py in
https://github.com/vllm-project/vllm), which need not end the server. A model that is ready has run on dummy tokens
only: what breaks on real ones breaks with the first request. Text is asked for without chat, which needs a template.
"""

from __future__ import annotations

from ruleout.engines.serving import ENCRYPTED, Server
from ruleout.reading.formats.vllm import VLLM as LOG

VLLM = Server(
    name="vllm",
    called="vllm serve",
    stages=dict(LOG.stages),
    context_flags=("--max-model-len", "--max_model_len"),
    logprobs=True,
    ready_path="/health",
    model_flags=("--model",),
    name_flags=("--served-model-name", "--served_model_name"),
    reached_by=(*ENCRYPTED, "--uds"),
    key_variable="VLLM_API_KEY",
    offline={"HF_HUB_OFFLINE": "1"},
    # https://docs.vllm.ai/en/latest/usage/usage_stats.html
    private={"VLLM_NO_USAGE_STATS": "1"},
    override_flag="--hf-overrides",
    pages=("/health", "/metrics", "/version"),
)
"""The adapter."""
