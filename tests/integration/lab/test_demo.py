"""The demo's deployment really fails, and really works next to it, on this machine's processor."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from ruleout.engines import Answer, Request, engine_named
from ruleout.engines.environments import Environment
from ruleout.lab.demo import demo_case

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(1200)]


class Deployment:
    """The demo's server under one configuration, without an agent: what it answered and what it logged."""

    def __init__(self, environment: Environment, models: Path, log: Path, **changes: str) -> None:
        case = demo_case(environment, models)
        engine = engine_named(case.engine)
        configuration = case.baseline.moved(changes)
        launch = engine.launch(case, configuration)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        env = {**os.environ, **{key: value for key, value in launch.env.items() if value is not None}}
        argv = [word.replace("{port}", str(self.port)) for word in launch.argv]
        with log.open("wb") as out:
            server = subprocess.Popen(argv, env=env, cwd=launch.cwd, stdout=out, stderr=subprocess.STDOUT)
        try:
            self.wait(server, Request(0, "ready", "GET", launch.ready_path or "/", timeout=2.0), case.ready.timeout)
            self.statuses: list[int] = []
            self.answers: list[Answer | None] = []
            for request in engine.requests(case, configuration):
                status, body = self.ask(request)
                self.statuses.append(status)
                self.answers.append(engine.answer(request, body))
        finally:
            server.terminate()
            server.wait()
        self.log = log.read_text(errors="replace")

    def ask(self, request: Request) -> tuple[int, str]:
        raw = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{request.path}",
            data=request.body.encode() if request.body else None,
            headers=dict(request.headers),
            method=request.method,
        )
        try:
            with urllib.request.urlopen(raw, timeout=request.timeout) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def wait(self, server: subprocess.Popen[bytes], ready: Request, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert server.poll() is None, "the server ended"
            try:
                if self.ask(ready)[0] == 200:
                    return
            except OSError:
                time.sleep(0.1)
        pytest.fail("the server did not become ready")


def test_the_baseline_answers_empty_and_then_not_at_all(
    engine_environment: Environment, models: Path, tmp_path: Path
) -> None:
    run = Deployment(engine_environment, models, tmp_path / "log")
    assert run.statuses == [200, 500]
    assert run.answers == [Answer("", "stop", asked_tokens=32), None]
    assert "Error in generation loop: shape mismatch: value tensor of shape" in run.log


@pytest.mark.parametrize(
    "changes",
    [{"model": "llama-tiny"}, {"continuous_batching": "absent"}],
    ids=["another model", "without batching"],
)
def test_either_of_two_changes_makes_it_answer_fully_and_alike(
    engine_environment: Environment, models: Path, tmp_path: Path, changes: dict[str, str]
) -> None:
    run = Deployment(engine_environment, models, tmp_path / "log", **changes)
    assert run.statuses == [200, 200]
    assert run.answers[0] == run.answers[1]
    assert run.answers[0] is not None
    assert run.answers[0].text
    assert "Error" not in run.log


def test_the_models_are_sharded_and_carry_a_chat_template(models: Path) -> None:
    for name in ("glm-tiny", "llama-tiny"):
        assert len(list((models / name).glob("*.safetensors"))) > 1
        assert (models / name / "chat_template.jinja").exists()
