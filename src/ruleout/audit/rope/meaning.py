"""What a configuration means by its rotary positions, whoever reads it: the yardstick for the libraries.

Who writes `rope_parameters` and `rope_scaling` means both: the theta of the one, the scaling of the other. It is
computed in float64, so that what only float32 makes of a theta is a difference too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ruleout.audit.rope.families import Family, newest
from ruleout.audit.rope.reading import ALL, LAYERS, Reading, attempted, check_told
from ruleout.audit.rope.rotation import SCALED, Head, rotation
from ruleout.audit.rope.transformers import interleaved, sizes_of

THETAS = ("rope_theta", "rotary_emb_base")
SHARES = ("partial_rotary_factor", "rotary_pct", "rotary_emb_fraction")
"""Under which names configurations have these; the older ones are those of vllm/transformers_utils/config.py."""


def meant(config: Mapping[str, Any]) -> Reading:
    """The rotations that a configuration means."""
    kind = config.get("model_type")
    known = newest(kind if isinstance(kind, str) else None) or Family(fills=True)
    if known.custom == "other":
        return Reading(untold="this model type has rotary parameters of its own kind")
    return attempted(lambda: _meant(config, known))


def _meant(config: Mapping[str, Any], known: Family) -> Reading:
    given = parameters(config, known)
    sizes = sizes_of(config, known)
    size = _size(config, sizes, known)
    rotations = {}
    for layer, one in given.items():
        check_told(one["rope_type"])
        heeds = known.partial or one["rope_type"] not in ("default", "proportional")
        dim = int(size * one.get("partial_rotary_factor", 1.0)) if heeds else size
        head = Head(size, dim, sizes.get("max_position_embeddings"))
        rotations[layer] = rotation(one["rope_type"], one, head, np.float64)
    return Reading(rotations, given, interleaved(config, known))


def _size(config: Mapping[str, Any], sizes: Mapping[str, Any], known: Family) -> Any:
    if known.head:
        return sizes[known.head]
    if isinstance(config.get("qk_rope_head_dim"), int) and config.get("kv_lora_rank"):
        return config["qk_rope_head_dim"]
    return sizes.get("head_dim") or sizes["hidden_size"] // sizes["num_attention_heads"]


def parameters(config: Mapping[str, Any], known: Family) -> dict[str, dict[str, Any]]:
    """The rotary parameters that are meant, by the kind of layer."""
    told = config.get("rope_parameters")
    told = told if isinstance(told, dict) else {}
    scaling = config.get("rope_scaling")
    scaling = scaling if isinstance(scaling, dict) else {}
    kinds = config.get("layer_types")
    nested = [key for key in told if isinstance(told[key], dict) and (key in LAYERS or key in (kinds or ()))]
    if nested:
        return {key: _one(config, told[key], scaling if key == LAYERS[0] else {}, known, key) for key in nested}
    if isinstance(known.theta, dict):
        return {key: _one(config, {}, scaling if key == LAYERS[0] else {}, known, key) for key in LAYERS}
    default = {} if told or scaling or known.parameters is None else dict(known.parameters)
    return {ALL: _one(config, told or default, scaling, known, ALL)}


def _one(
    config: Mapping[str, Any], told: Mapping[str, Any], scaling: Mapping[str, Any], known: Family, layer: str
) -> dict[str, Any]:
    one = {**told, **{key: value for key, value in scaling.items() if key not in THETAS or key not in told}}
    kind = scaling.get("rope_type", scaling.get("type")) or told.get("rope_type", told.get("type")) or "default"
    one["rope_type"] = {"mrope": "default", "su": "longrope"}.get(kind, kind) if isinstance(kind, str) else kind
    theta = _theta(config, one, known, layer)
    one["rope_theta"] = float(theta) if _is_number(theta) else theta
    shares = [place[key] for place in (one, config) for key in SHARES if key in place]
    if shares or known.share is not None:
        one["partial_rotary_factor"] = shares[0] if shares else known.share
    if one["rope_type"] in SCALED:
        beside = config.get("original_max_position_embeddings", known.sizes.get("original_max_position_embeddings"))
        most = config.get("max_position_embeddings", known.sizes.get("max_position_embeddings"))
        one["original_max_position_embeddings"] = one.get("original_max_position_embeddings") or beside or most
    return one


def _theta(config: Mapping[str, Any], one: Mapping[str, Any], known: Family, layer: str) -> Any:
    sliding = isinstance(known.theta, dict) and layer == LAYERS[1]
    beside = ("rope_local_base_freq", "local_rope_theta") if sliding else (*THETAS, "global_rope_theta")
    for place, keys in ((one, THETAS), (config, beside)):
        for key in keys:
            if place.get(key) is not None:
                return place[key]
    return known.theta["local" if sliding else "global"] if isinstance(known.theta, dict) else known.theta


def _is_number(text: Any) -> bool:
    """Text that is a number: a mistake in writing, whose meaning is plain."""
    try:
        return isinstance(text, str) and float(text) == float(text)
    except ValueError:
        return False


def says_theta(config: Mapping[str, Any]) -> bool:
    """Whether a theta stands anywhere in a configuration."""
    places = [config, config.get("rope_parameters"), config.get("rope_scaling")]
    places += [one for place in places[1:] if isinstance(place, dict) for one in place.values()]
    keys = (*THETAS, "global_rope_theta", "rope_local_base_freq", "local_rope_theta")
    return any(isinstance(place, dict) and any(key in place for key in keys) for place in places)
