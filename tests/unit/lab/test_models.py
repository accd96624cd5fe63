"""Building the models, with a fake interpreter in the place of an engine's."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleout.engines.environments import Environment
from ruleout.lab.models import practice_model, tiny_models
from ruleout.model import MissingError, UsageError


def fake_environment(tmp_path: Path, script: str) -> Environment:
    """An environment whose python is a shell script. It gets the builder as $1, then folders, the last to be filled."""
    made = Environment(tmp_path / "engine-1.0")
    made.python.parent.mkdir(parents=True)
    made.python.write_text(f"#!/bin/sh\n{script}\n")
    made.python.chmod(0o755)
    return made


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEOUT_CACHE_DIR", str(tmp_path / "cache"))


def test_they_are_built_once_by_the_engines_python(tmp_path: Path) -> None:
    made = fake_environment(tmp_path, 'mkdir "$2/glm-tiny" "$2/llama-tiny"')
    told: list[str] = []
    folder = tiny_models(made, told.append)
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == ["glm-tiny", "llama-tiny"]
    assert tiny_models(made, told.append) == folder
    assert told == ["building the tiny models glm-tiny and llama-tiny"]


def test_a_build_that_fails_is_told_in_two_lines_and_tried_again(tmp_path: Path) -> None:
    made = fake_environment(tmp_path, "echo no module named torch; exit 1")
    with pytest.raises(MissingError, match="could not be built") as error:
        tiny_models(made)
    assert str(made.folder) in error.value.remedy
    made.python.write_text("#!/bin/sh\nexit 0\n")
    tiny_models(made)


def test_a_practice_model_is_found_by_its_name_wherever_it_is_built(tmp_path: Path) -> None:
    script = 'case $1 in *tiny.py) mkdir "$2/llama-tiny";; *) test -d "$2/llama-tiny" && mkdir "$3/llama-nan";; esac'
    made = fake_environment(tmp_path, script)
    told: list[str] = []
    assert practice_model("llama-nan", made, told.append).is_dir()
    assert practice_model("llama-tiny", made, told.append).is_dir()
    assert told == ["building the tiny models glm-tiny and llama-tiny", "building the practice models"]
    with pytest.raises(UsageError, match="nosuch: no practice model") as error:
        practice_model("nosuch", made)
    assert error.value.remedy == "Name one of llama-tiny, llama-nan."
