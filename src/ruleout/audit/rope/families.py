"""What a release of transformers does with a model type, from a table that `tools/rope_families.py` makes.

The rules that all model types share are code; the table holds where one differs from most.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

RELEASES = ("4.57", "5.2", "5.24")
"""The releases of transformers whose rules are known; between them, the nearest older one's are taken."""


@dataclass(frozen=True, slots=True)
class Family:
    """A model type in one release.

    Attributes:
        theta: what stands in for a missing rope_theta; with two kinds of layers, by `global` and `local`.
        parameters: what stands in for missing rotary parameters.
        partial: partial_rotary_factor is heeded where positions are not scaled.
        share: what stands in for a missing partial_rotary_factor.
        layers: it declares `layer_types`.
        nested: each kind of layer has parameters of its own.
        slices: as much of a head is turned as there are cosines; otherwise both have to be of one size.
        shares: attention takes what the share says, and not as much as there are cosines.
        head: the key whose value head_dim takes in any case; empty where there is none.
        given: a head_dim in the file replaces it all the same.
        fills: a missing head_dim becomes hidden_size / num_attention_heads.
        bare: a missing head_dim stays null, which some rope types cannot do with.
        heals: attention does with a head_dim that is null.
        factor: attention reads `factor` whatever the rope type, unless it is the default one.
        mscale: attention is scaled by `factor` where mscale_all_dim is given.
        divides: hidden_size has to be a multiple of num_attention_heads.
        custom: a way of its own to take the parameters.
        pairs: which elements are turned together: `halves`, `interleaved`, or `told` by rope_interleave.
        sizes: what stands in for missing sizes.
        types: by type, the keys that have to be of it.
        reads: the keys that the model's own code reads.
    """

    theta: Any = 10000.0
    parameters: Mapping[str, Any] | None = None
    partial: bool = False
    share: float | None = None
    layers: bool = False
    nested: bool = False
    slices: bool = False
    shares: bool = False
    head: str = ""
    given: bool = False
    fills: bool = False
    bare: bool = False
    heals: bool = False
    factor: bool = False
    mscale: bool = False
    divides: bool = False
    custom: str = ""
    pairs: str = "halves"
    sizes: Mapping[str, Any] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    reads: str = ""


@cache
def _table() -> dict[str, dict[str, dict[str, Any]]]:
    text = (files("ruleout.audit.rope") / "families.json").read_text(encoding="utf-8")
    table: dict[str, dict[str, dict[str, Any]]] = json.loads(text)
    return table


def family(release: str, model_type: str | None) -> Family | None:
    """The model type in that release; None where it does not know it, or turns nothing."""
    told = _table()[release].get(model_type or "")
    if told is not None and not told["sizes"]:  # a model of several parts hands flat keys on to its text model
        told = _table()[release].get(f"{model_type}_text", told)
    return None if told is None else Family(**told)


def newest(model_type: str | None) -> Family | None:
    """The model type in the newest release that knows it; None where none does."""
    return next((known for release in reversed(RELEASES) if (known := family(release, model_type))), None)
