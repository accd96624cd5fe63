"""vLLM on a CPU really fails as the worked examples say, and its own log is read as what it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.support.diagnosed import Diagnosed
from tests.support.served import Server, complete

from ruleout.engines.environments import Environment

pytestmark = [pytest.mark.engine, pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(900)]

Practice = Callable[[str], Path]


def serve(vllm: Environment, model: Path, log: Path, flags: Sequence[str] = (), kv_gib: str = "1") -> Server:
    """`vllm serve` as one types it on a machine without a GPU. `kv_gib`: the size of the KV cache."""
    usual = ["--served-model-name", "tiny", "--dtype", "float32", "--max-model-len", "512", "--enforce-eager"]
    where = ["--host", "127.0.0.1", "--port", "{port}"]
    env = {"VLLM_CPU_KVCACHE_SPACE": kv_gib, "VLLM_NO_USAGE_STATS": "1"}
    return Server([str(vllm.script("vllm")), "serve", str(model), *usual, *where, *flags], log, cwd=log.parent, env=env)


def test_glm_has_no_sparse_attention_on_a_cpu(vllm: Environment, practice: Practice, tmp_path: Path) -> None:
    with serve(vllm, practice("glm-hub"), tmp_path / "log") as server:
        assert not server.ready
    found = Diagnosed(server.log_file)
    assert found.failure == ("unsupported_arch", "weight_load")
    assert found.message == "Sparse Attention is not supported on CPU."
    assert found.suspect == "kernel_arch_support"


def test_glm_through_transformers_is_ready_and_dies_of_its_first_request(
    vllm: Environment, practice: Practice, tmp_path: Path
) -> None:
    flags = ["--model-impl", "transformers", "--dtype", "bfloat16"]  # some processors' experts take nothing wider
    with serve(vllm, practice("glm-hub"), tmp_path / "log", flags) as server:
        assert server.ready
        assert server.chat(complete("tiny"))[0] == 500
    assert "EngineDeadError" in server.log
    found = Diagnosed(server.log_file)
    assert found.failure == ("incompatible_config_assert", "prefill")
    assert found.message == "Head dimension 96 is not supported by MLA."
    assert found.suspect == "attention_backend"


def test_a_kv_cache_greater_than_the_memory(vllm: Environment, models: Path, tmp_path: Path) -> None:
    with serve(vllm, models / "llama-tiny", tmp_path / "log", kv_gib="4000") as server:
        assert not server.ready
    found = Diagnosed(server.log_file)
    assert found.failure == ("oom", "warmup")
    assert "less than requested memory for kv (4000.0 GiB)" in found.message
    assert found.suspect == "memory"


def test_an_attention_backend_that_is_asked_for_and_not_used(vllm: Environment, models: Path, tmp_path: Path) -> None:
    with serve(vllm, models / "llama-tiny", tmp_path / "log", ["--attention-backend", "FLASH_ATTN"]) as server:
        assert server.ready
        status, choice = server.chat(complete("tiny"))
    assert (status, choice["finish_reason"]) == (200, "length")
    assert choice["message"]["content"]
    found = Diagnosed(server.log_file)
    assert found.failure[0] is None
    backend = found.setting("attention_backend")
    assert (backend["requested"], backend["resolved"], backend["chosen_by"]) == ("FLASH_ATTN", "CPU_ATTN", "engine")


def test_a_shard_of_nan_answers_200_without_a_word(vllm: Environment, practice: Practice, tmp_path: Path) -> None:
    with serve(vllm, practice("llama-nan"), tmp_path / "log") as server:
        assert server.ready
        status, choice = server.chat(complete("tiny"))
    assert (status, choice["message"]["content"], choice["finish_reason"]) == (200, "", "length")
    assert Diagnosed(server.log_file).failure[0] is None, "nothing in the log tells of it"


@pytest.mark.parametrize(
    ("model", "failure", "suspect", "words"),
    [
        ("llama-missing-shard", ("missing_weights", "weight_load"), "weights/checkpoint", "model-00002-of-00003"),
        ("llama-truncated-shard", ("missing_weights", "weight_load"), "weights/checkpoint", "not fully covered"),
        ("llama-unknown-type", ("unknown_model_type", "arg_parsing"), "transformers_version", "`nosuch_model`"),
    ],
)
def test_a_checkpoint_that_does_not_load(
    vllm: Environment,
    practice: Practice,
    tmp_path: Path,
    model: str,
    failure: tuple[str, str],
    suspect: str,
    words: str,
) -> None:
    with serve(vllm, practice(model), tmp_path / "log") as server:
        assert not server.ready
    found = Diagnosed(server.log_file)
    assert (found.failure, found.suspect) == (failure, suspect)
    assert words in found.message
