"""A safetensors file says in its first bytes what it holds: 400 GB are known after reading a few megabytes of JSON.

The header is read here, not by the safetensors library: the library maps whole files and stops at the first thing that
is wrong, while an audit has to name all of them. Whatever stands in the file is data of a stranger: lengths are
compared with the file's size before they are believed, and nothing but JSON is ever interpreted.
Source of the format: https://huggingface.co/docs/safetensors/index#format
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ruleout.audit.folder import BEGINNING, ModelFolder, Unreadable, instead, quoted
from ruleout.audit.tensors_dtypes import BITS

HEADER_LIMIT = 100_000_000
"""Bytes of JSON that the safetensors library takes at most; a longer header is refused by every engine."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor as its header describes it. `start` and `end` count bytes from the beginning of the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def bytes(self) -> int:
        """Its size in the file."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with one file: what kind, in which words, and of which tensor (empty: of the file)."""

    kind: str
    what: str
    tensor: str = ""


@dataclass(frozen=True, slots=True)
class Header:
    """What one file holds, and what is wrong with it. A file that cannot be read holds nothing.

    Attributes:
        file: its name in the folder.
        size: of the file, in bytes.
    """

    file: str
    tensors: tuple[Tensor, ...]
    problems: tuple[Problem, ...]
    size: int

    @property
    def readable(self) -> bool:
        """Whether its tensors are known, in part at least."""
        return bool(self.tensors) or not self.problems


def read_header(folder: ModelFolder, name: str) -> Header:
    """Reads the header of one file, never its tensors. Never raises: whatever is wrong becomes a Problem."""
    try:
        with folder.opened(name) as file:
            size = os.fstat(file.fileno()).st_size
            beginning = file.read(BEGINNING)
            if saved := instead(beginning):
                return _nothing(name, size, "instead", saved[0])
            first = beginning[:8]
            length = int.from_bytes(first, "little")
            if len(first) < 8:
                told = f"has {size} bytes; a safetensors file begins with 8 for the length of its header"
                return _nothing(name, size, "truncated", told)
            if length > size - 8:
                return _nothing(name, size, "header", f"claims a header of {length} bytes, and has {size} in all")
            if length > HEADER_LIMIT:
                told = f"has a header of {length} bytes; at most {HEADER_LIMIT} are taken"
                return _nothing(name, size, "header", told)
            file.seek(8)
            text = file.read(length)
    except Unreadable as problem:
        return _nothing(name, 0, "unreadable", f"is not read: {problem.why}")
    except OSError as problem:
        return _nothing(name, 0, "unreadable", f"cannot be read: {problem.strerror}")
    return _parsed(name, size, text, 8 + length)


def few(names: Sequence[str], limit: int = 3) -> str:
    """The first names of many, in words."""
    rest = len(names) - limit
    return ", ".join(quoted(name) for name in names[:limit]) + (f" and {rest} more" if rest > 0 else "")


def _nothing(file: str, size: int, kind: str, what: str) -> Header:
    return Header(file, (), (Problem(kind, what),), size)


def _parsed(name: str, size: int, text: bytes, data_at: int) -> Header:
    repeated: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            seen: set[str] = set()
            repeated.extend(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return made

    try:
        found = json.loads(text, object_pairs_hook=once)
    except RecursionError:
        return _nothing(name, size, "header", "has a header nested so deeply that it cannot be a list of tensors")
    except ValueError as problem:
        return _nothing(name, size, "header", f"has a header that is not JSON: {quoted(str(problem))}")
    if not isinstance(found, dict):
        return _nothing(name, size, "header", "has a header that is no JSON object")
    problems = [Problem("duplicate", "stands twice in the header", quoted(key)) for key in repeated]
    found.pop("__metadata__", None)
    tensors: list[Tensor] = []
    for key, entry in found.items():
        tensor = _tensor(key, entry, data_at)
        (tensors if isinstance(tensor, Tensor) else problems).append(tensor)  # type: ignore[arg-type]
    problems.extend(_placed(tensors, data_at, size, all_known=not problems))
    return Header(name, tuple(tensors), tuple(problems), size)


def _tensor(name: str, entry: Any, data_at: int) -> Tensor | Problem:
    try:
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    except (KeyError, TypeError):
        return Problem("header", "is not described by dtype, shape and data_offsets", quoted(name))
    if not isinstance(dtype, str) or dtype not in BITS:
        return Problem("header", f"has the dtype {quoted(dtype)}, which is none of safetensors'", quoted(name))
    if not isinstance(shape, list) or len(shape) > 64 or not all(map(_whole, shape)):
        return Problem("header", f"has the shape {quoted(shape)}", quoted(name))
    two = isinstance(offsets, list) and len(offsets) == 2
    if not two or not all(map(_whole, offsets)) or offsets[0] > offsets[1]:
        return Problem("header", f"has the offsets {quoted(offsets)}", quoted(name))
    bits = BITS[dtype]
    for n in shape:
        bits *= n
    if bits != 8 * (offsets[1] - offsets[0]):
        told = f"{dtype}{shape} takes {bits // 8} bytes, its offsets leave {offsets[1] - offsets[0]}"
        return Problem("header", f"is described wrongly: {quoted(told)}", quoted(name))
    return Tensor(name, dtype, tuple(shape), data_at + offsets[0], data_at + offsets[1])


def _whole(number: Any) -> bool:
    return type(number) is int and 0 <= number < 1 << 63


def _placed(tensors: list[Tensor], data_at: int, size: int, *, all_known: bool) -> Iterator[Problem]:
    """Tensors have to fill the file without gaps, overlaps or a rest; anything else is refused when it is loaded."""
    placed = sorted((t for t in tensors if t.bytes), key=lambda tensor: tensor.start)
    ends = [tensor for tensor in placed if tensor.end > size]
    if ends:
        missing = ends[-1].end - size
        yield Problem(
            "truncated", f"is not all there: {missing} bytes are lacking at the end of the file", quoted(ends[0].name)
        )
    for before, after in pairwise(placed):
        if after.start < before.end:
            yield Problem("overlap", f"shares bytes with {quoted(before.name)}", quoted(after.name))
        elif after.start > before.end and all_known:
            yield Problem(
                "gap", f"begins {after.start - before.end} bytes after {quoted(before.name)} ends", quoted(after.name)
            )
    if all_known and placed and placed[0].start > data_at:
        yield Problem("gap", f"begins {placed[0].start - data_at} bytes after the header", quoted(placed[0].name))
    last = max((tensor.end for tensor in placed), default=data_at)
    if all_known and last < size:
        yield Problem("rest", f"has {size - last} bytes after its last tensor")
