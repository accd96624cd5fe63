"""What is installed where an engine runs: read from outside, and never a reason to fail."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from ruleout.engines import installed, recognise
from ruleout.engines.installed import described, interpreter_of, packages_of, release_of

QUESTIONED = '["3.12.1", ["{folder}"]]'


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that is not there: its Python answers with its packages, and its module with a report."""
    monkeypatch.setenv("RULEOUT_CACHE_DIR", str(tmp_path / "cache"))
    packages = tmp_path / "lib" / "python3.12" / "site-packages"
    for name, version in (("Torch", "2.9.1"), ("sgl_kernel", "0.3.9"), ("unheard-of", "1")):
        folder = packages / f"{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (packages / "broken-1.dist-info").mkdir()
    (packages / "torch").mkdir()
    (packages / "torch" / "version.py").write_text("__version__ = '2.9.1'\ncuda: Optional[str] = '13.0'\nhip = None\n")
    write(
        tmp_path / "bin" / "python3",
        f"case $1 in -c) echo a warning; echo '{QUESTIONED.format(folder=packages)}';; -m) echo report of $2;; esac",
    )
    return tmp_path


def write(path: Path, script: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/bash\n# A fake interpreter.\necho "$@" >> {path}.asked\n{script}\n')
    path.chmod(0o755)


def test_versions_are_read_from_the_metadata_of_its_packages(prefix: Path) -> None:
    found = described("sglang", str(prefix / "bin" / "python3"), dict(os.environ))
    assert found is not None
    wanted = {"python": "3.12.1", "torch": "2.9.1", "sgl-kernel": "0.3.9", "torch's cuda": "13.0"}
    assert {name: found.facts.get(name) for name in wanted} == wanted
    assert "unheard-of" not in found.facts
    assert found.facts["system"].startswith("Linux ")
    assert found.report == "$ python -m sglang.check_env\nreport of sglang.check_env\n"


def test_packages_of_a_command_are_read_without_running_anything(prefix: Path) -> None:
    python = prefix / "bin" / "python3"
    found = recognise([str(python), "-m", "sglang.launch_server", "--model-path", "m"])
    assert packages_of(found, {}) == {"torch": "2.9.1", "sgl-kernel": "0.3.9", "torch's cuda": "13.0"}
    assert (release_of("torch", found, {}), release_of("vllm", found, {})) == ("2.9.1", None)
    assert not Path(f"{python}.asked").exists()
    assert packages_of(recognise(["/nowhere/vllm", "serve", "m"]), {}) == {}


def test_the_engine_s_own_report_is_asked_for_once(prefix: Path) -> None:
    python = prefix / "bin" / "python3"
    for _ in range(2):
        assert described("vllm", str(python), dict(os.environ)) is not None
    asked = python.with_name("python3.asked").read_text().splitlines()
    assert asked.count("-m vllm.collect_env") == 1


def test_a_report_that_hangs_is_left_out(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = prefix / "bin" / "python3"
    write(python, f"case $1 in -c) echo '{QUESTIONED.format(folder=prefix)}';; -m) sleep 600;; esac")
    monkeypatch.setattr(installed, "LONG_S", 0.3)
    began = time.monotonic()
    found = described("vllm", str(python), dict(os.environ))
    assert time.monotonic() - began < 5
    assert found is not None
    assert found.report == ""


@pytest.mark.parametrize("script", ["exit 1", "echo no JSON", "echo '[1]'", ""])
def test_an_interpreter_that_does_not_run_is_not_described(tmp_path: Path, script: str) -> None:
    write(tmp_path / "bin" / "python3", script)
    assert described("vllm", str(tmp_path / "bin" / "python3"), dict(os.environ)) is None
    assert described("vllm", str(tmp_path / "none"), dict(os.environ)) is None


def test_our_own_interpreter_tells_what_it_has() -> None:
    found = described("command", sys.executable, dict(os.environ))
    assert found is not None
    assert found.facts["python"] == sys.version.split()[0]
    assert "numpy" in found.facts
    assert found.report == ""


@pytest.mark.parametrize(
    ("head", "finds"),
    [
        ("#!{python}\nimport re\n", True),
        ("#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n", True),
        ("#!/bin/sh\nexec python3 -m vllm\n", False),
        ("#!/no/such/python3\n", False),
        ("\x7fELF", False),
    ],
    ids=["pip's", "a long path", "a shell's script", "gone", "a binary"],
)
def test_the_interpreter_of_a_script_stands_in_its_first_lines(tmp_path: Path, head: str, finds: bool) -> None:
    script = tmp_path / "vllm"
    script.write_text(head.format(python=sys.executable))
    script.chmod(0o755)
    found = interpreter_of(recognise(["vllm", "serve", "m"]), {"PATH": str(tmp_path)})
    assert found == (sys.executable if finds else None)


@pytest.mark.parametrize(
    ("command", "finds"),
    [
        ([sys.executable, "-m", "sglang.launch_server", "--model-path", "m"], True),
        ([sys.executable, "job.py"], True),
        (["true"], False),
        (["no-such-program"], False),
        (["docker", "run", "--network", "host", "vllm/vllm-openai:v1", "--model", "m"], False),
    ],
)
def test_the_interpreter_of_a_command(command: list[str], finds: bool) -> None:
    found = interpreter_of(recognise(command), dict(os.environ))
    assert found == (sys.executable if finds else None)
