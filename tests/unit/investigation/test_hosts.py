"""What the driver says of this machine's GPUs, in the words that it uses."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from ruleout.investigation import hosts
from ruleout.investigation.hosts import this_host
from ruleout.model.audit import Host


def driver(folder: Path, monkeypatch: pytest.MonkeyPatch, *lines: str, status: int = 0) -> None:
    program = folder / "nvidia-smi"
    program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines) + f"exit {status}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setattr(hosts, "_NODES", folder / "none")


def test_gpus_of_one_kind_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver(tmp_path, monkeypatch, "12.0, 97887", "12.0, 97887", "8.9, 24564")
    assert this_host() == Host("120", 2, 97887 << 20)


def test_a_memory_that_is_the_host_s_own_is_as_large_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver(tmp_path, monkeypatch, "12.1, [N/A]")
    assert this_host() == Host("121", 1, psutil.virtual_memory().total)


@pytest.mark.parametrize("lines", [(), ("No devices were found",), ("12.0, many",)])
def test_a_driver_that_says_nothing_leaves_it_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: tuple[str, ...]
) -> None:
    driver(tmp_path, monkeypatch, *lines)
    assert this_host() is None
    driver(tmp_path, monkeypatch, "12.0, 97887", status=9)
    assert this_host() is None
