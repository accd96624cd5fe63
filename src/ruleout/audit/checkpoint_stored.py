"""Every tensor that is there is held against every tensor that has to be there: by name, by shape, by dtype.

What has to be there follows from two tables alone: the parameters that the configuration asks for, and how the declared
format stores a linear layer. So one comparison finds missing weights, missing scales, wrong shapes and wrong formats.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ruleout.audit.checkpoint_families import Parameter, Part
from ruleout.audit.quantised import E4M3, UE8M0, Stored
from ruleout.audit.quantised_reading import Quantisation
from ruleout.audit.tensors import Tensor
from ruleout.audit.tensors_dtypes import WIDE

FREE = frozenset({Part.VOCABULARY, Part.INDEXER, Part.MTP})
"""Parts that releases leave unquantised without saying so; what they are stored as is taken as it is."""

_BESIDE = ("inv_freq", "k_scale", "v_scale", "q_scale", "kv_scale", "prob_output_scale", "output_scale", "input_scale",
           "masked_bias", "attn_sink", "weight_shape", "g_idx")  # fmt: skip
"""How tensors end that may lie beside weights; GPTQ also writes a bias, of zeros, for layers that have none."""
_MARKS = ("weight_packed", "qweight", "weight_scale", "weight_scale_inv", "scales", "weight_scale_2")


@dataclass
class Difference:
    """What differs, each as names under one heading: thousands of layers that lack the same are one finding."""

    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    shapes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    dtypes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    formats: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    scales: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    lacking: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    plain: list[str] = field(default_factory=list)
    quantised: list[str] = field(default_factory=list)
    impossible: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def compare(
    parameters: Iterable[Parameter],
    as_one: Mapping[str, tuple[int, ...]],
    quantisation: Quantisation | None,
    held: Mapping[str, Tensor],
    layers: int,
) -> Difference:
    """What differs between the parameters as they have to be stored, and the tensors as they are.

    Args:
        as_one: other names and shapes for the experts of a layer, where a release joins them.
        held: the tensors by name.
        layers: of the model; those behind them, for multi-token prediction, may be left as they were.
    """
    found, seen = Difference(), set(as_one)
    joined = {name.partition(".experts.")[0] for name in as_one if name in held}
    suffixes: dict[str, set[str]] = defaultdict(set)
    for name in held:
        module, _, suffix = name.rpartition(".")
        suffixes[module].add(suffix)
    for parameter in parameters:
        if parameter.part is Part.EXPERT and parameter.name.partition(".experts.")[0] in joined:
            continue
        if not parameter.linear:
            seen.add(parameter.name)
            _plain(parameter, held, found)
        else:
            here = suffixes.get(parameter.module, set()) - {"bias"}
            free = parameter.part in FREE or parameter.layer >= layers
            known = _linear(parameter, here, quantisation, held, found, free=free)
            seen.update(f"{parameter.module}.{suffix}" for suffix in known)
    for name, shape in as_one.items():
        if name.partition(".experts.")[0] in joined:
            if name not in held:
                found.missing.append(name)
            elif held[name].shape != shape and quantisation is None:
                found.shapes[_shapes(held[name].shape, shape)].append(name)
    beside = (*_BESIDE, ".bias") if quantisation is not None and quantisation.method == "gptq" else _BESIDE
    found.extra = [name for name in held if name not in seen and not name.endswith(beside)]
    return found


def _plain(parameter: Parameter, held: Mapping[str, Tensor], found: Difference) -> None:
    tensor = held.get(parameter.name)
    if tensor is None:
        if not parameter.optional:
            found.missing.append(parameter.name)
        return
    if tensor.shape != parameter.shape:
        found.shapes[_shapes(tensor.shape, parameter.shape)].append(parameter.name)
    if tensor.dtype not in WIDE:
        found.dtypes[tensor.dtype].append(parameter.name)


def _linear(
    parameter: Parameter,
    here: set[str],
    quantisation: Quantisation | None,
    held: Mapping[str, Tensor],
    found: Difference,
    *,
    free: bool,
) -> set[str]:
    """Compares one linear layer, and returns which of its tensors are accounted for."""
    module, weight = parameter.module, held.get(parameter.name)
    if not here:
        if not parameter.optional:
            found.missing.append(parameter.name)
        return here
    scheme = quantisation.scheme(module) if quantisation is not None else None
    plain = weight is not None and weight.dtype in WIDE and here.isdisjoint(_MARKS)
    if plain and (scheme is None or free):
        _plain(parameter, held, found)
        return {"weight"}
    if plain:
        found.plain.append(module)
        return {"weight"}
    if scheme is None:
        found.quantised.append(module)
        return here
    out, inner = parameter.shape
    try:
        layout = scheme.layout(out, inner)
    except ValueError as problem:
        found.impossible[f"{scheme.name}: {problem}"].append(module)
        return here
    for stored in layout:
        _stored(module, stored, held, found)
    return {stored.suffix for stored in layout}


def _stored(module: str, stored: Stored, held: Mapping[str, Tensor], found: Difference) -> None:
    name = f"{module}.{stored.suffix}"
    tensor = held.get(name)
    if tensor is None:
        if stored.needed:
            found.lacking[stored.suffix].append(module)
        return
    if tensor.shape not in stored.shapes:
        found.shapes[_shapes(tensor.shape, stored.shapes[-1])].append(name)
    if tensor.dtype not in stored.dtypes:
        expected = " or ".join(sorted(stored.dtypes))
        kind = f"{stored.suffix} in {tensor.dtype} where {expected} is declared"
        exchanged = (
            stored.scale and {tensor.dtype, *stored.dtypes} & {UE8M0} and {tensor.dtype, *stored.dtypes} & {E4M3, "U8"}
        )
        (found.scales if exchanged else found.formats)[kind].append(module)


def _shapes(is_: tuple[int, ...], should: tuple[int, ...]) -> str:
    return f"{list(is_)} instead of {list(should)}"


def quantised_names(held: Mapping[str, Tensor]) -> Iterator[str]:
    """Tensors that only a quantised layer has."""
    return (name for name in held if name.rpartition(".")[2] in _MARKS)
