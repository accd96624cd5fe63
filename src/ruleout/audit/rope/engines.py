"""How vLLM and SGLang read the rotary positions: through transformers 5's configuration, then with code of their own.

Both take the standardised `rope_parameters` (vLLM 0.32 wants transformers 5.16 to 5.19, SGLang 0.5.23 has 5.19), and
build their own tables of cosines. Sources: `layers/rotary_embedding/` and `models/deepseek_v2.py`, in
https://github.com/vllm-project/vllm (vllm/model_executor) and https://github.com/sgl-project/sglang (sglang/srt).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from ruleout.audit.folder import quoted
from ruleout.audit.rope.families import Family, family
from ruleout.audit.rope.fields import check_types
from ruleout.audit.rope.reading import Parameters, Reading, Refused, Untold, attempted, check
from ruleout.audit.rope.rotation import Head, Rotation, mscale, rotation
from ruleout.audit.rope.transformers import parameters, sizes_of

RELEASE = "5.24"
"""The release of transformers whose rules the engines' own ones follow: they are the same from 5.16 on."""
LATENT = frozenset({"deepseek_v2", "deepseek_v3", "deepseek_v32", "glm_moe_dsa", "glm4_moe_lite"})
"""Model types that both engines serve with their code for multi-head latent attention."""


Turned = Callable[[Parameters, Any, Any, Family, bool], Rotation]
"""From the parameters of a kind of layer, the size of a head, its positions and the family: how an engine turns it."""


def vllm(config: Mapping[str, Any]) -> Reading:
    """How vLLM reads it."""
    return _read(config, _vllm, interleaved=True)


def sglang(config: Mapping[str, Any]) -> Reading:
    """How SGLang reads it: the only one that heeds `rope_interleave` for every model with latent attention."""
    return _read(config, _sglang, interleaved=bool(config.get("rope_interleave", True)))


def _read(config: Mapping[str, Any], turned: Turned, *, interleaved: bool) -> Reading:
    kind = config.get("model_type")
    known = family(RELEASE, kind if isinstance(kind, str) else None)
    if known is None:
        return Reading(untold=f"the rotary positions of model type {quoted(kind)} are not known")
    latent = kind in LATENT

    def attempt() -> Reading:
        check_types(config, known)
        sizes = sizes_of(config, known)
        told = parameters(deepcopy(dict(config)), RELEASE, known, sizes)
        size = sizes[known.head] if known.head else sizes.get("head_dim")
        size = size or sizes["hidden_size"] // sizes["num_attention_heads"]
        rotations = {}
        for layer, given in told.items():
            check(given)
            _check_sizes(given, sizes, known, latent)
            rotations[layer] = turned(dict(given), size, sizes.get("max_position_embeddings"), known, latent)
        return Reading(rotations, told, interleaved if latent else None)

    return attempted(attempt)


def _check_sizes(given: Parameters, sizes: Mapping[str, Any], known: Family, latent: bool) -> None:
    """What the configuration's own validation, and the code for linear scaling, end in. Raises Refused."""
    kind = given["rope_type"]
    if kind == "longrope" and known.bare and sizes.get("head_dim") is None:
        raise Refused("TypeError: head_dim is null")
    factor = given.get("factor")
    tabled = kind in ("yarn", "linear") or (latent and kind != "default")
    if tabled and isinstance(factor, int | float) and factor <= 0:
        raise Refused(f"IndexError: a factor of {factor} makes a table without a position in it")
    if kind == "linear" and isinstance(factor, int) and not latent:
        raise Refused("TypeError: an integer for factor is taken for a list of them: write 4.0, not 4")


def _check_hashable(given: Parameters) -> None:
    """Both keep their tables by the parameters: one of them that is nested cannot be looked up. Raises Refused."""
    if any(isinstance(value, dict) for value in given.values()):
        raise Refused("TypeError: unhashable type: the parameters are nested, and the model has one kind of layer")


def _vllm(given: Parameters, size: Any, most: Any, known: Family, latent: bool) -> Rotation:
    """`get_rope`: a part of the head is turned wherever partial_rotary_factor asks for it, whatever the model."""
    _check_hashable(given)
    share = given.get("partial_rotary_factor", 1.0)
    if not 0.0 < share <= 1.0:
        raise Refused(f"ValueError: partial_rotary_factor={share} must be between 0.0 and 1.0")
    head = Head(size, size if given["rope_type"] == "proportional" else int(size * share), most)
    if latent and given["rope_type"] != "default":
        return _deepseek(given, head)
    return _engines_own(given, head)


def _sglang(given: Parameters, size: Any, most: Any, known: Family, latent: bool) -> Rotation:
    """`get_rope`: `attention_factor` is not among what YaRN is given; dynamic scaling holds from the first token on."""
    if known.shares and given["rope_type"] != "default":
        raise Untold("whether its code for this model type scales positions is not known")
    share = given.get("partial_rotary_factor", 1.0) if known.partial else 1.0
    head = Head(size, int(size * share) if share < 1.0 else size, most)
    kind = given["rope_type"]
    if not (latent and kind == "default"):
        _check_hashable(given)
    if latent and kind != "default":
        return _deepseek({"factor": 1.0, "original_max_position_embeddings": most, **given}, head)
    if kind == "yarn":
        own = {key: value for key, value in given.items() if key != "attention_factor"}
        found = rotation(kind, own, head)
        return replace(found, scaling=found.scaling * given.get("attn_factor", 1))
    found = _engines_own(given, head)
    if kind == "dynamic" and found.grown is not None:
        if most * given["factor"] <= 0:
            raise Refused("IndexError: a table without a position in it")
        return Rotation(found.grown(int(most * given["factor"])))
    return found


def _engines_own(given: Parameters, head: Head) -> Rotation:
    kind = given["rope_type"]
    found = rotation(kind, {**given, "factor": 1.0} if kind == "proportional" else given, head)
    if kind == "longrope":
        # Both scale by the stretch alone: neither `factor` nor `attention_factor` is read.
        trained = given["original_max_position_embeddings"]
        stretch = head.most / trained
        return replace(found, scaling=1.0 if stretch <= 1 else math.sqrt(1 + math.log(stretch) / math.log(trained)))
    return found


def _deepseek(given: Parameters, head: Head) -> Rotation:
    """Latent attention: whatever the scaling is called, it is taken for YaRN, with mscale 1 and mscale_all_dim 0."""
    factor = given["factor"]
    yarn = rotation("yarn", {**given, "attention_factor": 1.0, "truncate": True}, head)
    one, all_ = float(given.get("mscale", 1)), float(given.get("mscale_all_dim", 0))
    return replace(yarn, scaling=mscale(factor, one) / mscale(factor, all_))
