"""The demo's deployment really fails, and really works next to it, on this machine's processor."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.served import Server

from ruleout.engines import Answer, engine_named
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
        env = {key: value for key, value in launch.env.items() if value is not None}
        self.statuses: list[int] = []
        self.answers: list[Answer | None] = []
        with Server(
            launch.argv, log, cwd=models, env=env, ready=launch.ready_path or "/", seconds=case.ready.timeout
        ) as server:
            assert server.ready
            for request in engine.requests(case, configuration):
                status, body = server.ask(request.path, request.body, request.timeout)
                self.statuses.append(status)
                self.answers.append(engine.answer(request, body))
        self.log = server.log


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
