"""The GPUs of this machine, as the driver tells of them; nothing is run on them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil

from ruleout.model.audit import Host

PATIENCE_S = 15.0
_QUERY = ("nvidia-smi", "--query-gpu=compute_cap,memory.total", "--format=csv,noheader,nounits")
_SHARED = "[N/A]"
"""What the driver says of a memory that is the host's own, as on GB10."""
_NODES = Path("/sys/class/kfd/kfd/topology/nodes")


def this_host() -> Host | None:
    """This machine's GPUs: how many of the first one's kind; None where there are none, or the driver does not say."""
    found = list(_nvidia()) or list(_amd())
    if not found:
        return None
    kind, memory = found[0]
    return Host(kind, sum(one[0] == kind for one in found), memory)


def _nvidia() -> Iterator[tuple[str, int]]:
    """Each GPU's compute capability and bytes."""
    try:
        told = subprocess.run(_QUERY, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return
    for line in told.stdout.splitlines() if told.returncode == 0 else ():
        capability, _, mebibytes = (part.strip() for part in line.partition(","))
        if mebibytes.isdecimal():
            yield capability.replace(".", ""), int(mebibytes) << 20
        elif mebibytes == _SHARED:
            yield capability.replace(".", ""), psutil.virtual_memory().total


def _amd() -> Iterator[tuple[str, int]]:
    """Each GPU's architecture and bytes, from the kernel's own description of its nodes."""
    for node in sorted(_NODES.glob("*")):
        target = _properties(node / "properties").get("gfx_target_version", 0)
        if target:
            major, minor, step = target // 10000, target // 100 % 100, target % 100
            sizes = (_properties(bank).get("size_in_bytes", 0) for bank in node.glob("mem_banks/*/properties"))
            yield f"gfx{major}{minor:x}{step:x}", sum(sizes)


def _properties(path: Path) -> dict[str, int]:
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition(" ") for line in lines)
    return {name: int(value) for name, _, value in pairs if value.strip().isdecimal()}
