"""How any other command is launched and asked."""

from __future__ import annotations

import json

import pytest

from ruleout.engines.command import Command
from ruleout.model import Case, Configuration, Factor, Mechanism, Mode, Probe, Ready, UsageError

ENGINE = Command()
BASE = Configuration()
HEALTH = Ready(path="/health")


def case(
    command: str, ready: Ready = HEALTH, probes: tuple[Probe, ...] = (), factors: tuple[Factor, ...] = (), **env: str
) -> Case:
    return Case("c", "command", tuple(command.split()), factors, env=env, ready=ready, probes=probes)


def test_a_job_needs_no_port_and_is_asked_nothing() -> None:
    job = Case("c", "command", ("python", "x.py", "--port", "80"), env={"A": "1"}, cwd="/tmp", mode=Mode.JOB)
    launch = ENGINE.launch(job, BASE)
    assert (launch.argv, launch.env, launch.cwd) == (("python", "x.py", "--port", "80"), {"A": "1"}, "/tmp")
    assert (launch.port, launch.ready_path, launch.ready_log) == (None, None, None)
    assert ENGINE.requests(job, BASE) == ()


@pytest.mark.parametrize(("command", "env"), [(("run", "--at={port}"), {}), (("run",), {"AT": ":{port}"})])
def test_a_job_that_writes_port_gets_one(command: tuple[str, ...], env: dict[str, str]) -> None:
    assert ENGINE.launch(Case("c", "command", command, env=env, mode=Mode.JOB), BASE).port == 0


def test_a_server_that_writes_port_gets_a_free_one() -> None:
    assert ENGINE.launch(case("run {port}", HEALTH), BASE).port == 0
    assert ENGINE.launch(case("run --port 80", HEALTH, ADDRESS="localhost:{port}"), BASE).port == 0


@pytest.mark.parametrize("written", ["--port 8123", "--port=8123"])
def test_a_port_in_the_command_is_kept(written: str) -> None:
    launch = ENGINE.launch(case(f"run {written}", HEALTH), BASE)
    assert launch.port == 8123
    assert " ".join(launch.argv) == f"run {written}"


@pytest.mark.parametrize("command", ["run", "run --port http", "run --port 0", "run --port 70000", "run -p 8123"])
def test_a_server_whose_port_is_unknown_is_refused(command: str) -> None:
    with pytest.raises(UsageError, match="on which port") as error:
        ENGINE.launch(case(command, HEALTH), BASE)
    assert "{port}" in error.value.remedy


def test_the_port_may_be_a_level() -> None:
    factor = Factor("p", Mechanism.FLAG, "--port", ("1", "2"), "1")
    assert ENGINE.launch(case("run", HEALTH, factors=(factor,)), Configuration(p="2")).port == 2


def test_a_server_that_does_not_say_when_it_is_ready_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing says when the server is ready") as error:
        ENGINE.launch(case("run {port}", Ready()), BASE)
    assert "ready: {path: /health}" in error.value.remedy


def test_a_server_known_by_a_line_of_its_log_needs_no_port_unless_it_is_asked_something() -> None:
    launch = ENGINE.launch(case("run", Ready(log="up")), BASE)
    assert (launch.port, launch.ready_log) == (None, "up")
    assert ENGINE.requests(case("run", Ready(log="up")), BASE) == ()
    with pytest.raises(UsageError, match="on which port"):
        ENGINE.launch(case("run", Ready(log="up"), (Probe("http"),)), BASE)


def test_without_probes_its_path_is_asked_once() -> None:
    (request,) = ENGINE.requests(case("run {port}", HEALTH), BASE)
    assert (request.method, request.path, request.body) == ("GET", "/health", None)


@pytest.mark.parametrize(
    ("command", "model"),
    [
        ("vllm serve --served-model-name tiny --model /m", "tiny"),
        ("python -m sglang.launch_server --model-path=/m", "/m"),
        ("run", "default"),
    ],
)
def test_a_completion_names_the_model_as_the_command_does(command: str, model: str) -> None:
    (request,) = ENGINE.requests(case(f"{command} {{port}}", HEALTH, (Probe(),)), BASE)
    assert request.path == "/v1/chat/completions"
    assert json.loads(request.body or "")["model"] == model


def test_it_has_no_stages_of_its_own() -> None:
    assert ENGINE.stages == {}
