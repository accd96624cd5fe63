"""Which layers of a mixture of experts are dense: newer configurations list them, older ones count the first few.

5.2 does not know the older way and takes three, so that layers get random weights with no more than a report of it
(`models/glm_moe_dsa/configuration_glm_moe_dsa.py` of https://github.com/huggingface/transformers).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DENSE = 3
"""What 5.2 takes where nothing is listed, and what 5.24 takes where first_k_dense_replace is missing too."""
TYPES = frozenset({"glm_moe_dsa"})
"""Model types with such a list whose default differs from release to release."""


def feed_forward(config: Mapping[str, Any], release: str) -> tuple[str, ...] | None:
    """`dense` or `sparse` for each layer, as a release takes them; None where it has no such list."""
    listed, layers = config.get("mlp_layer_types"), config.get("num_hidden_layers")
    if config.get("model_type") not in TYPES or release == "4.57":
        return None
    if isinstance(listed, list):
        return tuple(str(kind) for kind in listed)
    first = DENSE if release == "5.2" else config.get("first_k_dense_replace", DENSE)
    if not isinstance(layers, int) or not isinstance(first, int):
        return None
    dense = min(first, layers)
    return ("dense",) * dense + ("sparse",) * (layers - dense)
