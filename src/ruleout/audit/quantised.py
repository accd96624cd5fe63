"""A quantised linear layer is several tensors that only together are a weight: each format says which, of what shape.

Sources: https://github.com/vllm-project/compressed-tensors/tree/0.17.0/src/compressed_tensors/compressors (packed),
https://github.com/NVIDIA/Model-Optimizer/blob/main/modelopt/torch/export/unified_export_hf.py (modelopt),
https://huggingface.co/deepseek-ai/DeepSeek-V3/blob/main/README_WEIGHTS.md (FP8 in blocks),
https://docs.vllm.ai/en/stable/features/quantization/ (AWQ, GPTQ).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ruleout.audit.tensors_dtypes import WIDE

Shape = tuple[int, ...]

E4M3, UE8M0 = "F8_E4M3", "F8_E8M0"
ONE: tuple[Shape, ...] = ((), (1,))
"""The shapes of a single number."""
_SCALES = WIDE - {"F64"}


@dataclass(frozen=True, slots=True)
class Stored:
    """One tensor of a quantised layer.

    Attributes:
        suffix: behind the layer's name.
        dtypes: those that readers take.
        shapes: those that readers take.
        needed: whether a layer without it is broken.
        scale: whether it scales the weight or the input.
    """

    suffix: str
    dtypes: frozenset[str]
    shapes: tuple[Shape, ...]
    needed: bool = True
    scale: bool = False


@dataclass(frozen=True)
class Scheme:
    """How a linear layer of (out, in) is stored.

    Attributes:
        name: as people call it.
        layout: its tensors; raises ValueError where the format cannot hold this shape.
        bits: of a weight, its scales included.
    """

    name: str
    layout: Callable[[int, int], tuple[Stored, ...]]
    bits: float


def up(number: int, divisor: int) -> int:
    """The quotient, rounded up."""
    return -(-number // divisor)


def _weight(suffix: str, dtype: str, *shapes: Shape) -> Stored:
    return Stored(suffix, frozenset({dtype}), shapes)


def _scale(suffix: str, dtypes: str | frozenset[str], *shapes: Shape, needed: bool = True) -> Stored:
    return Stored(suffix, frozenset({dtypes}) if isinstance(dtypes, str) else dtypes, shapes, needed, scale=True)


def _fits(inner: int, group: int) -> None:
    if inner % group:
        raise ValueError(f"{inner} inputs do not divide into groups of {group}")


def nvfp4_modelopt(*, inputs: bool) -> Scheme:
    """NVFP4 as modelopt writes it: two values a byte, a scale in e4m3 for sixteen, one in float32 for all."""

    @cache
    def layout(out: int, inner: int) -> tuple[Stored, ...]:
        _fits(inner, 16)
        return (
            _weight("weight", "U8", (out, inner // 2)),
            _scale("weight_scale", E4M3, (out, inner // 16)),
            _scale("weight_scale_2", "F32", *ONE),
            _scale("input_scale", "F32", *ONE, needed=inputs),
        )

    return Scheme("NVFP4 (modelopt)", layout, 4.5)


def fp8_modelopt() -> Scheme:
    """FP8 as modelopt writes it: one scale a tensor, for the weight and for the input."""

    @cache
    def layout(out: int, inner: int) -> tuple[Stored, ...]:
        return (
            _weight("weight", E4M3, (out, inner)),
            _scale("weight_scale", _SCALES, *ONE),
            _scale("input_scale", _SCALES, *ONE, needed=False),
        )

    return Scheme("FP8 (modelopt)", layout, 8)


def fp8_blocks(rows: int, columns: int, *, ue8m0: bool = False) -> Scheme:
    """FP8 with a scale for each block, as DeepSeek releases it. `ue8m0`: scales are powers of two, stored as any."""

    @cache
    def layout(out: int, inner: int) -> tuple[Stored, ...]:
        dtypes = frozenset({"F32", "BF16", UE8M0}) if ue8m0 else frozenset({"F32", "BF16"})
        return (
            _weight("weight", E4M3, (out, inner)),
            _scale("weight_scale_inv", dtypes, (up(out, rows), up(inner, columns))),
            _scale("input_scale", _SCALES, *ONE, needed=False),
        )

    return Scheme(f"FP8 in blocks of {rows}×{columns}", layout, 8 + 32 / max(1, rows * columns))


def fp8_tensor() -> Scheme:
    """FP8 with one scale a tensor, as vLLM and Transformers write it."""

    @cache
    def layout(out: int, inner: int) -> tuple[Stored, ...]:
        return (
            _weight("weight", E4M3, (out, inner)),
            _scale("weight_scale", _SCALES, *ONE, (out, 1), (out,)),
            _scale("input_scale", _SCALES, *ONE, needed=False),
        )

    return Scheme("FP8", layout, 8)


def nvfp4_packed(*, inputs: bool) -> Scheme:
    """NVFP4 as compressed-tensors writes it."""

    @cache
    def layout(out: int, inner: int) -> tuple[Stored, ...]:
        _fits(inner, 16)
        return (
            _weight("weight_packed", "U8", (out, inner // 2)),
            _scale("weight_scale", E4M3, (out, inner // 16)),
            _scale("weight_global_scale", "F32", *ONE),
            _scale("input_global_scale", "F32", *ONE, needed=inputs),
        )

    return Scheme("NVFP4 (compressed-tensors)", layout, 4.5)


def mxfp4_packed() -> Scheme:
    """MXFP4 as compressed-tensors writes it: a power of two for thirty-two values."""

    @cache
    def layout(out: int, inner: int) -> tuple[Stored, ...]:
        _fits(inner, 32)
        return (
            _weight("weight_packed", "U8", (out, inner // 2)),
            _scale("weight_scale", frozenset({"U8", UE8M0}), (out, inner // 32)),
        )

    return Scheme("MXFP4 (compressed-tensors)", layout, 4.25)


def eight_bits(name: str, dtype: str, scales: Callable[[int, int], tuple[Shape, ...]], *, inputs: bool) -> Scheme:
    """FP8 or INT8 as compressed-tensors writes it, by the shape of its scales."""

    @cache
    def layout(out: int, inner: int) -> tuple[Stored, ...]:
        return (
            _weight("weight", dtype, (out, inner)),
            _scale("weight_scale", _SCALES, *scales(out, inner)),
            _scale("input_scale", _SCALES, *ONE, needed=inputs),
        )

    return Scheme(f"{name} (compressed-tensors)", layout, 8)


def packed_integers(bits: int, group: int | None, *, symmetric: bool) -> Scheme:
    """INT4 or INT8 packed in 32 bits as compressed-tensors writes it; a scale a row where there is no group."""
    fold = 32 // bits

    @cache
    def layout(out: int, inner: int) -> tuple[Stored, ...]:
        if group is not None:
            _fits(inner, group)
        groups = 1 if group is None else inner // group
        return (
            _weight("weight_packed", "I32", (out, up(inner, fold))),
            _scale("weight_scale", _SCALES, (out, groups)),
            Stored("weight_shape", frozenset({"I32", "I64"}), ((2,),)),
            Stored(
                "weight_zero_point", frozenset({"I32", "I8"}), ((up(out, fold), groups), (out, groups)), not symmetric
            ),
            Stored("weight_g_idx", frozenset({"I32"}), ((inner,),), needed=False),
        )

    return Scheme(f"INT{bits} packed (compressed-tensors)", layout, bits + 16 / (group or 4096))


def awq(bits: int, group: int) -> Scheme:
    """AWQ in its `gemm` order: inputs are rows."""
    fold = 32 // bits

    @cache
    def layout(out: int, inner: int) -> tuple[Stored, ...]:
        _fits(inner, group)
        _fits(out, fold)
        return (
            _weight("qweight", "I32", (inner, out // fold)),
            _weight("qzeros", "I32", (inner // group, out // fold)),
            _scale("scales", _SCALES, (inner // group, out)),
        )

    return Scheme(f"AWQ {bits} bits", layout, bits + (16 + bits) / group)


def gptq(bits: int, group: int) -> Scheme:
    """GPTQ: inputs are packed along the rows. `group` -1: one for all inputs."""
    fold = 32 // bits

    @cache
    def layout(out: int, inner: int) -> tuple[Stored, ...]:
        groups = 1 if group < 0 else up(inner, group)
        return (
            _weight("qweight", "I32", (up(inner, fold), out)),
            _weight("qzeros", "I32", (groups, up(out, fold))),
            _scale("scales", _SCALES, (groups, out)),
            Stored("g_idx", frozenset({"I32"}), ((inner,),), needed=False),
        )

    return Scheme(f"GPTQ {bits} bits", layout, bits + (16 + bits) / (group if group > 0 else 4096))
