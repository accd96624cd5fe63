"""trtllm-serve builds its executor before it listens, so `/health` is refused until it can serve, then 200.

The options are those of https://nvidia.github.io/TensorRT-LLM/commands/trtllm-serve.html; most settings stand in the
YAML of `--extra_llm_api_options` (`--config`), which is not taken apart here. Command line, flags and log are known; no
test of this project runs the engine itself.
"""

from __future__ import annotations

from ruleout.engines.serving import Server
from ruleout.reading.formats.tensorrt_llm import TENSORRT_LLM as LOG

TENSORRT_LLM = Server(
    name="tensorrt-llm",
    called="trtllm-serve",
    stages=dict(LOG.stages),
    context_flags=("--max_seq_len", "--max-seq-len"),
    ready_path="/health",
    name_flags=("--served_model_name", "--served-model-name"),
    offline={"HF_HUB_OFFLINE": "1"},
)
"""The adapter."""
