"""Tiny checkpoints, written byte by byte: with the names, dtypes and shapes that real libraries gave theirs.

`written_by_libraries.json` lists what Transformers 5.2.0 saved of tiny models and compressed-tensors 0.17.0 of
quantised ones; only the numbers are drawn here.
"""

from __future__ import annotations

import copy
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

LISTED = Path(__file__).parents[1] / "unit" / "audit" / "written_by_libraries.json"
_BYTES = {"F32": 4, "BF16": 2, "F16": 2, "F8_E4M3": 1, "F8_E8M0": 1, "U8": 1, "I8": 1, "I32": 4, "I64": 8}

Tensors = dict[str, tuple[str, tuple[int, ...], bytes]]


@dataclass
class Tiny:
    """A checkpoint in memory.

    Attributes:
        tensors: dtype, shape and bytes by name.
        files: how many shards to write; 1: no index.
    """

    config: dict[str, Any]
    tensors: Tensors
    files: int = 3
    extra: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Writes it as save_pretrained does: shards, an index, config.json."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(self.config))
        names = sorted(self.tensors)
        placed: dict[str, str] = {}
        for number in range(self.files):
            file = "model.safetensors"
            if self.files > 1:
                file = f"model-{number + 1:05d}-of-{self.files:05d}.safetensors"
            mine = names[number :: self.files]
            write_file(folder / file, {name: self.tensors[name] for name in mine})
            placed |= dict.fromkeys(mine, file)
        if self.files > 1:
            index = {"metadata": {"total_size": 0}, "weight_map": placed}
            (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        return folder

    def put(self, name: str, dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
        """A tensor of that kind with numbers in it."""
        self.tensors[name] = (dtype, shape, numbers(name, dtype, shape, rng))


def library_wrote(name: str, rng: np.random.Generator) -> Tiny:
    """A tiny model as a real library stored it: `glm`, `llama`, `qwen2`, `qwen3`, `deepseek`, `llama_nvfp4`, …"""
    listed = json.loads(LISTED.read_text())[name]
    made = Tiny(copy.deepcopy(listed["config"]), {})
    for tensor, (dtype, shape) in listed["tensors"].items():
        made.put(tensor, dtype, tuple(shape), rng)
    return made


def numbers(name: str, dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> bytes:
    """Bytes of numbers that a healthy tensor may hold."""
    count = int(np.prod(shape, dtype=np.int64)) if shape else 1
    if "scale" in name.rpartition(".")[2]:
        if dtype == "F8_E4M3":
            return rng.integers(0x30, 0x60, count, dtype=np.uint8).tobytes()
        if dtype == "F8_E8M0":
            return rng.integers(0x70, 0x80, count, dtype=np.uint8).tobytes()
        if dtype in ("F32", "BF16", "F16"):
            level = 300.0 if "global" in name else 0.01
            return floats(np.full(count, level) if count == 1 else level * rng.uniform(0.5, 2, count), dtype)
    if dtype in ("F32", "BF16", "F16"):
        return floats(rng.standard_normal(count) * 0.02 + (1 if "norm" in name and "bias" not in name else 0), dtype)
    if dtype == "F8_E4M3":
        return (
            rng.integers(0x10, 0x70, count, dtype=np.uint8) | (rng.integers(0, 2, count, dtype=np.uint8) << 7)
        ).tobytes()
    return rng.integers(1, 255, count * _BYTES[dtype], dtype=np.uint8).tobytes()


def floats(values: Any, dtype: str) -> bytes:
    """Numbers in that format; a bfloat16 is a float32 cut off."""
    wide = np.asarray(values, dtype="<f4")
    if dtype == "F32":
        return wide.tobytes()
    if dtype == "F16":
        return wide.astype("<f2").tobytes()
    return (wide.view("<u4") >> 16).astype("<u2").tobytes()


def write_file(path: Path, tensors: Tensors, *, header: dict[str, Any] | None = None) -> None:
    """One safetensors file. `header` entries replace or join those of the tensors."""
    entries: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (dtype, shape, data) in tensors.items():
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps({**entries, **(header or {})}).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def read_entries(path: Path) -> tuple[dict[str, Any], int]:
    """The header of a file and where its data begins."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), 8 + length
