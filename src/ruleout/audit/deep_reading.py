"""The bits of a float are ordered as its magnitude: a maximum over integers finds NaN, infinity, zero and the largest.

So no tensor has to be decoded to be judged: two passes of integer instructions over a block that is still in the CPU's
cache are faster than disks. Values are decoded from a sample, for the statistics.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ruleout.audit.folder import ModelFolder, Unreadable
from ruleout.audit.subject import Progress
from ruleout.audit.tensors import Header, Tensor
from ruleout.audit.tensors_dtypes import decodable, decoded
from ruleout.model.audit import TensorStatistics

CHUNK = 8 << 20
"""Bytes that are held at once; while they are judged, the kernel reads the next ones."""
_BLOCK = 512 << 10
_SAMPLE = 16 << 10

_FLOATS = {
    "F64": ("<u8", 0x7FFF_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0000), "F32": ("<u4", 0x7FFF_FFFF, 0x7F80_0000),
    "F16": ("<u2", 0x7FFF, 0x7C00), "BF16": ("<u2", 0x7FFF, 0x7F80), "F8_E4M3": ("u1", 0x7F, 0x7F),
    "F8_E5M2": ("u1", 0x7F, 0x7C), "F8_E8M0": ("u1", 0xFF, 0xFF),
}  # fmt: skip
"""By dtype: the unsigned integers of its size, the bits of the magnitude, the first magnitude that is not finite."""
_SIGNED = {"I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8"}
_WIDTH = {"U16": "<u2", "U32": "<u4", "U64": "<u8"}


@dataclass(slots=True)
class _Seen:
    """What is known of a tensor so far, in bits."""

    low: int = -1
    high: int = 0
    smallest: int = -1
    largest: int = 0
    nan: int = 0
    inf: int = 0
    zeros: int = 0
    squares: float = 0.0
    sampled: int = 0


def statistics(
    folder: ModelFolder, header: Header, progress: Progress, done: int, total: int
) -> Iterator[TensorStatistics]:
    """Reads the tensors of one file in the order of the file, in bounded memory.

    Args:
        done: bytes that were read before this file; the progress is told of `total`.

    Raises Unreadable when the file has gone or got shorter since its header was read.
    """
    buffer = bytearray(CHUNK)
    with folder.opened(header.file) as file:
        plan = [(tensor, at, min(CHUNK, tensor.end - at)) for tensor in _in_order(header) for at in _chunks(tensor)]
        seen = _Seen()
        for number, (tensor, at, size) in enumerate(plan):
            if number + 1 < len(plan):
                _, ahead, more = plan[number + 1]
                os.posix_fadvise(file.fileno(), ahead, more, os.POSIX_FADV_WILLNEED)
            if _read(file, buffer, at, size) != size:
                raise Unreadable(header.file, "got shorter while it was read", "Wait until its download has ended.")
            if at == tensor.start:
                seen = _Seen()
            _look(np.frombuffer(buffer, np.uint8, size), tensor.dtype, seen)
            done += size
            progress(done, total)
            if at + size == tensor.end:
                yield _told(header.file, tensor, seen)


def _in_order(header: Header) -> list[Tensor]:
    whole = (tensor for tensor in header.tensors if tensor.bytes and tensor.end <= header.size)
    return sorted(whole, key=lambda tensor: tensor.start)


def _chunks(tensor: Tensor) -> range:
    return range(tensor.start, tensor.end, CHUNK)


def _read(file: BinaryIO, buffer: bytearray, at: int, size: int) -> int:
    view, got = memoryview(buffer)[:size], 0
    while got < size:
        count = os.preadv(file.fileno(), [view[got:]], at + got)
        if count <= 0:
            break
        got += count
    return got


def _look(data: NDArray[np.uint8], dtype: str, seen: _Seen) -> None:
    for at in range(0, data.size, _BLOCK):
        block = data[at : at + _BLOCK]
        if dtype in _FLOATS:
            _floats(block, dtype, seen)
        else:
            _integers(block.view(_SIGNED.get(dtype) or _WIDTH.get(dtype, "u1")), seen)
    if decodable(dtype):
        sample = data[:_SAMPLE]
        with np.errstate(invalid="ignore"):
            values = decoded(sample, dtype).astype(np.float64)
        values = values[np.isfinite(values)]
        seen.squares += float(np.square(values).sum())  # not a dot product: BLAS would start threads for it
        seen.sampled += values.size


def _floats(block: NDArray[np.uint8], dtype: str, seen: _Seen) -> None:
    integers, mask, limit = _FLOATS[dtype]
    bits: NDArray[Any] = block.view(integers)
    magnitudes = bits if mask == np.iinfo(bits.dtype).max else bits & bits.dtype.type(mask)
    largest, smallest = int(magnitudes.max()), int(magnitudes.min())
    if largest >= limit:
        infinite = int(np.count_nonzero(magnitudes == limit)) if _has_infinity(dtype) else 0
        seen.inf += infinite
        seen.nan += int(np.count_nonzero(magnitudes >= limit)) - infinite
        largest = int(np.where(magnitudes < limit, magnitudes, 0).max())
    if smallest == 0 and dtype != "F8_E8M0":
        seen.zeros += int(np.count_nonzero(magnitudes == 0))
    seen.largest = max(seen.largest, largest)
    seen.smallest = smallest if seen.smallest < 0 else min(seen.smallest, smallest)
    # A constant has one magnitude: only where all are alike can the signs be, and only then is it worth looking.
    if smallest == largest or mask == 0xFF:
        low, high = int(bits.min()), int(bits.max())
    else:
        low, high = 0, mask
    seen.low = low if seen.low < 0 else min(seen.low, low)
    seen.high = max(seen.high, high)


def _integers(values: NDArray[Any], seen: _Seen) -> None:
    low, high = int(values.min()), int(values.max())
    if low == 0 and high == 0:
        seen.zeros += values.size
    first = seen.low < 0 and seen.sampled == 0 and seen.smallest < 0
    seen.low, seen.high = (low, high) if first else (min(seen.low, low), max(seen.high, high))
    seen.smallest, seen.largest = 0, max(seen.largest, abs(low), abs(high))


def _has_infinity(dtype: str) -> bool:
    return dtype not in ("F8_E4M3", "F8_E8M0")


def _told(file: str, tensor: Tensor, seen: _Seen) -> TensorStatistics:
    count = 1
    for n in tensor.shape:
        count *= n
    return TensorStatistics(
        name=tensor.name,
        file=file,
        dtype=tensor.dtype,
        shape=tensor.shape,
        count=count,
        nan=seen.nan,
        inf=seen.inf,
        zeros=seen.zeros,
        largest=_value(seen.largest, tensor.dtype),
        smallest=_value(max(0, seen.smallest), tensor.dtype),
        rms=(seen.squares / seen.sampled) ** 0.5 if seen.sampled else None,
        constant=seen.low == seen.high,
    )


def _value(bits: int, dtype: str) -> float:
    """A magnitude in bits as the number that it is."""
    if dtype not in _FLOATS:
        return float(bits)
    raw = np.array([bits], dtype=_FLOATS[dtype][0]).view(np.uint8)
    return float(decoded(raw, dtype)[0])
