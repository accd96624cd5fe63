"""The help of an installed engine: read in argparse's forms, asked once, and never a reason to fail."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from ruleout.engines import helping
from ruleout.engines.helping import help_of, parsed

TEXT = """\
usage: engine serve [-h] [--dtype {auto,half,float16}] [--attention-backend {triton,fa3}] [--disable-radix-cache]
  --kv-cache-dtype {auto,bfloat16,fp8}
                        Data type. If "auto", see --dtype.
  --model-impl ['auto', 'transformers', 'vllm']
  --max-model-len MAX_MODEL_LEN
  --enforce-eager, --no-enforce-eager
"""


def test_flags_and_their_levels_are_read() -> None:
    found = parsed(TEXT)
    assert found is not None
    assert found.choices == {
        "--dtype": ("auto", "half", "float16"),
        "--attention-backend": ("triton", "fa3"),
        "--kv-cache-dtype": ("auto", "bfloat16", "fp8"),
        "--model-impl": ("auto", "transformers", "vllm"),
    }
    assert {"--disable-radix-cache", "--no-enforce-eager", "--max-model-len"} <= found.flags


@pytest.mark.parametrize("text", ["", "Traceback (most recent call last):\nImportError: --x", "usage: engine [--help]"])
def test_a_complaint_is_no_help(text: str) -> None:
    assert parsed(text) is None


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RULEOUT_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "engine"
    write(path, f"cat <<'END'\n{TEXT}\nEND")
    return path


def write(path: Path, script: str) -> None:
    path.write_text(f'#!/bin/bash\necho "$@" >> {path}.asked\n{script}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def asked(path: Path) -> list[str]:
    record = path.with_name(f"{path.name}.asked")
    return record.read_text().splitlines() if record.exists() else []


def test_it_is_asked_once_until_the_program_changes(program: Path) -> None:
    for _ in range(2):
        found = help_of("sglang", [str(program), "serve"], {})
        assert found is not None
        assert "--dtype" in found.choices
    assert asked(program) == ["serve --help"]
    os.utime(program, ns=(1, 1))
    assert help_of("vllm", [str(program), "serve"], {}) is not None
    assert asked(program) == ["serve --help", "serve --help=all"]


def test_without_asking_only_what_was_kept_is_known(program: Path) -> None:
    assert help_of("vllm", [str(program)], {}, ask=False) is None
    assert asked(program) == []
    help_of("vllm", [str(program)], {})
    assert help_of("vllm", [str(program)], {}, ask=False) is not None


@pytest.mark.parametrize("script", ["exit 1", "echo nothing", "kill -9 $$"])
def test_a_program_that_gives_no_help_is_no_error(program: Path, script: str) -> None:
    write(program, script)
    assert help_of("vllm", [str(program)], {}) is None


def test_a_program_that_is_not_there_is_no_error(program: Path) -> None:
    assert help_of("vllm", ["no-such-engine"], {}) is None
    assert help_of("vllm", [], {}) is None


def test_a_program_that_hangs_is_stopped_with_its_children(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helping, "PATIENCE_S", 0.5)
    write(program, f"sleep 100 & echo $! > {program}.child\nwait")
    begun = time.monotonic()
    assert help_of("vllm", [str(program)], {}) is None
    assert time.monotonic() - begun < 20
    child = int(program.with_name(f"{program.name}.child").read_text())
    stat_file = Path(f"/proc/{child}/stat")
    until = time.monotonic() + 10
    while stat_file.exists() and stat_file.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < until, "the child lives on"
        time.sleep(0.05)
