"""Which bad weight accounts for a birth, by names: what an engine has fused or repacked is no longer the file's tensor.

Names below the list of layers are the same in all engines; the model around them is called differently in each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from ruleout.model.trace import BadWeight
from ruleout.model.traced import Birth

_NUMBER = re.compile(r"\d+")


def explains(weight: BadWeight, module: str) -> bool:
    """Whether a bad weight is one of the module's, whatever the engine has made of its name.

    A checkpoint names `layers.2.self_attn.q_proj.weight` what an engine computes in `layers.2.self_attn.qkv_proj`, and
    stores the experts apart that a model has in one module.
    """
    names = [weight.module] if weight.module else [weight.tensor.rpartition(".")[0]]
    here = _below_root(module)
    for there in map(_below_root, names):
        if here == there or (len(here) > 2 and there[: len(here)] == here):
            return True
        fused = len(here) == len(there) and here[:-1] == there[:-1] and len(here) > 1
        if fused and _stem(there[-1]) in _stem(here[-1]):
            return True
    return False


def accounts(weight: BadWeight, born: Birth) -> bool:
    """Whether a bad weight accounts for a birth; for one of which only the outside was seen, any inside of it does."""
    inside = born.hidden and not weight.computed and below(weight.tensor or weight.module, born.module)
    return inside or explains(weight, born.module)


def below(path: str, module: str) -> bool:
    """Whether a path is that of a module or of something inside of it; the outermost one has an empty path."""
    return module == "" or path == module or path.startswith(f"{module}.")


def _below_root(path: str) -> tuple[str, ...]:
    """The path from the list of layers on, since engines give the model itself different names; else its last name."""
    names = path.split(".")
    first = next((at for at, name in enumerate(names) if _NUMBER.fullmatch(name)), None)
    return tuple(names[max(0, first - 1) :]) if first is not None else tuple(names[-1:])


def _stem(name: str) -> str:
    return name.removesuffix("_proj")


def merged(weights: Iterable[BadWeight]) -> tuple[BadWeight, ...]:
    """Each weight once: what was seen of it while it was read, and what was found in the model."""
    found: dict[str, BadWeight] = {}
    for weight in sorted(weights, key=lambda one: not one.tensor):
        name = weight.tensor or f"{weight.module}.{weight.parameter}"
        key = next((known for known in found if ".".join(_below_root(known)) == ".".join(_below_root(name))), name)
        before = found.get(key)
        if before is None:
            found[key] = weight
        elif weight.module and not before.module:
            found[key] = replace(before, module=weight.module, parameter=weight.parameter, buffer=weight.buffer)
    return tuple(found.values())
