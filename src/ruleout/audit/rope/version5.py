"""Transformers 5 makes one dictionary of all rotary parameters, and what does not fit in is lost without a word.

A `rope_scaling` replaces a `rope_parameters` with the theta in it; a nested one is taken for an empty one where the
model type does not declare kinds of layers.

Source: `modeling_rope_utils.py` (`convert_rope_params_to_dict`, `standardize_rope_params`, `validate_rope`) and
`models/*/configuration_*.py` of https://github.com/huggingface/transformers (5.2 to 5.24).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from ruleout.audit.folder import kind_of, quoted
from ruleout.audit.rope.families import Family
from ruleout.audit.rope.reading import ALL, LAYERS, Parameters, Refused, Untold, check_required
from ruleout.audit.rope.rotation import SCALED

_SPARSE = "indexed_attention"
"""What GLM-MoE-DSA calls its one kind of layer."""


def of_version_5(
    config: Mapping[str, Any], release: str, known: Family, sizes: Mapping[str, Any]
) -> dict[str, Parameters]:
    told = config.get("rope_parameters")
    given = config.get("rope_scaling") or (
        deepcopy(dict(known.parameters)) if told is None and known.parameters else told
    )
    given = {} if given is None else given
    if not isinstance(given, dict):
        raise Refused(f"AttributeError: rope_parameters is {kind_of(given)}, where an object is needed")
    nested = _nested(config, given, release, known)
    if known.nested and not nested and given and all(isinstance(one, dict) for one in given.values()):
        raise Untold("its rotary parameters are by kinds of its own")
    theta = config.get("rope_theta", known.theta)
    share = config.get("partial_rotary_factor", known.share) if known.custom in ("", "su") else None
    for one in (given[key] for key in nested) if nested else (given,):
        if one is None:
            continue
        one.setdefault("rope_theta", theta)
        if share is not None:
            one.setdefault("partial_rotary_factor", share)
        kind = one.setdefault("rope_type", one.get("type", "default"))
        if kind == "mrope" and known.custom == "mrope":
            one["rope_type"] = "default"
        if known.custom == "su" and kind != "default":
            if kind not in ("su", "yarn", "longrope"):
                raise Refused(f"ValueError: this model type is scaled by 'longrope', not {quoted(kind)}")
            one["rope_type"] = "longrope"
        beside = config.get("partial_rotary_factor", share)
        if release == "5.2" and beside is not None and kind != "default":
            one["partial_rotary_factor"] = beside  # what stands beside the parameters goes before what stands in them
        _trained(one, config, sizes, nested=bool(nested))
        if known.custom == "floats":
            one |= {key: float(one[key]) for key in ("beta_fast", "beta_slow", "factor") if key in one}
    if release != "5.2" and not nested:
        _check_unseen(config, given, known, sizes)
    if known.nested:
        if not nested:
            raise Refused(f"KeyError: rope_parameters has no entry for {LAYERS[0]!r}")
        return {key: given[key] for key in nested if given[key] is not None}
    if nested:
        raise Refused("KeyError: 'rope_type': the parameters are nested by the kind of layer, the model has one kind")
    return {ALL: given}


def _check_unseen(config: Mapping[str, Any], given: Parameters, known: Family, sizes: Mapping[str, Any]) -> None:
    """Entries of kinds of layers that come to be known too late are validated all the same. Raises Refused."""
    kinds = config.get("layer_types")
    listed = kinds if isinstance(kinds, list) else []
    for key, one in given.items():
        if key not in listed or not isinstance(one, dict):
            continue
        kind = one.get("rope_type", one.get("type", "default"))
        if kind in SCALED and "original_max_position_embeddings" not in one:
            raise Refused("KeyError: original_max_position_embeddings")
        check_required({**one, "rope_type": kind})
        if kind == "longrope" and known.bare and sizes.get("head_dim") is None:
            raise Refused("TypeError: head_dim is null")


def _trained(one: Parameters, config: Mapping[str, Any], sizes: Mapping[str, Any], *, nested: bool) -> None:
    """For how many positions the model was trained, where the type needs it: a key beside the parameters goes first."""
    if one["rope_type"] not in SCALED:
        return
    beside = sizes.get("original_max_position_embeddings")
    if beside is not None and not nested:
        one["original_max_position_embeddings"] = beside
    elif "max_position_embeddings" in sizes:
        one.setdefault("original_max_position_embeddings", sizes["max_position_embeddings"])


def _nested(config: Mapping[str, Any], given: Mapping[str, Any], release: str, known: Family) -> list[str]:
    """The kinds of layers that have an entry of their own, where the release sees that they have.

    5.2 first puts a rope_theta beside them, and then takes what it finds there for one kind. Later ones look at
    `layer_types`, which a model type that does not declare it does not have yet at that time.
    """
    kinds = config.get("layer_types")
    default = (_SPARSE,) if config.get("model_type") == "glm_moe_dsa" else LAYERS
    kinds = kinds if isinstance(kinds, list) else default
    return [key for key in given if key in kinds] if known.layers and release != "5.2" else []


def two_kinds(
    config: Mapping[str, Any], release: str, known: Family, sizes: Mapping[str, Any]
) -> dict[str, Parameters]:
    """Models with full and sliding attention, each with a theta of its own."""
    scale_both = known.custom == "two-scaled"
    given, scaling = config.get("rope_parameters"), config.get("rope_scaling")
    if given is not None and isinstance(scaling, dict) and LAYERS[0] not in given:
        raise KeyError(LAYERS[0])
    given = {} if given is None else given
    present = _kinds_of_layers(config, LAYERS)
    keys = ("global_rope_theta", "local_rope_theta") if scale_both else ("rope_theta", "rope_local_base_freq")
    found = {}
    for layer, key, default in zip(LAYERS, keys, (known.theta["global"], known.theta["local"]), strict=True):
        one = {"rope_type": "default"} if given.get(layer) is None else dict(given[layer])
        if isinstance(scaling, dict) and (scale_both or layer == LAYERS[0]):
            one |= scaling
        one.setdefault("rope_theta", config.get(key, default))
        whole = set(present) == set(LAYERS)
        seen = release != "5.2" or whole  # else 5.2 takes the parameters for those of one kind
        if not seen and layer in present and "rope_type" not in one:
            raise Refused("KeyError: 'rope_type'")
        one.setdefault("rope_type", one.get("type", "default"))
        one.pop("truncate", None)  # which is looked for outside of the kind of layer
        if seen:
            _trained(one, config, sizes, nested=True)
        if release == "5.2" and whole and one["rope_type"] == "yarn":
            raise Refused("KeyError: original_max_position_embeddings is looked for outside of the kind of layer")
        beside = config.get("partial_rotary_factor")
        if beside is not None and one["rope_type"] != "default" and seen:
            one["partial_rotary_factor"] = beside if release == "5.2" else one.get("partial_rotary_factor", beside)
        if layer in present:
            found[layer] = one
    return found


def _kinds_of_layers(config: Mapping[str, Any], otherwise: Sequence[str]) -> Sequence[str]:
    """The kinds of layers that occur: those listed, or every sixth with full attention, as Gemma 3 has it."""
    listed, layers = config.get("layer_types"), config.get("num_hidden_layers")
    if isinstance(listed, list):
        return [kind for kind in otherwise if kind in listed]
    every = config.get("sliding_window_pattern", 6)
    if config.get("model_type") not in ("gemma3_text", "gemma3") or not isinstance(layers, int) or not every:
        return otherwise
    return [LAYERS[1]] if layers < every else otherwise
