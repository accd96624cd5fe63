"""What the configuration in a model's folder says: how long a context may be, and which model it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruleout.model import ServedModel

MOST_BYTES = 1 << 20
_SHAPE = (
    *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
    *("num_key_value_heads", "kv_lora_rank", "q_lora_rank", "moe_intermediate_size"),
    *("num_experts", "n_routed_experts", "num_local_experts", "num_experts_per_tok"),
)
"""What a model's answers cannot be the same without. Types, formats, RoPE and templates are left to be compared."""


def config_of(folder: Path | None) -> Mapping[str, Any]:
    """The configuration, where the folder is here; of a multimodal model, with that of its text model. Else empty."""
    try:
        if folder is None or (folder / "config.json").stat().st_size > MOST_BYTES:
            return {}
        document = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(document, dict):
        return {}
    text = document.get("text_config")
    return {**document, **text} if isinstance(text, dict) else document


def context_of(folder: Path) -> int | None:
    """Tokens that a prompt and its answer may have; None where the configuration does not say."""
    length = config_of(folder).get("max_position_embeddings")
    return length if isinstance(length, int) and length > 0 else None


def served_model(name: str, folder: Path | None) -> ServedModel:
    """Which model that is, by its name or path, and by its folder where that is here."""
    config = config_of(folder)
    shape = {key: config[key] for key in _SHAPE if config.get(key) is not None}
    digest = hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:16] if shape else None
    type_ = config.get("model_type")
    return ServedModel(name.rstrip("/").rpartition("/")[2] or name, type_ if isinstance(type_, str) else None, digest)
