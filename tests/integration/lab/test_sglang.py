"""SGLang on a CPU: what serves, what cannot work here, and how its own log is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.diagnosed import Diagnosed
from tests.support.served import Server, complete

from ruleout.engines.environments import Environment

pytestmark = [pytest.mark.engine, pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

Practice = Callable[[str], Path]


def serve(sglang: Environment, model: Path, log: Path, backend: str = "torch_native") -> Server:
    """`python -m sglang.launch_server` as one types it on a machine without a GPU."""
    usual = ["--served-model-name", "tiny", "--dtype", "float32", "--context-length", "512"]
    where = ["--device", "cpu", "--mem-fraction-static", "0.1", "--host", "127.0.0.1", "--port", "{port}"]
    module = [str(sglang.python), "-m", "sglang.launch_server", "--model-path", str(model)]
    return Server([*module, *usual, *where, "--attention-backend", backend], log, cwd=log.parent)


def test_a_llama_is_served(sglang: Environment, models: Path, tmp_path: Path) -> None:
    with serve(sglang, models / "llama-tiny", tmp_path / "log") as server:
        assert server.ready
        status, choice = server.chat(complete("tiny"))
    assert (status, choice["finish_reason"]) == (200, "length")
    assert choice["message"]["content"]
    found = Diagnosed(server.log_file)
    assert found.failure[0] is None
    assert found.setting("attention_backend")["resolved"] == "torch_native"


def test_a_shard_of_nan_answers_200_without_a_word(sglang: Environment, practice: Practice, tmp_path: Path) -> None:
    with serve(sglang, practice("llama-nan"), tmp_path / "log") as server:
        assert server.ready
        status, choice = server.chat(complete("tiny"))
    assert (status, choice["message"]["content"]) == (200, "")
    assert Diagnosed(server.log_file).failure[0] is None, "nothing in the log tells of it"


@pytest.mark.parametrize(
    ("backend", "failure", "suspect", "words"),
    [
        ("fa3", ("unsupported_arch", "kv_cache_alloc"), "kernel_arch_support", "FlashAttention v3 Backend requires SM"),
        ("triton", ("unsupported_arch", "prefill"), "kernel_arch_support", "0 active drivers"),
        ("flashinfer", ("import_abi", "install_import"), "install/abi", "flashinfer_python"),
    ],
)
def test_an_attention_backend_that_cannot_work_on_a_cpu(
    sglang: Environment,
    models: Path,
    tmp_path: Path,
    backend: str,
    failure: tuple[str, str],
    suspect: str,
    words: str,
) -> None:
    with serve(sglang, models / "llama-tiny", tmp_path / "log", backend) as server:
        assert not server.ready
    found = Diagnosed(server.log_file)
    assert (found.failure, found.suspect) == (failure, suspect)
    assert words in found.message


def test_glm_asks_for_a_gpu(sglang: Environment, practice: Practice, tmp_path: Path) -> None:
    with serve(sglang, practice("glm-hub"), tmp_path / "log") as server:
        assert not server.ready
    found = Diagnosed(server.log_file)
    assert (found.failure, found.suspect) == (("unsupported_arch", "arg_parsing"), "kernel_arch_support")
    assert found.message == "Torch not compiled with CUDA enabled"
