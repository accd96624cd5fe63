"""The servers of OpenAI's style: what each is launched with, where it says that it is ready, and how it is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import re2

from ruleout.engines import ENGINES
from ruleout.engines.serving import Server
from ruleout.model import Case, Configuration, Factor, Mechanism, Mode, Probe, UsageError

COMMANDS = {
    "vllm": "vllm serve",
    "sglang": "python3 -m sglang.launch_server",
    "llama.cpp": "llama-server",
    "tensorrt-llm": "trtllm-serve",
}
MODEL = {"vllm": "M", "sglang": "--model-path M", "llama.cpp": "-m M", "tensorrt-llm": "M"}
READY = {"vllm": "/health", "sglang": "/health_generate", "llama.cpp": "/health", "tensorrt-llm": "/health"}
NAME = {"vllm": "--served-model-name", "sglang": "--served-model-name", "llama.cpp": "--alias"}
NAME["tensorrt-llm"] = "--served_model_name"
BASE = Configuration()


def case(engine: str, words: str = "", model: str = "org/m", *factors: Factor, **more: str) -> Case:
    command = f"{COMMANDS[engine]} {MODEL[engine].replace('M', model)} {words}".split()
    return Case("c", engine, tuple(command), factors, env=more)


@pytest.fixture(params=sorted(COMMANDS))
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_it_serves_on_a_free_port_of_this_machine_only(engine: str) -> None:
    launch = ENGINES[engine].launch(case(engine, "--port 30000 --host 0.0.0.0 --x 1"), BASE)
    expected = f"{COMMANDS[engine]} {MODEL[engine].replace('M', 'org/m')} --x 1 --port {{port}} --host 127.0.0.1"
    assert " ".join(launch.argv) == expected
    assert (launch.port, launch.ready_path, launch.ready_log) == (0, READY[engine], None)


def test_by_default_a_bare_prompt_is_completed_twice_and_then_each_step_adds_one_thing(engine: str) -> None:
    first, second, *more = ENGINES[engine].requests(case(engine), BASE)
    assert (first.path, second.step) == ("/v1/completions", 2)
    body = json.loads(first.body or "")
    assert (body["model"], body["temperature"]) == ("org/m", 0)
    assert isinstance(body["prompt"], str)
    told = ["logprobs"] if engine in ("vllm", "sglang") else []
    assert [request.probe.kind for request in more] == ["streaming", *told, "long", "shared_prefix", "load"]
    assert not first.probe.optional
    assert all(request.probe.optional for request in more)


CONTEXT = {"vllm": "--max-model-len", "sglang": "--context-length", "llama.cpp": "-c", "tensorrt-llm": "--max_seq_len"}


def long_words(case: Case) -> int:
    (long,) = [r for r in ENGINES[case.engine].requests(case, BASE) if r.probe.kind == "long"]
    return len(json.loads(long.body or "")["prompt"].split())


def test_the_usual_long_prompt_fits_the_context(engine: str, tmp_path: Path) -> None:
    assert long_words(case(engine, f"{CONTEXT[engine]} 512")) * 4 <= 512 - 64
    assert long_words(case(engine, f"{CONTEXT[engine]} 131072")) == 3000
    (tmp_path / "config.json").write_text('{"text_config": {"max_position_embeddings": 1024}}')
    assert long_words(case(engine, model=str(tmp_path))) * 4 <= 1024 - 64
    assert long_words(case(engine)) * 4 <= 4096


def test_clients_use_the_name_that_the_command_gives_it(engine: str) -> None:
    asked = ENGINES[engine].requests(case(engine, f"{NAME[engine]} tiny"), BASE)
    assert json.loads(asked[0].body or "")["model"] == "tiny"


def test_an_api_key_of_the_command_is_sent(engine: str) -> None:
    asked = ENGINES[engine].requests(case(engine, "--api-key abc"), BASE)
    assert asked[0].headers["Authorization"] == "Bearer abc"


def test_its_stages_are_regexes_of_its_log(engine: str) -> None:
    for pattern in ENGINES[engine].stages.values():
        re2.compile(pattern)
    assert ENGINES[engine].stages


def test_another_engines_command_is_refused(engine: str) -> None:
    with pytest.raises(UsageError, match="the command is not"):
        ENGINES[engine].launch(Case("c", engine, ("transformers", "serve", "m")), BASE)


def test_a_job_is_left_as_it_is(engine: str) -> None:
    job = Case("c", engine, ("python", "generate.py"), mode=Mode.JOB)
    assert ENGINES[engine].launch(job, BASE).argv == ("python", "generate.py")
    assert ENGINES[engine].requests(job, BASE) == ()


@pytest.mark.parametrize("name", ["vllm", "sglang"])
def test_a_local_model_is_served_offline(name: str, tmp_path: Path) -> None:
    assert ENGINES[name].launch(case(name, model=str(tmp_path)), BASE).env["HF_HUB_OFFLINE"] == "1"
    assert "HF_HUB_OFFLINE" not in ENGINES[name].launch(case(name), BASE).env
    assert ENGINES[name].launch(case(name, HF_HUB_OFFLINE="0", model=str(tmp_path)), BASE).env["HF_HUB_OFFLINE"] == "0"


def test_vllm_sends_nothing_to_its_makers() -> None:
    assert ENGINES["vllm"].launch(case("vllm"), BASE).env == {"VLLM_NO_USAGE_STATS": "1"}


@pytest.mark.parametrize(
    ("words", "model"),
    [("M --dtype float32", "M"), ("--enforce-eager M", "M"), ("--dtype float32 M", "M"), ("--model=M", "M")],
)
def test_the_model_of_vllm_is_its_argument_or_a_flag(words: str, model: str) -> None:
    asked = ENGINES["vllm"].requests(Case("c", "vllm", ("vllm", "serve", *words.split())), BASE)
    assert json.loads(asked[0].body or "")["model"] == model


def test_a_command_that_names_no_model_needs_raw_requests() -> None:
    bare = Case("c", "vllm", ("vllm", "serve", "--config", "serve.yaml"))
    with pytest.raises(UsageError, match="does not say which model"):
        ENGINES["vllm"].requests(bare, BASE)
    raw = Case("c", "vllm", bare.command, probes=(Probe("http", path="/version"),))
    assert ENGINES["vllm"].requests(raw, BASE)[0].path == "/version"


def override(*levels: str, key: str = "num_hidden_layers") -> Factor:
    return Factor("layers", Mechanism.OVERRIDE, key, levels, levels[0], proxy=True)


def overridden(engine: str, words: str, *factors: Factor, **levels: str) -> object:
    argv = ENGINES[engine].launch(case(engine, words, "org/m", *factors), Configuration(levels)).argv
    flag = {"vllm": "--hf-overrides", "sglang": "--json-model-override-args"}[engine]
    assert argv.count(flag) <= 1
    return json.loads(argv[argv.index(flag) + 1]) if flag in argv else None


@pytest.mark.parametrize("name", ["vllm", "sglang"])
def test_an_override_goes_into_the_models_configuration(name: str) -> None:
    factor = override("unset", "4")
    assert overridden(name, "", factor) is None
    assert overridden(name, "", factor, layers="4") == {"num_hidden_layers": 4}
    nested = override("unset", "true", key="text_config.tie")
    assert overridden(name, "", nested, layers="true") == {"text_config": {"tie": True}}
    assert overridden(name, "", override("a", "b"), layers="b") == {"num_hidden_layers": "b"}


def test_an_override_is_added_to_those_of_the_command() -> None:
    given = """--hf-overrides {"a":1,"num_hidden_layers":9}"""
    assert overridden("vllm", given, override("unset", "4"), layers="4") == {"a": 1, "num_hidden_layers": 4}
    with pytest.raises(UsageError, match="no JSON object"):
        overridden("vllm", "--hf-overrides [1]", override("unset", "4"), layers="4")


def test_an_engine_without_overrides_says_so() -> None:
    with pytest.raises(UsageError, match="override is not supported"):
        ENGINES["llama.cpp"].launch(case("llama.cpp", "", "m", override("1", "2")), BASE)


def container(*words: str) -> Case:
    return Case("c", "vllm", ("docker", "run", *words, "vllm/vllm-openai", "--model", "m"))


def test_a_container_is_launched_on_the_hosts_network() -> None:
    for network in (["--network", "host"], ["--net=host"]):
        launch = ENGINES["vllm"].launch(container("--gpus", "all", *network), BASE)
        assert launch.argv[-4:] == ("--port", "{port}", "--host", "127.0.0.1")


def test_a_container_of_its_own_network_publishes_the_servers_port_on_the_loopback_interface() -> None:
    launch = ENGINES["vllm"].launch(container("-p", "8000:8000", "--gpus", "all", "-p", "81:81"), BASE)
    before, behind = launch.argv[: launch.argv.index("vllm/vllm-openai")], launch.argv[-4:]
    assert " ".join(before).startswith("docker run --rm --gpus all -p 81:81 -p 127.0.0.1:{port}:8000")
    assert behind == ("--port", "8000", "--host", "0.0.0.0")


def test_the_port_that_a_server_has_in_its_container_stays() -> None:
    words = ("docker", "run", "-p", "80:9000/tcp", "vllm/vllm-openai", "--port=9000", "--model", "m")
    argv = ENGINES["vllm"].launch(Case("c", "vllm", words), BASE).argv
    assert "127.0.0.1:{port}:9000" in argv
    assert "80:9000/tcp" not in argv
    assert argv[-4:-2] == ("--port", "9000")


def test_a_container_is_run_for_one_trial_and_leaves_nothing() -> None:
    words = ("-dit", "--name", "server", "--restart=always", "--rm", "-t", "-v", "a:b", "--net", "host")
    argv = ENGINES["vllm"].launch(container(*words), BASE).argv
    assert argv[: argv.index("-e")] == ("docker", "run", "--rm", "-i", "-v", "a:b", "--net", "host")


def test_a_variable_is_set_where_the_engine_runs() -> None:
    factor = Factor("x", Mechanism.ENV, "VLLM_X", ("1", "0", "unset"), "1")
    given = Case("c", "vllm", ("docker", "run", "-e", "VLLM_X=1", "vllm/vllm-openai", "--model", "m"), (factor,))
    for level, expected in (("1", ["VLLM_X=1"]), ("0", ["VLLM_X=0"]), ("unset", [])):
        launch = ENGINES["vllm"].launch(given, Configuration(x=level))
        assert [word for word in launch.argv if word.startswith("VLLM_X")] == expected
        assert "VLLM_X" not in launch.env
        assert "VLLM_NO_USAGE_STATS=1" in launch.argv


@pytest.mark.parametrize("network", ["none", "container:other"])
def test_a_container_that_cannot_be_reached_is_refused(network: str) -> None:
    with pytest.raises(UsageError, match="no port of it can be reached"):
        ENGINES["vllm"].launch(container("--network", network), BASE)


@pytest.mark.parametrize(
    ("command", "launched"),
    [
        ("mpirun --host a,b -n 4 trtllm-serve m --host 0.0.0.0", "mpirun --host a,b -n 4 trtllm-serve m"),
        ("srun --port 1 vllm serve m --port 2", "srun --port 1 vllm serve m"),
        ("vllm serve m --uds /s --ssl-keyfile k --enable-ssl-refresh --tp 2", "vllm serve m --tp 2"),
        ("vllm serve --enable-sleep-mode m", "vllm serve --enable-sleep-mode m"),
    ],
)
def test_only_what_says_how_the_server_is_reached_is_replaced(command: str, launched: str) -> None:
    engine = "tensorrt-llm" if "trtllm" in command else "vllm"
    argv = ENGINES[engine].launch(Case("c", engine, tuple(command.split())), BASE).argv
    assert " ".join(argv) == f"{launched} --port {{port}} --host 127.0.0.1"


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve --enable-sleep-mode m",
        "vllm serve -O3 m --tp 8",
        "vllm serve --dtype float16 --headless m",
        "vllm serve -tp 8 --served-model-name a b --enforce-eager m",
        "vllm serve m --cudagraph-capture-sizes 1 2",
        "trtllm-serve --trust_remote_code m --tp_size 8",
    ],
)
def test_a_switch_does_not_take_the_model_for_its_value(command: str) -> None:
    engine = ENGINES["tensorrt-llm" if "trtllm" in command else "vllm"]
    assert isinstance(engine, Server)
    assert engine.model(command.split()) == "m"


@pytest.mark.parametrize(
    ("command", "env"),
    [("vllm serve m --api-key k", {}), ("vllm serve m", {"VLLM_API_KEY": "k"}),
     ("docker run -e VLLM_API_KEY=k vllm/vllm-openai m", {})],
)  # fmt: skip
def test_the_key_is_shown_however_the_server_was_given_it(command: str, env: dict[str, str]) -> None:
    case = Case("c", "vllm", tuple(command.split()), env=env)
    assert ENGINES["vllm"].requests(case, BASE)[0].headers["Authorization"] == "Bearer k"


def test_what_a_wrapper_is_told_says_nothing_of_the_model() -> None:
    engine = ENGINES["llama.cpp"]
    assert isinstance(engine, Server)
    assert engine.model(["docker", "run", "-m", "8g", "ghcr.io/ggml-org/llama.cpp:server", "-hf", "org/m"]) == "org/m"
