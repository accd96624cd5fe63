"""Checkpoints with one thing wrong, made of whole ones without any library of an engine."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

NAN = {"F32": b"\x00\x00\xc0\x7f", "BF16": b"\xc0\x7f", "F16": b"\x00\x7e"}
HUGE = {"F32": b"\xe8\xb1\x61\x7f"}
"""3e38: finite, and hardly."""
INDEX = "model.safetensors.index.json"


def copied(model: Path, folder: Path) -> Path:
    """A copy of a checkpoint."""
    shutil.copytree(model, folder)
    return folder


def with_nan(folder: Path, tensor: str, element: int = 0) -> Path:
    """The checkpoint with one element of one tensor made NaN, in its file."""
    return with_number(folder, tensor, NAN, element)


def with_number(folder: Path, tensor: str, numbers: dict[str, bytes], element: int = 0) -> Path:
    """The checkpoint with another number as one element of one tensor, in its file; by the tensor's type."""
    path = folder / json.loads((folder / INDEX).read_text())["weight_map"][tensor]
    content = bytearray(path.read_bytes())
    (size,) = struct.unpack("<Q", content[:8])
    told = json.loads(content[8 : 8 + size])[tensor]
    number = numbers[told["dtype"]]
    begin = 8 + size + told["data_offsets"][0] + element * len(number)
    content[begin : begin + len(number)] = number
    path.write_bytes(content)
    return folder


def with_config(folder: Path, **changes: Any) -> Path:
    """The checkpoint with other values in its configuration."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder
