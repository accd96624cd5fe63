"""How long the headers of 400 GB take, and how fast tensors are read beside `dd` on the same file.

The checkpoint has real headers of a real size (GLM-5 in NVFP4: a quarter of a million tensors) over files that are
sparse, so it needs no disk. The file for `--deep` is real, and both readers start with it out of the page cache.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.audit.memory import GLM5, GLM5_NVFP4

from ruleout.audit.checkpoint_families import parameters
from ruleout.audit.quantised_reading import declared

SHARD = 5 * 10**9
_BYTES = {"U8": 1, "F8_E4M3": 1, "F32": 4, "BF16": 2}


def sparse_checkpoint(folder: Path) -> tuple[int, int]:
    """A checkpoint with headers and no data. Returns its tensors and its bytes."""
    quantisation = declared(GLM5_NVFP4)
    assert quantisation is not None
    entries: list[tuple[str, str, tuple[int, ...]]] = []
    for parameter in parameters(GLM5):
        scheme = quantisation.scheme(parameter.module) if parameter.linear else None
        if scheme is None or parameter.module == "lm_head":
            entries.append((parameter.name, "BF16", parameter.shape))
            continue
        out, inner = parameter.shape
        entries += [
            (f"{parameter.module}.{stored.suffix}", next(iter(stored.dtypes)), stored.shapes[0])
            for stored in scheme.layout(out, inner)
        ]
    shards: list[dict[str, Any]] = [{}]
    at = total = 0
    for name, dtype, shape in entries:
        size = _BYTES[dtype] * int(np.prod(shape, dtype=np.int64)) if shape else _BYTES[dtype]
        if at + size > SHARD:
            shards.append({})
            at = 0
        shards[-1][name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
        total += size
    index = {}
    for number, header in enumerate(shards, start=1):
        file = folder / f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        text = json.dumps(header).encode()
        with file.open("wb") as stream:
            stream.write(struct.pack("<Q", len(text)) + text)
            stream.truncate(8 + len(text) + max(entry["data_offsets"][1] for entry in header.values()))
        index.update(dict.fromkeys(header, file.name))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    (folder / "config.json").write_text(json.dumps({**GLM5, "quantization_config": GLM5_NVFP4}))
    return len(entries), total


_AUDIT = """
import resource, sys, time
from pathlib import Path
from ruleout.audit import ModelFolder, audit
from ruleout.model.audit import Host, Launch
began, used = time.monotonic(), time.process_time()
deep = (lambda done, total: None) if sys.argv[2] == "deep" else None
found = audit(ModelFolder(Path(sys.argv[1])), Launch("sglang", "0.5.9", {"tp": "8"}), Host("120", 8, 97887 << 20), deep)
errors = [finding.id for finding in found.findings if finding.id.startswith(("checkpoint", "quantised"))]
print(time.monotonic() - began, time.process_time() - used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
print(*errors)
"""


@dataclass(frozen=True)
class Run:
    """Seconds by the clock and of the CPU, the peak of memory in MB, and what was found."""

    wall: float
    cpu: float
    peak: float
    found: list[str]


def audited(folder: Path, mode: str = "headers") -> Run:
    """An audit in a process of its own, its start not counted."""
    run = subprocess.run([sys.executable, "-c", _AUDIT, str(folder), mode], capture_output=True, text=True, check=True)
    measured, _, found = run.stdout.partition("\n")
    wall, cpu, peak = map(float, measured.split())
    return Run(wall, cpu, peak, found.split())


def real_checkpoint(folder: Path, size: int) -> None:
    """One file of weights, scales and packed values, written to disk."""
    rng = np.random.default_rng(0)
    weights = (rng.standard_normal(8 << 20) * 0.02).astype("<f4").view("<u4") >> 16
    parts = {
        "BF16": weights.astype("<u2").tobytes(),
        "U8": rng.integers(0, 256, 16 << 20, dtype=np.uint8).tobytes(),
        "F8_E4M3": rng.integers(0x30, 0x60, 16 << 20, dtype=np.uint8).tobytes(),
    }
    plan = [
        dtype for _ in range(size // (8 * len(parts["U8"]))) for dtype in ("BF16",) * 5 + ("U8",) * 2 + ("F8_E4M3",)
    ]
    header, at = {}, 0
    for number, dtype in enumerate(plan):
        count = len(parts[dtype]) // _BYTES[dtype]
        header[f"t{number}"] = {"dtype": dtype, "shape": [count], "data_offsets": [at, at + len(parts[dtype])]}
        at += len(parts[dtype])
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for dtype in plan:
            stream.write(parts[dtype])
        os.fsync(stream.fileno())
    (folder / "config.json").write_text("{}")


def forget(file: Path) -> None:
    """Takes a file out of the page cache."""
    with file.open("rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def rates(folder: Path, rounds: int) -> tuple[list[float], list[float], float]:
    """Bytes a second of `dd` and of the audit, in turns, and the audit's peak of memory in MB."""
    file = folder / "model.safetensors"
    size, dd, deep, peak = file.stat().st_size, [], [], 0.0
    for _ in range(rounds):
        forget(file)
        began = time.monotonic()
        subprocess.run(["dd", f"if={file}", "of=/dev/null", "bs=8M"], check=True, capture_output=True)
        dd.append(size / (time.monotonic() - began))
        forget(file)
        run = audited(folder, "deep")
        deep.append(size / run.wall)
        peak = max(peak, run.peak)
    return dd, deep, peak


def best(values: list[float]) -> float:
    """In GB/s: what other processes take of a shared machine only ever slows a run down."""
    return max(values) / 1e9
