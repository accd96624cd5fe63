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
