"""A real control group with little memory, so that the kernel's OOM killer is the kernel's."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def limited_memory(size: str) -> Iterator[Path]:
    """A group with so much memory (`100M`), removed again. Skips where none can be made."""
    name = f"ruleout-test-{os.getpid()}"
    roots = [(Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"), (Path("/sys/fs/cgroup"), "memory.max")]
    root, limit = next((pair for pair in roots if (pair[0] / "cgroup.procs").exists()), roots[1])
    group = root / name
    try:
        group.mkdir()
        (group / limit).write_text(size)
    except OSError as problem:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"no control group can be made here: {problem}")
    try:
        yield group
    finally:
        group.rmdir()
