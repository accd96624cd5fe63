# mypy: disable-error-code="import-not-found"
"""Runs in vLLM's or SGLang's own environment: the first rows of its table of cosines and sines, one JSON object a line.

python real_tables.py vllm|sglang < CONFIGURATIONS
"""

import json
import logging
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
import torch  # noqa: E402

LATENT = ("deepseek_v3", "glm_moe_dsa")
PARTIAL = ("phi", "glm4", "glm4_moe", "phi3")
"""Model types whose code in SGLang passes partial_rotary_factor on."""
ROWS = 3


def loaded(config: dict[str, Any], get_config: Any) -> Any:
    """The configuration as the engine reads it from a folder."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(config))
        return get_config(folder, trust_remote_code=False)


def width(told: Any, latent: bool) -> int:
    """Elements of a head."""
    own = told.qk_rope_head_dim if latent else getattr(told, "head_dim", None)
    return int(own or told.hidden_size // told.num_attention_heads)


def of_vllm(config: dict[str, Any]) -> Any:
    """As `models/deepseek_v2.py` and the other models call it."""
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.model_executor.layers.rotary_embedding import get_rope
    from vllm.transformers_utils.config import get_config

    told, latent = loaded(config, get_config), config["model_type"] in LATENT
    given = told.rope_parameters
    if latent and given["rope_type"] != "default":
        scaled = given.get("attention_factor") == 1.0
        given["rope_type"] = "deepseek_llama_scaling" if scaled else "deepseek_yarn"
    with set_current_vllm_config(VllmConfig()):
        return get_rope(
            width(told, latent), told.max_position_embeddings, not latent, given, dtype=torch.float32
        )  # fmt: skip


def of_sglang(config: dict[str, Any]) -> Any:
    """As `models/deepseek_v2.py` and the other models call it."""
    from sglang.srt.layers.rotary_embedding import get_rope, rope_variant
    from sglang.srt.utils.hf_transformers_utils import get_config

    rope_variant.get_device = lambda: "cpu"
    told, latent = loaded(config, get_config), config["model_type"] in LATENT
    given: Any = told.rope_parameters
    theta, share = given["rope_theta"], given.get("partial_rotary_factor", 1.0)
    if latent:
        given = None if given["rope_type"] == "default" else {**given, "rope_type": "deepseek_yarn"}
    return get_rope(
        width(told, latent), width(told, latent), told.max_position_embeddings, theta, not latent, given,
        dtype=torch.float32, partial_rotary_factor=share if config["model_type"] in PARTIAL else 1.0,
    )  # fmt: skip


make = {"vllm": of_vllm, "sglang": of_sglang}[sys.argv[1]]
for line in sys.stdin:
    try:
        found = make(json.loads(line))
        answer: dict[str, Any] = {"table": found.cos_sin_cache[:ROWS].tolist()}
    except Exception as problem:
        answer = {"error": f"{type(problem).__name__}: {problem}"[:300]}
    sys.stdout.write("table " + json.dumps(answer) + "\n")
    sys.stdout.flush()
