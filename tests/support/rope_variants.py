"""The configurations of a tiny GLM-MoE-DSA that were loaded in real releases, by the names in their logs."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

Config = dict[str, Any]

GLM: Config = {
    "architectures": ["GlmMoeDsaForCausalLM"],
    "model_type": "glm_moe_dsa",
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 0,
    "dtype": "float32",
    "eos_token_id": 1,
    "ep_size": 1,
    "first_k_dense_replace": 1,
    "head_dim": 32,
    "hidden_act": "silu",
    "hidden_size": 128,
    "index_head_dim": 64,
    "index_n_heads": 4,
    "index_topk": 16,
    "indexer_rope_interleave": True,
    "initializer_range": 0.2,
    "intermediate_size": 256,
    "kv_lora_rank": 64,
    "max_position_embeddings": 4096,
    "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"],
    "moe_intermediate_size": 64,
    "moe_layer_freq": 1,
    "n_group": 1,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "norm_topk_prob": True,
    "num_attention_heads": 4,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 4,
    "num_key_value_heads": 4,
    "num_nextn_predict_layers": 0,
    "pad_token_id": 2,
    "q_lora_rank": 64,
    "qk_head_dim": 64,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 32,
    "rms_norm_eps": 1e-05,
    "rope_interleave": True,
    "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"},
    "routed_scaling_factor": 2.5,
    "scoring_func": "sigmoid",
    "tie_word_embeddings": False,
    "topk_group": 1,
    "topk_method": "noaux_tc",
    "use_cache": True,
    "v_head_dim": 32,
    "vocab_size": 512,
}
"""As transformers saves it."""

DROP = object()
_YARN = {"factor": 4.0, "original_max_position_embeddings": 1024}
_OLD = {"rope_parameters": DROP, "rope_theta": 1e6}


def _theta(value: Any) -> Config:
    return {"rope_parameters": {"rope_type": "default", "rope_theta": value}}


def _share(value: float) -> Config:
    return {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "partial_rotary_factor": value}}


CHANGES: dict[str, Config] = {
    "new (rope_parameters theta=1e6)": {},
    "old: rope_theta=1e6 top-level only": _OLD,
    "missing both": {"rope_parameters": DROP},
    "rope_parameters={} ": {"rope_parameters": {}},
    "rope_parameters={rope_type:default} no theta": {"rope_parameters": {"rope_type": "default"}},
    "rope_parameters={rope_theta} no type": {"rope_parameters": {"rope_theta": 1e6}},
    "rope_parameters={type:default,theta} old 'type' key": {"rope_parameters": {"type": "default", "rope_theta": 1e6}},
    "both: rope_theta=1e4 top + rope_parameters 1e6": {"rope_theta": 1e4},
    "old: rope_theta + rope_scaling=null": {**_OLD, "rope_scaling": None},
    "old: rope_theta + rope_scaling yarn f4": {**_OLD, "rope_scaling": {"type": "yarn", **_YARN}},
    "both: rope_parameters + rope_scaling yarn f4": {"rope_scaling": {"type": "yarn", **_YARN}},
    "new yarn f4 in rope_parameters": {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, **_YARN}},
    "old: rope_theta + rope_scaling linear f4": {**_OLD, "rope_scaling": {"type": "linear", "factor": 4.0}},
    "old: rope_scaling unknown type": {**_OLD, "rope_scaling": {"type": "foo", "factor": 4.0}},
    "rope_parameters yarn w/o factor": {
        "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "original_max_position_embeddings": 1024}
    },
    "theta=1e4 in rope_parameters": _theta(1e4),
    "partial_rotary_factor=0.5 top-level": {"partial_rotary_factor": 0.5},
    "partial_rotary_factor=0.5 in rope_parameters": _share(0.5),
    "partial_rotary_factor=2 in rope_parameters": _share(2.0),
    "head_dim=64 (qk_rope_head_dim=32)": {"head_dim": 64},
    "head_dim=16": {"head_dim": 16},
    "head_dim removed": {"head_dim": DROP},
    "head_dim=null": {"head_dim": None},
    "qk_rope_head_dim=16 (wrong)": {"qk_rope_head_dim": 16, "head_dim": 16},
    "theta=0": _theta(0.0),
    "theta=-1e6": _theta(-1e6),
    "theta='1000000'": _theta("1000000"),
    "theta=null": _theta(None),
    "theta=1e39(>f32)": _theta(1e39),
    "linear factor=0": {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e6, "factor": 0.0}},
    "index_topk=4 (was 16)": {"index_topk": 4},
    "index_topk=4096": {"index_topk": 4096},
    "index_topk=0": {"index_topk": 0},
    "rope_interleave=false": {"rope_interleave": False},
    "indexer_rope_interleave=false": {"indexer_rope_interleave": False},
    "mlp_layer_types removed (first_k_dense_replace=1 kept)": {"mlp_layer_types": DROP},
    "routed_scaling_factor=1.0": {"routed_scaling_factor": 1.0},
    "n_group=2 topk_group=1": {"n_group": 2},
    "rms_norm_eps=1e-2": {"rms_norm_eps": 1e-2},
    "norm_topk_prob=false": {"norm_topk_prob": False},
}
"""By the name that the logs have for it, what was changed in the configuration."""


def changed(change: Config, base: Config = GLM) -> Config:
    """A configuration with that change."""
    config = copy.deepcopy(base) | copy.deepcopy({key: value for key, value in change.items() if value is not DROP})
    return {key: value for key, value in config.items() if change.get(key) is not DROP}


_LINE = re.compile(r"^\[(?P<name>.*?)\] (?P<how>OK|FAIL) (?P<rest>.*)", re.MULTILINE)


def seen(log: Path) -> dict[str, str]:
    """What a release did with each variant, by a log of it: `same`, `different`, `nan` or `fails`."""
    found = {}
    for line in _LINE.finditer(log.read_text(encoding="utf-8")):
        if line["how"] == "FAIL":
            found[line["name"]] = "fails"
            continue
        numbers = dict(re.findall(r"(maxdiff|nan_frac)=(\S+)", line["rest"]))
        wrong = "nan" if float(numbers["nan_frac"]) else "different"
        found[line["name"]] = "same" if float(numbers["maxdiff"]) == 0 else wrong
    return found
