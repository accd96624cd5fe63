"""How many bytes of weights one rank loads: what is cut over ranks, what every rank has, what is not loaded at all.

The headers give the bytes of every tensor, whatever it is quantised to; the configuration gives how engines cut it. So
nothing about formats has to be known here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ruleout.audit.checkpoint_families import Parameter, Part, Split
from ruleout.audit.memory_deployment import Deployment
from ruleout.audit.quantised_reading import Quantisation
from ruleout.audit.tensors import Tensor


class Span(NamedTuple):
    """A number that is measured, not computed: what is likely, and what has been seen at either end."""

    likely: float
    least: float
    most: float

    @classmethod
    def of(cls, number: float) -> Span:
        """A number that is known."""
        return cls(number, number, number)

    def __add__(self, other: object) -> Span:
        """The sum, where both may be at the same end."""
        return Span(*(a + b for a, b in zip(self, other, strict=True))) if isinstance(other, Span) else NotImplemented

    def __sub__(self, other: Span) -> Span:
        """The difference, where the one may be at one end and the other at the other."""
        return Span(self.likely - other.likely, self.least - other.most, self.most - other.least)

    def __mul__(self, factor: object) -> Span:
        """All three, so many times."""
        return Span(*(a * factor for a in self)) if isinstance(factor, int | float) else NotImplemented


LOADED_OVER_STORED = Span(1.025, 1.02, 1.035)
"""Bytes that a rank of several takes for each byte stored, beyond the flat rest, in logs of GLM-5 and Kimi K2 in NVFP4
on eight GPUs; 1.00 on one (scales in the kernels' layout, the allocator's rounding)."""
LOADED_BESIDES = Span(0.3, 0.1, 0.7) * (1 << 30)
"""Bytes that loading takes besides, in logs of one GPU (modules of kernels)."""


@dataclass(frozen=True)
class Weight:
    """The bytes of one layer's tensors, and where they belong."""

    parameter: Parameter | None
    module: str
    bytes: float


def stored(parameters: Iterable[Parameter], held: Mapping[str, Tensor]) -> list[Weight]:
    """The weights of a checkpoint, by their headers."""
    by_module = {parameter.module: parameter for parameter in parameters}
    joined = {f"{base}.experts": p for module, p in by_module.items() if (base := _expert_base(module)) is not None}
    found: dict[str, float] = defaultdict(float)
    for name, tensor in held.items():
        module, _, suffix = name.rpartition(".")
        found[name if suffix in ("gate_up_proj", "down_proj") else module] += tensor.bytes
    return [Weight(by_module.get(m) or joined.get(m.rpartition(".")[0]), m, size) for m, size in found.items()]


def _expert_base(module: str) -> str | None:
    base, found, _ = module.partition(".experts.")
    return base if found else None


def by_configuration(
    parameters: Iterable[Parameter], quantisation: Quantisation | None, element: int = 2
) -> list[Weight]:
    """The weights that a configuration and a declared format amount to, for a checkpoint that is not here.

    Args:
        element: bytes of a value that is not quantised.
    """
    found = []
    for parameter in parameters:
        bits = 8.0 * element
        if quantisation is not None and parameter.linear and parameter.part not in (Part.VOCABULARY, Part.MTP):
            scheme = quantisation.scheme(parameter.module)
            bits = scheme.bits if scheme is not None else bits
        found.append(Weight(parameter, parameter.module, parameter.count * bits / 8))
    return found


def loaded(stored: float, deployed: Deployment, *, cpu: bool = False) -> Span:
    """Bytes that stored weights take on a GPU once they are loaded; tiny ones take little besides."""
    if not stored or cpu:
        return Span.of(stored)
    over = LOADED_OVER_STORED if deployed.tp > 1 else Span.of(1)
    return over * stored + LOADED_BESIDES * min(1.0, stored / 5 / LOADED_BESIDES.likely)


def per_rank(weights: Iterable[Weight], deployed: Deployment, *, kv_heads: int, layers: int, drafting: bool) -> float:
    """Bytes on the rank that has the most of them.

    Args:
        kv_heads: of grouped-query attention: with more ranks than heads, heads are kept more than once.
        layers: of the model; what stands behind them is for multi-token prediction.
        drafting: whether those layers are loaded.
    """
    stages: dict[int, float] = defaultdict(float)
    each = -(-layers // deployed.pp)
    for weight in weights:
        parameter = weight.parameter
        share = weight.bytes * _share(parameter, deployed, kv_heads)
        if parameter is not None and parameter.module.endswith("kv_b_proj"):
            share += parameter.count * 2 / deployed.attention_tp  # kept a second time, as the absorbed W_UK and W_UV
        if parameter is None:
            for stage in range(deployed.pp):
                stages[stage] += share / deployed.pp
        elif parameter.layer >= layers:
            stages[deployed.pp - 1] += share if drafting else 0
        elif parameter.layer >= 0:
            stages[min(parameter.layer // each, deployed.pp - 1)] += share
        else:
            stages[0 if "embed" in parameter.name else deployed.pp - 1] += share
    return max(stages.values(), default=0.0)


def _share(parameter: Parameter | None, deployed: Deployment, kv_heads: int) -> float:
    if parameter is None:
        return 1 / deployed.tp
    if parameter.part is Part.EXPERT:
        return 1 / (deployed.tp * (deployed.dp if deployed.engine == "vllm" and deployed.ep > 1 else 1))
    ranks = deployed.attention_tp if parameter.part is Part.ATTENTION else deployed.tp
    if parameter.split is Split.KV:
        return 1 / min(ranks, max(1, kv_heads))
    return 1 if parameter.split is Split.NONE else 1 / ranks
