"""A corrected copy of config.json, where what is meant is plain: nothing is guessed, and the original stays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from ruleout.audit.layers import feed_forward
from ruleout.audit.rope.families import newest

Config = dict[str, Any]


def fixed(config: Mapping[str, Any]) -> tuple[Config, tuple[str, ...]]:
    """The corrected configuration, and what was corrected; nothing where all is well, or nothing can be known.

    A multimodal model's text model is corrected in its place.
    """
    whole = deepcopy(dict(config))
    text = whole.get("text_config")
    targets = [whole, *([text] if isinstance(text, dict) else [])]
    done = [told for target in targets for fix in FIXES if (told := fix(target))]
    return whole, tuple(dict.fromkeys(done))


def _one_place(config: Config) -> str:
    """What transformers 5 would replace is merged: the scaling of one, the theta of the other."""
    new, old = config.get("rope_parameters"), config.get("rope_scaling")
    if not (isinstance(new, dict) and new and isinstance(old, dict) and old) or _nested(new):
        return ""
    kind = old.get("rope_type", old.get("type")) or new.get("rope_type", "default")
    config["rope_parameters"] = {**new, **{k: v for k, v in old.items() if k != "type"}, "rope_type": kind}
    if "rope_theta" in new:
        config["rope_parameters"]["rope_theta"] = new["rope_theta"]
    del config["rope_scaling"]
    return "rope_scaling is now in rope_parameters"


def _numbers(config: Config) -> str:
    """Numbers that were written as text."""
    told = [place for key in ("rope_parameters", "rope_scaling") if isinstance(place := config.get(key), dict)]
    nested = [one for place in told for one in place.values() if isinstance(one, dict)]
    done = False
    for place in [config, *told, *nested]:
        for key in ("rope_theta", "factor", "partial_rotary_factor"):
            if isinstance(place.get(key), str):
                try:
                    place[key] = float(place[key])
                    done = True
                except ValueError:
                    continue
    return "numbers are no text any more" if done else ""


def _head_size(config: Config) -> str:
    """A head_dim that is null, or other than what a model with latent attention takes it for."""
    kind, size = config.get("model_type"), config.get("head_dim", ...)
    known = newest(kind) if isinstance(kind, str) else None
    width, heads = config.get("hidden_size"), config.get("num_attention_heads")
    if size is None and known and known.head:
        del config["head_dim"]
        return "head_dim: null is out"
    if size is None and type(width) is int and type(heads) is int and heads > 0:
        config["head_dim"] = width // heads
        return "head_dim is now hidden_size / num_attention_heads"
    if known and known.head and size is not ... and size != config.get(known.head, size):
        config["head_dim"] = config[known.head]
        return f"head_dim is now {known.head}"
    return ""


def _dense_layers(config: Config) -> str:
    """The list that one release reads from the number that others do."""
    kinds = feed_forward(config, "5.24") if "first_k_dense_replace" in config else None
    if kinds is None or config.get("mlp_layer_types") is not None:
        return ""
    config["mlp_layer_types"] = list(kinds)
    return "mlp_layer_types says what first_k_dense_replace did"


def _nested(given: Mapping[str, Any]) -> bool:
    return any(isinstance(value, dict) for value in given.values())


FIXES: tuple[Callable[[Config], str], ...] = (_numbers, _one_place, _head_size, _dense_layers)
