"""How a release of transformers turns positions: by the parameters as it takes them, and by what they have to fit.

Sources, all of https://github.com/huggingface/transformers: `modeling_rope_utils.py`, `configuration_utils.py`,
`models/*/modeling_*.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from ruleout.audit.folder import quoted
from ruleout.audit.rope.families import Family, family
from ruleout.audit.rope.fields import check_types
from ruleout.audit.rope.reading import (
    LAYERS,
    Parameters,
    Reading,
    Refused,
    Untold,
    attempted,
    check,
    check_required,
)
from ruleout.audit.rope.rotation import Head, Rotation, rotation
from ruleout.audit.rope.version4 import of_version_4
from ruleout.audit.rope.version5 import of_version_5, two_kinds
from ruleout.model.model_types import first_releases, numbers

SIZES = frozenset(
    {"hidden_size", "num_attention_heads", "head_dim", "max_position_embeddings", "qk_rope_head_dim"}
    | {"original_max_position_embeddings"}
)
_AS_IT_IS = ("dynamic", "yarn", "longrope")
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
    return attempted(lambda: _read(config, release, known))


def _read(config: Mapping[str, Any], release: str, known: Family) -> Reading:
    check_types(config, known)
    sizes = sizes_of(config, known)
    told = parameters(config, release, known, sizes)
    rotations = {}
    for layer, given in told.items():
        check(given)
        scaled = given["rope_type"] != "default"
        if scaled and (known.factor or (known.mscale and given.get("mscale_all_dim"))) and given.get("factor") is None:
            raise Refused("KeyError: attention needs 'factor'")
        beside = config.get("partial_rotary_factor")
        if known.shares and beside is not None and _share_inside(config) not in (None, beside):
            raise Untold("which of two partial_rotary_factor its attention goes by is not known")
        size = head_size(config, sizes, known, given.get("rope_type"))
        rotations[layer] = _turned(given, size, sizes, release, known)
    return Reading(rotations, told, interleaved(config, known))


def _share_inside(config: Mapping[str, Any]) -> Any:
    """The partial_rotary_factor that stands in the rotary parameters; None where none does."""
    places = (config.get("rope_scaling"), config.get("rope_parameters"))
    return next((place["partial_rotary_factor"] for place in places
                 if isinstance(place, dict) and "partial_rotary_factor" in place), None)  # fmt: skip


def sizes_of(config: Mapping[str, Any], known: Family) -> dict[str, Any]:
    """The sizes of the model, by their usual names. Raises Untold where the model type has others for them."""
    sizes = {**known.sizes, **{key: config[key] for key in config if key in SIZES}}
    if not {"hidden_size", "num_attention_heads"} <= set(sizes) and not (known.head or sizes.get("head_dim")):
        raise Untold("its sizes are not told by the usual names")
    if isinstance(config.get("qk_rope_head_dim"), int) and not known.head:
        raise Untold("which part of its heads is turned is not known")
    return sizes


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
    if turned < width and not known.slices and not known.head and (known.partial or known.share is not None):
        raise Untold(f"whether its attention can turn {turned} elements of {width} is not known")
    if turned > width if known.slices else turned != width:
        raise Refused(f"RuntimeError in the first forward: {turned} elements are to be turned of {width}")
    return found


def parameters(
    config: Mapping[str, Any], release: str, known: Family, sizes: Mapping[str, Any]
) -> dict[str, Parameters]:
    """The rotary parameters as the release works with them, by the kind of layer."""
    config = deepcopy(dict(config))
    if release == "4.57":
        return of_version_4(config, known, sizes)
    if known.custom in ("two", "two-scaled"):
        flat = config.get("rope_parameters")
        if release == "5.2" and isinstance(flat, dict) and not set(flat) <= set(LAYERS):
            check_required({"rope_type": flat.get("type"), "original_max_position_embeddings": 0, **flat})
        return two_kinds(config, release, known, sizes)
    if known.custom == "other":
        raise Untold("this model type takes its rotary parameters in a way of its own")
    return of_version_5(config, release, known, sizes)
