"""What a safetensors dtype is: how many bits an element has, and what its bytes mean as numbers.

NumPy has no bfloat16 and no 8-bit floats. A bfloat16 is the upper half of a float32, and an 8-bit float has 256 values:
a shift and a table decode them, so no further library is needed.
Source of the formats: https://www.opencompute.org/documents/ocp-8-bit-floating-point-specification-ofp8-revision-1-0-2023-12-01-pdf-1
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "I16": 16, "U16": 16, "I32": 32, "U32": 32, "I64": 64, "U64": 64,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64,
}  # fmt: skip
"""Bits of one element, by the dtypes of https://docs.rs/safetensors/latest/safetensors/tensor/enum.Dtype.html"""

WIDE = frozenset({"F16", "BF16", "F32", "F64"})
"""The dtypes of weights that are not quantised."""

EIGHT_BIT = frozenset({"F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"})
"""Floats of one byte: they are counted, not decoded one by one."""

_NUMPY = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I8": "i1", "U8": "u1", "I16": "<i2", "U16": "<u2", "I32": "<i4",
          "U32": "<u4", "I64": "<i8", "U64": "<u8", "BOOL": "u1"}  # fmt: skip


def decodable(dtype: str) -> bool:
    """Whether `decoded` knows the dtype."""
    return dtype in _NUMPY or dtype == "BF16" or dtype in EIGHT_BIT


def decoded(data: NDArray[np.uint8], dtype: str) -> NDArray[Any]:
    """The numbers in little-endian bytes, one-dimensional. `data` must hold whole elements of a decodable dtype."""
    if dtype == "BF16":
        return (data.view("<u2").astype(np.uint32) << 16).view(np.float32)
    if dtype in EIGHT_BIT:
        return eight_bit(dtype)[data]
    return data.view(_NUMPY[dtype])


@cache
def eight_bit(dtype: str) -> NDArray[np.float32]:
    """The 256 values of an 8-bit float, by its byte."""
    if dtype == "F8_E8M0":  # a power of two and nothing else; 255 is NaN
        values = np.exp2(np.arange(256, dtype=np.float64) - 127)
        values[255] = np.nan
        return values.astype(np.float32)
    exponent_bits = 4 if "E4M3" in dtype else 5
    finite_only = dtype.endswith("FNUZ")
    mantissa_bits = 7 - exponent_bits
    byte = np.arange(256)
    exponent, mantissa = (byte & 0x7F) >> mantissa_bits, byte & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - (0 if finite_only else 1)
    fraction = mantissa / (1 << mantissa_bits)
    values = np.where(
        exponent == 0, fraction * np.exp2(1.0 - bias), (1 + fraction) * np.exp2(exponent.astype(np.float64) - bias)
    )
    values = np.where(byte & 0x80, -values, values)
    if finite_only:
        values[0x80] = np.nan  # where minus zero would be
    elif exponent_bits == 4:
        values[[0x7F, 0xFF]] = np.nan  # e4m3fn has no infinity
    else:
        values[[0x7C, 0xFC]] = np.inf, -np.inf
        values[[0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF]] = np.nan
    return values.astype(np.float32)
