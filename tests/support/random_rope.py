"""Configurations of tiny models with rotary parameters at random: right and wrong ones, in all the ways there are."""

from __future__ import annotations

import random
from typing import Any

Config = dict[str, Any]

_TINY: Config = {
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 0,
    "eos_token_id": 1,
}
_EXPERTS: Config = {
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "n_group": 1,
    "topk_group": 1,
    "n_shared_experts": 1,
    "first_k_dense_replace": 1,
}
_LATENT: Config = {
    "q_lora_rank": 32,
    "kv_lora_rank": 32,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 16,
    "v_head_dim": 16,
}
FAMILIES: dict[str, Config] = {
    "llama": {},
    "qwen3": {"head_dim": 16},
    "mixtral": {"num_local_experts": 4},
    "glm4": {"head_dim": 16},
    "glm4_moe": {**_EXPERTS, "head_dim": 16},
    "deepseek_v3": {**_EXPERTS, **_LATENT},
    "glm_moe_dsa": {**_EXPERTS, **_LATENT, "index_head_dim": 32, "index_n_heads": 2, "index_topk": 8},
    "gemma3_text": {"head_dim": 16, "sliding_window": 8, "query_pre_attn_scalar": 16},
    "gpt_oss": {"num_local_experts": 4, "head_dim": 16, "num_experts_per_tok": 2},
    "phi": {"partial_rotary_factor": 0.5},
    "phi3": {"original_max_position_embeddings": 256},
}
"""What a tiny model of each family has besides."""


def config(seed: int) -> Config:
    """A configuration, the same for the same seed."""
    chance = random.Random(seed)
    kind = chance.choice(list(FAMILIES))
    found = {"model_type": kind, **_TINY, **FAMILIES[kind]}
    _parameters(found, chance)
    if chance.random() < 0.1:
        _nest(found, chance)
    if chance.random() < 0.25:
        found["partial_rotary_factor"] = chance.choice([0.25, 0.5, 1.0, 1.0, 2.0])
    if chance.random() < 0.2:
        found["head_dim"] = chance.choice([8, 16, 32, None])
    return found


def _nest(found: Config, chance: random.Random) -> None:
    """Parameters by the kind of layer, whatever the model has."""
    kinds = ["full_attention", "sliding_attention"]
    found["rope_parameters"] = {kind: _scaling(chance, theta=chance.random() < 0.9) for kind in kinds}
    found |= {"sliding_window": 8, "use_sliding_window": True}
    if chance.random() < 0.7:
        found["layer_types"] = [chance.choice(kinds) for _ in range(found["num_hidden_layers"])]


def _parameters(found: Config, chance: random.Random) -> None:
    """In one place, the other, both, or none."""
    where = chance.choice(["new", "new", "old", "old", "both", "none"])
    if where in ("old", "both") or chance.random() < 0.3:
        found["rope_theta"] = _theta(chance)
    if where in ("new", "both"):
        found["rope_parameters"] = _scaling(chance, theta=chance.random() < 0.8)
    if where in ("old", "both") and chance.random() < 0.8:
        found["rope_scaling"] = chance.choice([None, _scaling(chance, theta=chance.random() < 0.1)])


def _theta(chance: random.Random) -> Any:
    usual = chance.choice([10000.0, 500000.0, 1e6, 1000000])
    return usual if chance.random() < 0.85 else chance.choice([0.0, -1e4, 1.0, 1e39, "1000000", None, 10**30])


def _factor(chance: random.Random) -> Any:
    return chance.choice([1.0, 2.0, 4, 8.0, 32.0]) if chance.random() < 0.9 else chance.choice([0.0, "4", None, -2.0])


def _scaling(chance: random.Random, *, theta: bool) -> Config:
    kind = chance.choice(["default", "default", "linear", "dynamic", "yarn", "yarn", "llama3", "longrope", "foo"])
    found: Config = {chance.choice(["rope_type", "rope_type", "rope_type", "type"]): kind}
    if theta:
        found["rope_theta"] = _theta(chance)
    if kind not in ("default", "longrope") or chance.random() < 0.05:
        found["factor"] = _factor(chance)
    if kind in ("yarn", "llama3", "longrope") and chance.random() < 0.8:
        found["original_max_position_embeddings"] = chance.choice([64, 128, 256])
    if kind == "yarn":
        for key, values in (
            ("beta_fast", [32, 16.0]), ("beta_slow", [1, 2.0]), ("attention_factor", [1.0, 1.2]),
            ("mscale", [1.0, 0.7]), ("mscale_all_dim", [1.0, 0.5]), ("truncate", [True, False]),
        ):  # fmt: skip
            if chance.random() < 0.3:
                found[key] = chance.choice(values)
    if kind == "llama3":
        found |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    if kind == "longrope":
        pairs = 8
        found |= {"short_factor": [1.0 + i / 9 for i in range(pairs)], "long_factor": [2.0 + i for i in range(pairs)]}
        if chance.random() < 0.5:
            found["factor"] = 4.0
    if chance.random() < 0.1:
        found["partial_rotary_factor"] = chance.choice([0.5, 1.0])
    if chance.random() < 0.05:
        found.pop(chance.choice(list(found)))
    return found
