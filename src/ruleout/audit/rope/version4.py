"""Transformers 4.57 takes theta from one key and the scaling from another, and has never heard of `rope_parameters`.

Source: `modeling_rope_utils.py` and `models/*/configuration_*.py` of https://github.com/huggingface/transformers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ruleout.audit.rope.families import Family
from ruleout.audit.rope.reading import ALL, LAYERS, Parameters, Refused


def of_version_4(config: Mapping[str, Any], known: Family, sizes: Mapping[str, Any]) -> dict[str, Parameters]:
    theta, share = known.theta, config.get("partial_rotary_factor", known.share)
    local = theta["local"] if isinstance(theta, dict) else None
    theta = config.get("rope_theta", theta["global"] if isinstance(theta, dict) else theta)
    scaling = config.get("rope_scaling", known.parameters)
    given: Parameters = dict(scaling) if isinstance(scaling, dict) else {}
    if isinstance(scaling, dict):
        _check(given, known)
    given.pop("partial_rotary_factor", None)  # which is read beside it only
    kind = given.get("type", given.get("rope_type")) if given else "default"
    kind = "longrope" if known.custom == "su" and given else kind
    given |= {"rope_type": "default" if kind == "mrope" else kind, "rope_theta": theta}
    given |= {"partial_rotary_factor": share} if share is not None else {}
    most = sizes.get("max_position_embeddings")
    if kind == "yarn":
        given["original_max_position_embeddings"] = given.get("original_max_position_embeddings") or most
        if given.get("factor", 0) is None:
            raise Refused("TypeError: factor is null")
    if kind == "longrope":
        trained = sizes.get("original_max_position_embeddings")
        given |= {"factor": most / trained} if trained else {}
        if given.get("factor") is None and given.get("attention_factor") is None:
            raise Refused("TypeError: 'longrope' needs factor")
        given["original_max_position_embeddings"] = trained or most
    if local is None:
        return {ALL: given}
    near = {"rope_type": "default", "rope_theta": config.get("rope_local_base_freq", local)}
    return dict(zip(LAYERS, (given, near), strict=True))


def _check(given: Parameters, known: Family) -> None:
    """What some configurations of version 4 insist on."""
    if known.custom == "su" and (len(given) != 3 or given.get("type") not in ("longrope", "su", "yarn")):
        raise Refused("ValueError: rope_scaling needs type, short_factor and long_factor, and nothing else")
    if known.custom == "two" and "rope_type" not in given:
        raise Refused("KeyError: rope_scaling needs rope_type")
    if known.factor and "factor" not in given:
        raise Refused("KeyError: attention needs 'factor'")
