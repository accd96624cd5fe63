"""The command that started a run, as its log or its reader shows it."""

from __future__ import annotations

import io

import pytest

from ruleout.model.diagnosis import Diagnosis
from ruleout.reading.commands import flags
from ruleout.reading.diagnose import Stream, read_facts


def read(text: str) -> Diagnosis:
    return read_facts([Stream("pasted", io.BytesIO(text.encode()))])


def test_flags_have_names_in_snake_case_and_variables_their_own() -> None:
    command = (
        "NCCL_DEBUG=INFO vllm serve /m --tensor-parallel-size 8 --enforce-eager --dtype=half -tp 2 --x '{\"a\": 1}'"
    )
    assert flags(command) == {
        "NCCL_DEBUG": "INFO",
        "tensor_parallel_size": "8",
        "enforce_eager": "True",
        "dtype": "half",
        "tp": "2",
        "x": '{"a": 1}',
    }
    assert flags("vllm serve --broken 'quote") == {"broken": "'quote"}


@pytest.mark.parametrize(
    "text",
    [
        "$ python3 -m sglang.launch_server --model-path /m --tp 8 --kv-cache-dtype fp8_e4m3\n",
        "python3 -m sglang.launch_server --model-path /m --tp 8 --kv-cache-dtype fp8_e4m3\n",
        "$ python3 -m sglang.launch_server \\\n  --model-path /m \\\n  --tp 8 --kv-cache-dtype fp8_e4m3\nValueError\n",
        "docker run img \\\n python3 -m sglang.launch_server --model-path /m --tp 8 \\\n --kv-cache-dtype fp8_e4m3\n",
    ],
)
def test_a_command_is_read_in_one_line_and_in_several(text: str) -> None:
    found = read(text)
    asked = {setting.name: setting.requested for setting in found.settings}
    assert (asked["tp_size"], asked["kv_cache_dtype"]) == ("8", "fp8_e4m3")
    assert found.engine.name == "sglang"
    assert (found.environment.model, found.environment.tp) == ("/m", 8)
    assert "--kv-cache-dtype fp8_e4m3" in found.command


@pytest.mark.parametrize(
    "before",
    [
        "(venv) me@box:~$ ",
        "root@box:/acme# nohup ",
        "+ exec ",
        "++ ",
        "[me@box acme]$ ",
        "(base) me@box:~/x$ ",
        "nohup ",
    ],
)
def test_a_command_is_known_behind_any_prompt(before: str) -> None:
    found = read(f"{before}vllm serve /m --tensor-parallel-size 8 > out.log 2>&1 &\nValueError: it broke\n")
    assert found.command == "vllm serve /m --tensor-parallel-size 8 > out.log 2>&1 &"
    assert found.environment.tp == 8


def test_a_package_that_was_installed_is_no_command() -> None:
    assert read(" + vllm==0.12.0\n+ vllm==0.12.0\nValueError: it broke\n").command == ""


@pytest.mark.parametrize("begin", ["", "\\\n  "])
def test_a_comment_is_no_part_of_a_command(begin: str) -> None:
    found = read(f"$ vllm serve /m {begin}--max-num-seqs 8 # was --max-num-seqs 512\nValueError: it broke\n")
    assert found.command.endswith("--max-num-seqs 8")
    assert {s.name: s.requested for s in found.settings}["max_num_seqs"] == "8"


@pytest.mark.parametrize(
    "outer",
    [
        "docker run --rm --gpus all --shm-size 32g -p 8000:8000 -v ~/.cache:/x -e NCCL_DEBUG=INFO acme/vllm:v1",
        "docker run --rm -p 8000:8000 -e NCCL_DEBUG=INFO acme/img:v1 vllm serve",
        "NCCL_DEBUG=INFO srun -N1 --gres=gpu:4 vllm serve",
    ],
)
def test_what_a_container_or_a_scheduler_is_told_is_no_setting_of_the_engine(outer: str) -> None:
    assert flags(f"{outer} --model /m --tp 8") == {"NCCL_DEBUG": "INFO", "model": "/m", "tp": "8"}
