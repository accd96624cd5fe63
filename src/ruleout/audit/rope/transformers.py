"""How transformers takes rotary parameters from a configuration: 4.57 from two keys, 5.x by making one of them.

Version 5 folds `rope_theta` and `rope_scaling` into `rope_parameters`, and what does not fit in is lost without a word:
a `rope_scaling` replaces a `rope_parameters` with the theta in it. Version 4 has never heard of `rope_parameters`.

Sources, all of https://github.com/huggingface/transformers: `modeling_rope_utils.py` (`convert_rope_params_to_dict`,
`standardize_rope_params`, `validate_rope`), `configuration_utils.py`, `models/*/modeling_*.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from ruleout.audit.folder import quoted
from ruleout.audit.rope.families import Family, family
from ruleout.audit.rope.fields import check_types
from ruleout.audit.rope.reading import ALL, TROUBLES, Reading, Refused, Untold, explained
from ruleout.audit.rope.rotation import SCALED, Head, Rotation, rotation
from ruleout.model.model_types import first_releases, numbers

Parameters = dict[str, Any]

_REQUIRED = {
    "linear": {"factor"},
    "dynamic": {"factor"},
    "yarn": {"factor"},
    "longrope": {"short_factor", "long_factor"},
    "llama3": {"factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"},
}
"""What has to be there, by the rope type; what version 5 fills in itself is left out."""
SIZES = frozenset(
    {"hidden_size", "num_attention_heads", "head_dim", "max_position_embeddings", "qk_rope_head_dim"}
    | {"original_max_position_embeddings"}
)
_AS_IT_IS = ("dynamic", "yarn", "longrope")
LAYERS = ("full_attention", "sliding_attention")
STRANGER = "it does not know the model type"
"""How the reason begins where a release is older than the model."""


def read(config: Mapping[str, Any], release: str) -> Reading:
    """How a release of transformers reads the rotary positions of a configuration."""
    kind = config.get("model_type")
    known = family(release, kind if isinstance(kind, str) else None)
    if known is None:
        first = first_releases().get(kind) if isinstance(kind, str) else None
        if first is not None and numbers(first) > numbers(release):
            return Reading(refused=f"{STRANGER} {kind}: {first} is the first to")
        return Reading(untold=f"transformers {release} has no rotary positions for model type {quoted(kind)}")
    try:
        return _read(config, release, known)
    except Refused as problem:
        return Reading(refused=problem.why)
    except Untold as problem:
        return Reading(untold=problem.why)
    except TROUBLES as problem:
        return Reading(refused=explained(problem))


def _read(config: Mapping[str, Any], release: str, known: Family) -> Reading:
    check_types(config, known)
    sizes = {**known.sizes, **{key: config[key] for key in config if key in SIZES}}
    told = parameters(config, release, known, sizes)
    rotations = {}
    for layer, given in told.items():
        check_required(given)
        scaled = given["rope_type"] != "default"
        if scaled and (known.factor or (known.mscale and given.get("mscale_all_dim"))) and given.get("factor") is None:
            raise Refused("KeyError: attention needs 'factor'")
        size = head_size(config, sizes, known, given.get("rope_type"))
        rotations[layer] = _turned(given, size, sizes, release, known)
    return Reading(rotations, told, interleaved(config, known))


def interleaved(config: Mapping[str, Any], known: Family) -> bool:
    """Whether neighbours are turned together rather than halves."""
    return bool(config.get("rope_interleave", True)) if known.pairs == "told" else known.pairs == "interleaved"


def head_size(config: Mapping[str, Any], sizes: Mapping[str, Any], known: Family, kind: Any) -> Any:
    """The head_dim that the rotary positions are made for. Some rope types take a null for what it is."""
    there = known.bare or "head_dim" in sizes
    size = sizes.get("head_dim")
    if known.head and not (known.given and "head_dim" in config):
        there, size = True, sizes[known.head]
    unhealed = "head_dim" in config and not (known.heals or known.head)
    if size is None and there and not known.fills and (kind in _AS_IT_IS or unhealed):
        raise Refused("TypeError: head_dim is null")
    return size or sizes["hidden_size"] // sizes["num_attention_heads"]


def _turned(given: Parameters, size: Any, sizes: Mapping[str, Any], release: str, known: Family) -> Rotation:
    """The rotation of a kind of layer, once it is known to fit the heads."""
    kind = given["rope_type"]
    heeds = known.partial or kind != "default" or release == "4.57"
    dim = int(size * given.get("partial_rotary_factor", 1.0)) if heeds and kind != "proportional" else size
    found = rotation(kind, given, Head(size, dim, sizes.get("max_position_embeddings")))
    width = sizes[known.head] if known.head else sizes.get("head_dim") or size
    turned = 2 * len(found.frequencies)
    if turned > width if known.slices else turned != width:
        raise Refused(f"RuntimeError in the first forward: {turned} elements are to be turned of {width}")
    return found


def check_required(given: Parameters) -> None:
    """Raises Refused when a parameter of the rope type is missing."""
    kind = given.get("rope_type")
    missing = _REQUIRED.get(kind if isinstance(kind, str) else "", set()) - set(given)
    if missing:
        raise Refused(f"KeyError: {kind!r} needs {', '.join(sorted(missing))}")


def parameters(
    config: Mapping[str, Any], release: str, known: Family, sizes: Mapping[str, Any]
) -> dict[str, Parameters]:
    """The rotary parameters as the release works with them, by the kind of layer."""
    config = deepcopy(dict(config))
    if release == "4.57":
        return _of_version_4(config, known, sizes)
    if known.custom in ("two", "two-scaled"):
        flat = config.get("rope_parameters")
        if release == "5.2" and isinstance(flat, dict) and not set(flat) <= set(LAYERS):
            check_required({"rope_type": flat.get("type"), "original_max_position_embeddings": 0, **flat})
        return _two_kinds(config, known, sizes, scale_both=known.custom == "two-scaled")
    if known.custom == "other":
        raise Untold("this model type takes its rotary parameters in a way of its own")
    return _of_version_5(config, release, known, sizes)


def _of_version_4(config: Mapping[str, Any], known: Family, sizes: Mapping[str, Any]) -> dict[str, Parameters]:
    theta, share = known.theta, config.get("partial_rotary_factor", known.share)
    local = theta["local"] if isinstance(theta, dict) else None
    theta = config.get("rope_theta", theta["global"] if isinstance(theta, dict) else theta)
    scaling = config.get("rope_scaling", known.parameters)
    given: Parameters = dict(scaling) if isinstance(scaling, dict) else {}
    if isinstance(scaling, dict):
        _refused_by_version_4(given, known)
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


def _refused_by_version_4(given: Parameters, known: Family) -> None:
    """What some configurations of version 4 insist on."""
    if known.custom == "su" and (len(given) != 3 or given.get("type") not in ("longrope", "su", "yarn")):
        raise Refused("ValueError: rope_scaling needs type, short_factor and long_factor, and nothing else")
    if known.custom == "two" and "rope_type" not in given:
        raise Refused("KeyError: rope_scaling needs rope_type")
    if known.factor and "factor" not in given:
        raise Refused("KeyError: attention needs 'factor'")


def _of_version_5(
    config: Mapping[str, Any], release: str, known: Family, sizes: Mapping[str, Any]
) -> dict[str, Parameters]:
    told = config.get("rope_parameters")
    given = config.get("rope_scaling") or (
        deepcopy(dict(known.parameters)) if told is None and known.parameters else told
    )
    given = {} if given is None else given
    if not isinstance(given, dict):
        raise Refused(f"AttributeError: rope_parameters is a {type(given).__name__}")
    nested = _nested(config, given, release)
    theta = config.get("rope_theta", known.theta)
    share = config.get("partial_rotary_factor", known.share) if known.custom in ("", "su") else None
    if release == "5.2" and nested:
        given.setdefault("rope_theta", theta)  # which makes it look as if it were not nested any more
        raise Untold("transformers 5.2 puts rope_theta beside nested parameters; what becomes of it is not known here")
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
    if known.nested:
        if not nested:
            raise Refused(f"KeyError: rope_parameters has no entry for {LAYERS[0]!r}")
        return {key: given[key] for key in nested if given[key] is not None}
    if nested:
        raise Refused("KeyError: 'rope_type': the parameters are nested by the kind of layer, the model has one kind")
    return {ALL: given}


def _trained(one: Parameters, config: Mapping[str, Any], sizes: Mapping[str, Any], *, nested: bool) -> None:
    """For how many positions the model was trained, where the type needs it: a key beside the parameters goes first."""
    if one["rope_type"] not in SCALED:
        return
    beside = sizes.get("original_max_position_embeddings")
    if beside is not None and not nested:
        one["original_max_position_embeddings"] = beside
    elif "max_position_embeddings" in sizes:
        one.setdefault("original_max_position_embeddings", sizes["max_position_embeddings"])


def _nested(config: Mapping[str, Any], given: Mapping[str, Any], release: str) -> list[str]:
    """The kinds of layers that have an entry of their own."""
    kinds = config.get("layer_types")
    kinds = set(kinds) if isinstance(kinds, list) else set()
    if release == "5.2":
        return list(given) if given and set(given) <= kinds else []
    return [key for key in given if key in kinds]


def _two_kinds(
    config: Mapping[str, Any], known: Family, sizes: Mapping[str, Any], *, scale_both: bool
) -> dict[str, Parameters]:
    """Models with full and sliding attention, each with a theta of its own."""
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
        one.setdefault("rope_type", one.get("type", "default"))
        _trained(one, config, sizes, nested=True)
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
