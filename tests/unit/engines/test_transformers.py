"""How `transformers serve` is launched, asked and read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import re2

from ruleout.engines.transformers import TRANSFORMERS as ENGINE
from ruleout.model import Case, Configuration, Factor, Mechanism, Mode, Probe, Ready, Stage, UsageError

BASE = Configuration()


def case(
    command: str,
    *,
    factors: tuple[Factor, ...] = (),
    probes: tuple[Probe, ...] = (),
    cwd: str | None = None,
    **env: str,
) -> Case:
    return Case("c", "transformers", tuple(command.split()), factors, env=env, probes=probes, cwd=cwd)


def launched(command: str) -> str:
    return " ".join(ENGINE.launch(case(command), BASE).argv)


@pytest.mark.parametrize(
    "given",
    ["", "--port 8000", "--port=8000 --host=0.0.0.0", "--host ::1 --port 1 --port 2"],
)
def test_it_serves_on_a_free_port_of_this_machine_only(given: str) -> None:
    launch = ENGINE.launch(case(f"transformers serve {given} --force-model m"), BASE)
    assert " ".join(launch.argv) == "transformers serve --force-model m --port {port} --host 127.0.0.1"
    assert (launch.port, launch.ready_path, launch.ready_log) == (0, "/health", None)


def test_levels_come_after_what_the_adapter_adds() -> None:
    factor = Factor("d", Mechanism.FLAG, "--dtype", ("auto", "bfloat16"), "auto")
    launch = ENGINE.launch(case("transformers serve --dtype auto", factors=(factor,)), Configuration(d="bfloat16"))
    assert launch.argv[-2:] == ("--dtype", "bfloat16")


@pytest.mark.parametrize(
    "command",
    [
        "/venv/bin/transformers serve",
        "python -m transformers.cli.transformers serve",
        "python /venv/bin/transformers serve",
        "numactl -N 0 transformers serve",
    ],
)
def test_it_is_known_in_other_spellings(command: str) -> None:
    assert launched(command) == f"{command} --port {{port}} --host 127.0.0.1"


@pytest.mark.parametrize("command", ["vllm serve m", "transformers chat", "transformers", "python serve", "-m serve"])
def test_another_command_is_refused_and_a_way_out_is_named(command: str) -> None:
    with pytest.raises(UsageError) as error:
        launched(command)
    assert "not `transformers serve`" in error.value.what
    assert "engine: command" in error.value.remedy


def test_a_shell_script_is_run_as_words_where_it_can_be() -> None:
    launch = ENGINE.launch(Case("c", "transformers", ("bash", "-c", "transformers serve m")), BASE)
    assert launch.argv[:3] == ("transformers", "serve", "m")
    with pytest.raises(UsageError, match="port cannot be set inside a script"):
        ENGINE.launch(Case("c", "transformers", ("bash", "-c", "transformers serve $MODEL")), BASE)


def test_readiness_of_the_case_goes_first() -> None:
    launch = ENGINE.launch(Case("c", "transformers", ("transformers", "serve"), ready=Ready(9, "/ok", "up")), BASE)
    assert (launch.ready_path, launch.ready_log) == ("/ok", "up")


def test_a_job_is_left_as_it_is_and_asked_nothing() -> None:
    job = Case("c", "transformers", ("python", "generate.py"), mode=Mode.JOB)
    launch = ENGINE.launch(job, BASE)
    assert (launch.argv, launch.port, launch.ready_path) == (("python", "generate.py"), None, None)
    assert ENGINE.requests(job, BASE) == ()


def test_a_local_model_is_served_offline(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    command = "transformers serve --force-model tiny"
    assert ENGINE.launch(case(command, cwd=str(tmp_path)), BASE).env == {"HF_HUB_OFFLINE": "1"}
    assert ENGINE.launch(case(command, cwd=str(tmp_path), HF_HUB_OFFLINE="0"), BASE).env == {"HF_HUB_OFFLINE": "0"}


def test_a_factor_may_unset_what_the_adapter_sets(tmp_path: Path) -> None:
    factor = Factor("hub", Mechanism.ENV, "HF_HUB_OFFLINE", ("unset", "1"), "unset")
    launch = ENGINE.launch(case(f"transformers serve --force-model {tmp_path}", factors=(factor,)), BASE)
    assert launch.env == {"HF_HUB_OFFLINE": None}


def test_a_model_of_the_hub_is_not_served_offline() -> None:
    assert ENGINE.launch(case("transformers serve --force-model org/model"), BASE).env == {}


@pytest.mark.parametrize(
    ("command", "model"),
    [
        ("transformers serve --force-model a/b", "a/b"),
        ("transformers serve --force-model=a/b", "a/b"),
        ("transformers serve a/b --continuous-batching", "a/b"),
        ("transformers serve --continuous-batching a/b", "a/b"),
        ("transformers serve --dtype auto --no-compile --port=1 a/b", "a/b"),
        ("transformers serve --port 8000", None),
        ("transformers serve", None),
    ],
)
def test_the_forced_model_is_a_flag_or_the_argument(command: str, model: str | None) -> None:
    assert ENGINE.model(command.split()) == model


def test_by_default_the_same_completion_is_asked_twice_before_anything_else() -> None:
    requests = ENGINE.requests(case("transformers serve --force-model tiny"), BASE)
    assert {request.path for request in requests} == {"/v1/chat/completions"}
    assert [request.name for request in requests[:2]] == ["completion 1 of 2", "completion 2 of 2"]
    assert json.loads(requests[0].body or "") == json.loads(requests[1].body or "")


def test_the_model_asked_for_is_the_one_of_the_configuration() -> None:
    factor = Factor("model", Mechanism.FLAG, "--force-model", ("a", "b"), "a")
    asked = ENGINE.requests(case("transformers serve --force-model a", factors=(factor,)), Configuration(model="b"))
    assert json.loads(asked[0].body or "")["model"] == "b"


def test_a_server_that_forces_no_model_needs_raw_requests() -> None:
    with pytest.raises(UsageError, match="does not say which model"):
        ENGINE.requests(case("transformers serve"), BASE)
    assert ENGINE.requests(case("transformers serve", probes=(Probe("http"),)), BASE)[0].path == "/"


def test_workload_factors_reach_the_usual_probes() -> None:
    factor = Factor("turns", Mechanism.WORKLOAD, "repeat", ("2", "5"), "2")
    asked = ENGINE.requests(case("transformers serve m", factors=(factor,)), Configuration(turns="5"))
    assert [request.probe.kind for request in asked].count("completion") == 5


def installed(folder: Path, release: str) -> Path:
    """The program of an environment with that release in it."""
    metadata = folder / "lib" / "python3.11" / "site-packages" / f"transformers-{release}.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: transformers\nVersion: {release}\n")
    (folder / "bin").mkdir()
    for name, head in (("python", "/bin/sh"), ("transformers", f"{folder}/bin/python")):
        (folder / "bin" / name).write_text(f"#!{head}\n")
        (folder / "bin" / name).chmod(0o755)
    return folder / "bin" / "transformers"


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("5.2.0", "serve --dtype float32 --force-model m"),
        ("5.4.0", "serve --dtype float32 --force-model m"),
        ("5.5.0", "serve m --dtype float32"),
        ("5.24.0", "serve m --dtype float32"),
        ("6.0.0rc1", "serve m --dtype float32"),
    ],
)
def test_the_model_is_where_the_installed_release_takes_it(tmp_path: Path, release: str, words: str) -> None:
    program = installed(tmp_path, release)
    launch = ENGINE.launch(case(f"{program} serve --dtype float32 --force-model m"), BASE)
    assert " ".join(launch.argv) == f"{program} {words} --port {{port}} --host 127.0.0.1"


def test_a_release_as_a_level_takes_the_model_of_the_command(tmp_path: Path) -> None:
    old, new = installed(tmp_path / "old", "5.2.0"), installed(tmp_path / "new", "5.24.0")
    levels = {"old": str(old.with_name("python")), "new": str(new.with_name("python"))}
    factor = Factor("release", Mechanism.PYTHON, "", ("old", "new"), "old", values=levels)
    deployment = case(f"{old} serve --force-model m", factors=(factor,))
    assert ENGINE.launch(deployment, Configuration(release="old")).argv[:4] == (str(old), "serve", "--force-model", "m")
    assert ENGINE.launch(deployment, Configuration(release="new")).argv[:3] == (str(new), "serve", "m")
    assert json.loads(ENGINE.requests(deployment, Configuration(release="new"))[0].body or "")["model"] == "m"


LOG_5_2 = """\
Loading glm-tiny@main
loading configuration file glm-tiny/config.json
loading weights file glm-tiny/model.safetensors.index.json
Loading weights:   0%|          | 0/83 [00:00<?, ?it/s]
loading configuration file glm-tiny/generation_config.json
Loaded model glm-tiny@main
INFO:     Started server process [8302]
INFO:     Uvicorn running on http://127.0.0.1:38209 (Press CTRL+C to quit)
INFO:     127.0.0.1:52038 - "POST /v1/chat/completions HTTP/1.1" 200 OK
INFO:     Shutting down
INFO:     Finished server process [8302]
"""
LOG_5_24 = """\
[transformers] Loading glm-tiny
Loading weights: 100%|██████████| 83/83 [00:00<00:00, 6045.03it/s]
INFO:     Uvicorn running on http://127.0.0.1:46767 (Press CTRL+C to quit)
[transformers] [Request received] Model: glm-tiny, CB: True
INFO:     Shutting down
"""


def stages_of(log: str) -> list[tuple[Stage, int]]:
    found = []
    for number, line in enumerate(log.splitlines(), start=1):
        found += [(stage, number) for stage, pattern in ENGINE.stages.items() if re2.search(pattern, line)]
    return found


def test_the_stages_of_a_log_of_5_2_are_seen() -> None:
    config, weights = Stage.MODEL_CONFIG, Stage.WEIGHT_LOAD
    assert stages_of(LOG_5_2) == [
        (config, 1),
        (config, 2),
        (weights, 3),
        (weights, 4),
        (Stage.READY, 8),
        (Stage.SHUTDOWN, 10),
    ]


def test_the_stages_of_a_log_of_5_24_are_seen() -> None:
    assert [stage for stage, _ in stages_of(LOG_5_24)] == [
        Stage.MODEL_CONFIG,
        Stage.WEIGHT_LOAD,
        Stage.READY,
        Stage.PREFILL,
        Stage.SHUTDOWN,
    ]


def test_an_answer_that_5_2_encodes_twice_is_read() -> None:
    request, *_ = ENGINE.requests(case("transformers serve m"), BASE)
    body = json.dumps('{"choices":[{"finish_reason":"stop","index":0,"message":{"content":"","role":"assistant"}}]}')
    answer = ENGINE.answer(request, body)
    assert answer is not None
    assert (answer.text, answer.finish_reason, answer.asked_tokens) == ("", "stop", 32)
    assert ENGINE.answer(request, "Internal Server Error") is None
