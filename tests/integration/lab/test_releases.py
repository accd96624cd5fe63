"""Two releases of transformers serve one GLM: the older one computes it wrong, and tells nobody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.support.diagnosed import Diagnosed
from tests.support.served import Server, complete

from ruleout.engines.environments import Environment

pytestmark = [pytest.mark.engine, pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

PROMPT = "Write a function that adds two numbers, and say why it is right."


def answer(environment: Environment, model: Path, log: Path, flags: Sequence[str] = ()) -> str:
    """What a server answers to a prompt; it may not tell of any failure.

    The request names the model, since the releases have no way in common to name it on the command line.
    """
    argv = [str(environment.script("transformers")), "serve", "--dtype", "float32"]
    with Server([*argv, "--host", "127.0.0.1", "--port", "{port}", *flags], log, cwd=log.parent) as server:
        assert server.ready
        status, choice = server.chat(complete(str(model), PROMPT, tokens=24))
    assert status == 200, choice
    assert Diagnosed(log).failure[0] is None
    return str(choice["message"]["content"])


def test_only_the_older_releases_default_attention_answers_otherwise(
    engine_environment: Environment, transformers: Environment, practice: Callable[[str], Path], tmp_path: Path
) -> None:
    glm = practice("glm-plain")
    wrong = answer(engine_environment, glm, tmp_path / "default.log")
    eager = answer(engine_environment, glm, tmp_path / "eager.log", ["--attn-implementation", "eager"])
    newer = answer(transformers, glm, tmp_path / "newer.log")
    assert eager == newer
    assert wrong != newer
    assert wrong
