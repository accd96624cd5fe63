# mypy: disable-error-code="import-not-found"
"""Tiny models with the real architectures, built in memory from their configurations.

Weights are drawn wide: with the usual 0.02 the layers hardly touch what passes through them, and then a fault in one
would hardly show.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig, AutoModelForCausalLM

VOCABULARY = 160
SPREAD = 0.2
_COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "bos_token_id": 0,
    "eos_token_id": None,
    "pad_token_id": 2,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 3,
}
_ROUTED: dict[str, Any] = {"moe_intermediate_size": 32, "num_experts_per_tok": 2, "norm_topk_prob": True}
_OWN: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {"head_dim": 16}),
    "qwen2": ("qwen2", {}),
    "qwen3": ("qwen3", {"head_dim": 16}),
    "qwen3-moe": ("qwen3_moe", {**_ROUTED, "head_dim": 16, "num_experts": 8, "decoder_sparse_step": 1}),
    "glm-moe-dsa": (
        "glm_moe_dsa",
        {
            **_ROUTED,
            "num_key_value_heads": 4,
            "mlp_layer_types": ["dense", "sparse", "sparse"],
            "n_shared_experts": 1,
            "n_routed_experts": 8,
            "n_group": 1,
            "topk_group": 1,
            "routed_scaling_factor": 2.5,
            "q_lora_rank": 32,
            "kv_lora_rank": 32,
            "qk_nope_head_dim": 16,
            "qk_rope_head_dim": 16,
            "v_head_dim": 16,
            "index_topk": 8,
            "index_head_dim": 32,
            "index_n_heads": 2,
        },
    ),
}
_SLIDING = {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}
LARGE: dict[str, Any] = {
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "vocab_size": 16384,
}
"""Changes that make the Llama one of 55 million parameters."""


def load_models() -> None:
    """Imports the code of all families."""
    for kind, _ in _OWN.values():
        MODEL_FOR_CAUSAL_LM_MAPPING[type(AutoConfig.for_model(kind))]


def configuration(family: str, sliding: bool = False, **changes: Any) -> Any:
    """The configuration of a family, with changes."""
    kind, own = _OWN[family]
    return AutoConfig.for_model(kind, **{**_COMMON, **own, **(_SLIDING if sliding else {}), **changes})


def build(config: Any, seed: int, dtype: str, attention: str, experts: str = "grouped_mm") -> Any:
    """A model with weights from a generator of our own, so that every release of the library gives the same.

    Biases and scores of experts are drawn too: a bias of zero would hide what is lost with it.
    """
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, attn_implementation=attention).eval()
    if hasattr(model.config, "moe_intermediate_size"):
        model.set_experts_implementation(experts)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            if weight.dim() > 1:
                width = weight.shape[-1]
                weight.copy_(torch.randn(weight.shape, generator=generator) * min(SPREAD, 2 * width**-0.5))
            elif name.endswith("bias"):
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.05)
        for name, buffer in sorted(model.named_buffers()):
            if name.endswith("e_score_correction_bias"):
                buffer.copy_(torch.randn(buffer.shape, generator=generator) * 0.05)
    return _cast(model, getattr(torch, dtype))


def _cast(model: Any, dtype: torch.dtype) -> Any:
    """To a type, but for what the library itself keeps in float32 when it loads a checkpoint."""
    kept = tuple(getattr(model, "_keep_in_fp32_modules_strict", None) or ())
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if tensor.is_floating_point() and not name.endswith((*kept, "inv_freq")):
            tensor.data = tensor.data.to(dtype)
    return model
