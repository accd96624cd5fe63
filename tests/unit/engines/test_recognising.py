"""Real command lines, as people type and paste them: which engine, which words are its own, what was put before it."""

from __future__ import annotations

import shlex

import pytest

from ruleout.engines import recognise


@pytest.mark.parametrize(
    ("command", "engine", "given"),
    [
        ("vllm serve /models/glm --tensor-parallel-size 8", "vllm", "/models/glm --tensor-parallel-size 8"),
        ("/venv/bin/vllm serve m", "vllm", "m"),
        ("python3 -m vllm.entrypoints.openai.api_server --model m", "vllm", "--model m"),
        ("python -m vllm.entrypoints.cli.main serve m", "vllm", "m"),
        ("python3 -u -m sglang.launch_server --model-path m --tp 8", "sglang", "--model-path m --tp 8"),
        ("sglang serve --model-path m", "sglang", "--model-path m"),
        ("python /src/sglang/python/sglang/launch_server.py --model-path m", "sglang", "--model-path m"),
        ("transformers serve m", "transformers", "m"),
        ("python -m transformers.cli.transformers serve --force-model m", "transformers", "--force-model m"),
        ("python /venv/bin/transformers serve m", "transformers", "m"),
        ("./build/bin/llama-server -m a.gguf -ngl 99", "llama.cpp", "-m a.gguf -ngl 99"),
        ("llama serve -m a.gguf", "llama.cpp", "-m a.gguf"),
        ("trtllm-serve m --tp_size 4", "tensorrt-llm", "m --tp_size 4"),
        ("trtllm-serve serve m", "tensorrt-llm", "m"),
        ("mpirun -n 4 trtllm-serve m", "tensorrt-llm", "m"),
        ("torchrun --nproc-per-node 2 -m sglang.launch_server --model-path m", "sglang", "--model-path m"),
        ("numactl -N 0 -m 0 taskset -c 0-7 vllm serve m", "vllm", "m"),
        ("sudo -E nohup vllm serve m", "vllm", "m"),
        ("timeout 30m vllm serve m", "vllm", "m"),
        ("uv run vllm serve m", "vllm", "m"),
        ("pixi run --environment gpu vllm serve m", "vllm", "m"),
        (
            "conda run --no-capture-output -n vllm python -m vllm.entrypoints.openai.api_server --model m",
            "vllm",
            "--model m",
        ),
        ("apptainer exec --nv vllm.sif vllm serve m", "vllm", "m"),
        ("srun --gres gpu:8 trtllm-llmapi-launch trtllm-serve m", "tensorrt-llm", "m"),
        ("nsys profile -o out python -m sglang.launch_server --model-path m", "sglang", "--model-path m"),
        ("docker run --gpus all --network host vllm/vllm-openai:v0.12.0 --model m", "vllm", "--model m"),
        ("docker run --rm -it -v /m:/m lmsysorg/sglang:dev python3 -m sglang.launch_server --tp 8", "sglang", "--tp 8"),
        ("docker container run -ditP --pull always vllm/vllm-openai-rocm:v0.18.0 m --a 1", "vllm", "m --a 1"),
        ("docker run --gpus all --entrypoint vllm vllm/vllm-openai serve m", "vllm", "m"),
        ("docker run --entrypoint python3 lmsysorg/sglang -m sglang.launch_server --tp 8", "sglang", "--tp 8"),
        ("sudo podman run -e A=b ghcr.io/ggml-org/llama.cpp:server-cuda -m a.gguf", "llama.cpp", "-m a.gguf"),
    ],
)
def test_an_engine_is_recognised_through_what_stands_before_it(command: str, engine: str, given: str) -> None:
    found = recognise(shlex.split(command))
    assert (found.engine, shlex.join(found.given)) == (engine, given)
    assert shlex.join(found.command) == command
    assert found.env == {}


@pytest.mark.parametrize(
    "command",
    [
        "",
        "python train.py",
        "grep vllm serve",
        "transformers chat",
        "vllm bench serve",
        "vllm",
        "bash run-vllm.sh",
        "ssh gpu-box vllm serve m",
        "kubectl exec pod -- vllm serve m",
        "docker build -t vllm serve",
        "docker run python:3.12 python train.py",
        "bash -c 'vllm serve m | grep -v INFO'",
        "bash -c 'vllm serve m < questions'",
        "bash -c 'vllm serve m & sleep 60; curl localhost:8000'",
        "bash -c 'vllm serve $MODEL'",
        "bash -c 'vllm serve ~/models/m'",
        'bash -c "vllm serve \'m"',
    ],
)
def test_what_cannot_be_taken_apart_with_certainty_is_just_a_command(command: str) -> None:
    found = recognise(shlex.split(command, posix=True))
    assert (found.engine, shlex.join(found.command)) == ("command", shlex.join(shlex.split(command)))


@pytest.mark.parametrize(
    ("command", "launched", "env"),
    [
        ("A=b C=d vllm serve m", "vllm serve m", {"A": "b", "C": "d"}),
        ("env A=b vllm serve m", "vllm serve m", {"A": "b"}),
        ("env -u A vllm serve m", "env -u A vllm serve m", {}),
        ("A='x y' python train.py", "python train.py", {"A": "x y"}),
        ("bash -c 'vllm serve m --a 1'", "vllm serve m --a 1", {}),
        ("bash -lc 'A=b exec vllm serve m'", "vllm serve m", {"A": "b"}),
        ("bash -c 'vllm serve m \\\n  --a 1'", "vllm serve m --a 1", {}),
        ("nohup sh -c 'A=b vllm serve m'", "nohup vllm serve m", {"A": "b"}),
        ("nohup env A=b vllm serve m", "nohup vllm serve m", {"A": "b"}),
        (
            "timeout 30m env A=b C=d numactl -N 0 vllm serve m",
            "timeout 30m numactl -N 0 vllm serve m",
            {"A": "b", "C": "d"},
        ),
        ("sudo env A=b vllm serve m", "sudo env A=b vllm serve m", {}),
        ("bash -c 'export A=b C=\"d e\"; vllm serve m'", "vllm serve m", {"A": "b", "C": "d e"}),
        (
            "bash -c 'set -e\nexport A=b\nE=f vllm serve m'",
            """bash -c 'set -e\nexec "$@"' bash vllm serve m""",
            {"A": "b", "E": "f"},
        ),
        ("bash -c 'export A=$B; vllm serve m'", """bash -c 'export A=$B; exec "$@"' bash vllm serve m""", {}),
        (
            "bash -c '. venv/bin/activate; export A=b; vllm serve m'",
            """bash -c '. venv/bin/activate; export A=b; exec "$@"' bash vllm serve m""",
            {},
        ),
        ("bash -c 'vllm serve m --a 1 2>&1 | tee server.log'", "vllm serve m --a 1", {}),
        ("bash -c 'nohup vllm serve m > \"a b.log\" 2>&1 &'", "nohup vllm serve m", {}),
        ("bash -c 'vllm serve m2>>log'", "vllm serve m2", {}),
        ("bash -c 'vllm serve m --b \"c > d\"'", "vllm serve m --b 'c > d'", {}),
        ("docker run --entrypoint /bin/bash i -c 'vllm serve m'", "docker run --entrypoint '' i vllm serve m", {}),
        ("docker run i bash -c 'A=b vllm serve m'", "docker run i env A=b vllm serve m", {}),
    ],
)
def test_variables_and_shells_that_only_carry_it_are_taken_off(
    command: str, launched: str, env: dict[str, str]
) -> None:
    found = recognise(shlex.split(command))
    assert (shlex.join(found.command), found.env) == (launched, env)


def test_a_script_that_does_something_before_runs_the_engine_as_words() -> None:
    found = recognise(["bash", "-c", 'cd "$HOME"; . venv/bin/activate && A="x y" vllm serve m --b "c d"'])
    script = """cd "$HOME"; . venv/bin/activate && A='x y' "$@\""""
    assert found.command == ("bash", "-c", script, "bash", "vllm", "serve", "m", "--b", "c d")
    assert (found.engine, found.given) == ("vllm", ("m", "--b", "c d"))
    again = recognise(found.command)
    assert (again.command, again.given) == (found.command, found.given)


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("numactl -N 0 /venv/bin/vllm serve m", "/venv/bin/vllm serve"),
        ("nohup python3 -u -m sglang.launch_server --tp 8", "python3 -u -m sglang.launch_server"),
        ("python a/sglang/launch_server.py --tp 8", "python a/sglang/launch_server.py"),
        ("trtllm-serve m", "trtllm-serve"),
    ],
)
def test_the_program_is_what_is_asked_for_its_help(command: str, program: str) -> None:
    assert shlex.join(recognise(shlex.split(command)).program) == program


@pytest.mark.parametrize(
    ("command", "begin"),
    [
        ("python train.py --x 1", "--x 1"),
        ("./run.sh --x 1", "--x 1"),
        ("docker run --gpus all python:3.12 python -u train.py --x 1", "--x 1"),
        ("docker run --gpus all image --x 1", "--x 1"),
        ("apptainer run --nv image.sif --x 1", ""),
        ("srun --mem 1G python train.py --x 1", "--x 1"),
    ],
)
def test_of_a_program_that_is_no_engine_a_wrappers_options_are_not_its_own(command: str, begin: str) -> None:
    found = recognise(shlex.split(command))
    assert (found.engine, shlex.join(found.given)) == ("command", begin)


def test_a_containers_variables_are_those_that_it_is_given() -> None:
    command = "HF_TOKEN=t docker run -e A=b --env=C=d -e HF_TOKEN vllm/vllm-openai --model m"
    found = recognise(shlex.split(command))
    assert (dict(found.variables), found.env) == ({"A": "b", "C": "d"}, {"HF_TOKEN": "t"})
