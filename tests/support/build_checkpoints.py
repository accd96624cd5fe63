# mypy: disable-error-code="import-not-found"
"""Builds tiny checkpoints with the real libraries, of sizes drawn at random. It runs inside an engine's environment.

python build_checkpoints.py FOLDER SEED KIND…      a kind is a model type, or `nvfp4`: a Llama by compressed-tensors
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import AutoConfig, AutoModelForCausalLM


def configuration(kind: str, chance: random.Random) -> Any:
    """A configuration of that model type."""
    heads = chance.choice([2, 4, 8])
    common: dict[str, Any] = {
        "vocab_size": chance.choice([192, 320, 512]),
        "hidden_size": 32 * heads,
        "intermediate_size": chance.choice([192, 256]),
        "num_hidden_layers": chance.choice([2, 3]),
        "num_attention_heads": heads,
        "num_key_value_heads": chance.choice([1, 2]),
        "max_position_embeddings": 512,
        "tie_word_embeddings": chance.random() < 0.3,
    }
    experts = {"moe_intermediate_size": 64, "num_experts_per_tok": 2, "norm_topk_prob": True}
    if kind in ("qwen2_moe", "qwen3_moe"):
        common |= {**experts, "num_experts": chance.choice([4, 6]), "shared_expert_intermediate_size": 96}
        common |= {"mlp_only_layers": chance.choice([[], [0]])}
    elif kind in ("glm4_moe", "deepseek_v3", "glm_moe_dsa"):
        common |= {**experts, "n_routed_experts": chance.choice([4, 8]), "n_shared_experts": chance.choice([1, 2])}
        common |= {"first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "routed_scaling_factor": 1.0}
    if kind in ("glm4_moe", "llama"):
        common |= {"attention_bias": chance.random() < 0.5}
    if kind in ("glm4_moe", "llama", "qwen3", "qwen3_moe") and chance.random() < 0.5:
        common |= {"head_dim": 16}
    if kind == "glm4_moe":
        common |= {"use_qk_norm": chance.random() < 0.5}
    if kind in ("deepseek_v3", "glm_moe_dsa"):
        common |= {"q_lora_rank": 48, "kv_lora_rank": chance.choice([32, 64]), "qk_nope_head_dim": 32}
        common |= {"qk_rope_head_dim": 16, "v_head_dim": chance.choice([16, 32]), "num_key_value_heads": heads}
    if kind == "glm_moe_dsa":
        common |= {"index_topk": 8, "index_head_dim": 32, "index_n_heads": 4}
        common |= {"mlp_layer_types": ["dense"] + ["sparse"] * (common["num_hidden_layers"] - 1)}
    return AutoConfig.for_model(kind, **common)


def model(config: Any) -> Any:
    """A model with random weights, wide enough to be none of one value."""
    made = AutoModelForCausalLM.from_config(config).to(torch.bfloat16).eval()
    with torch.no_grad():
        for weight in made.parameters():
            if weight.dim() > 1:
                weight.copy_(torch.randn(weight.shape) * 0.1)
    return made


def quantise(made: Any, target: Path) -> None:
    """NVFP4 weights and inputs, with one global scale for layers that engines join, and saves it."""
    from compressed_tensors.compressors import ModelCompressor
    from compressed_tensors.quantization import (
        QuantizationConfig,
        QuantizationStatus,
        apply_quantization_config,
        preset_name_to_scheme,
    )

    scheme = preset_name_to_scheme("NVFP4", ["Linear"])
    config = QuantizationConfig(
        config_groups={"group_0": scheme}, ignore=["lm_head"], quantization_status="initialized"
    )
    apply_quantization_config(made, config)
    layers = {name: layer for name, layer in made.named_modules() if hasattr(layer, "weight_global_scale")}
    for layer in layers.values():
        scale = torch.tensor(6.0 * 448.0 / 0.6)
        layer.weight_global_scale.data.fill_(scale)
        layer.input_global_scale.data.fill_(300.0)
        blocks = layer.weight.data.float().reshape(layer.weight.shape[0], -1, 16).abs().amax(-1) / 6 * scale
        layer.weight_scale.data = blocks.clamp(0.01, 448).to(layer.weight_scale.dtype)
        layer.quantization_status = QuantizationStatus.FROZEN
    compressor = ModelCompressor.from_pretrained_model(made)
    compressor.compress_model(made)
    made.save_pretrained(target, max_shard_size="100KB")
    compressor.update_config(target)


def main(folder: Path, seed: str, kinds: list[str]) -> None:
    """Writes FOLDER/KIND for each."""
    for kind in kinds:
        chance = random.Random(f"{seed} {kind}")
        torch.manual_seed(chance.randrange(1 << 30))
        made = model(configuration("llama" if kind == "nvfp4" else kind, chance))
        if kind == "nvfp4":
            quantise(made, folder / kind)
        else:
            made.save_pretrained(folder / kind, max_shard_size="100KB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
