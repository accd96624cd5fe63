"""Words and numbers of a command: what the parser of an engine refuses is an error, for that engine alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.models import model
from tests.support.rope_variants import GLM

from ruleout.audit import ModelFolder, audit
from ruleout.model.audit import AuditFinding, Launch, Severity, whole


def found(folder: Path, engine: str, **arguments: str) -> list[AuditFinding]:
    told = audit(ModelFolder(folder), Launch(engine, None, arguments)).findings
    return [one for one in told if one.id in ("command-word", "command-number", "command-json", "command-overrides")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model(tmp_path_factory.mktemp("models") / "m", {**GLM, "max_position_embeddings": 1 << 20})


@pytest.mark.parametrize(
    ("flag", "value", "refused"),
    [
        ("dtype", "flaot16", "vllm sglang transformers"),
        ("dtype", "bf16", "vllm sglang transformers"),
        ("dtype", "half", ""),
        ("dtype", "float64", "vllm sglang"),
        ("dtype", "$DTYPE", ""),
        ("kv_cache_dtype", "bf16", "vllm"),
        ("kv_cache_dtype", "fp8", "sglang"),
        ("kv_cache_dtype", "fp8_e4m", "vllm sglang"),
        ("kv_cache_dtype", "FP8_E4M3", "vllm sglang"),
        ("kv_cache_dtype", "fp8_e4m3", ""),
        ("kv_cache_dtype", "present", "vllm sglang"),
    ],
)
def test_a_word_is_refused_by_the_engines_that_do_not_know_it(
    folder: Path, flag: str, value: str, refused: str
) -> None:
    told = {engine: found(folder, engine, **{flag: value}) for engine in ("vllm", "sglang", "transformers")}
    assert [engine for engine, findings in told.items() if findings] == refused.split()
    assert all(
        one.severity is Severity.ERROR and f" {value}," not in one.remedy for each in told.values() for one in each
    )


@pytest.mark.parametrize(
    ("engine", "flag", "value", "refused"),
    [
        ("vllm", "max_model_len", "32k", False),
        ("vllm", "max_model_len", "32K", False),
        ("vllm", "max_model_len", "1.5k", False),
        ("vllm", "max_model_len", "1.5K", True),
        ("vllm", "max_model_len", "32Ki", True),
        ("vllm", "max_model_len", "auto", False),
        ("vllm", "max_model_len", "-1", False),
        ("vllm", "max_model_len", "0", True),
        ("vllm", "max_num_seqs", "1k", True),
        ("vllm", "max_num_batched_tokens", "8k", False),
        ("vllm", "max_num_batched_tokens", "9" * 5000, True),
        ("sglang", "context_length", "32k", False),
        ("sglang", "context_length", "32Ki", False),
        ("sglang", "context_length", "32K", True),
        ("sglang", "context_length", "auto", True),
        ("sglang", "max_total_tokens", "1M", False),
        ("sglang", "chunked_prefill_size", "-1", False),
        ("sglang", "page_size", "0", True),
    ],
)
def test_a_number_is_spelt_as_the_engine_spells_it(
    folder: Path, engine: str, flag: str, value: str, refused: bool
) -> None:
    assert [one.id for one in found(folder, engine, **{flag: value})] == ["command-number"] * refused


@pytest.mark.parametrize(
    ("text", "engine", "number"),
    [("32k", "vllm", 32_000), ("32K", "vllm", 32_768), ("2.5k", "vllm", 2500), ("1Mi", "sglang", 1 << 20),
     ("1.1k", "sglang", 1100), ("1m", "sglang", None), ("1k", "transformers", None), ("", "vllm", None),
     ("7", "", 7), ("7.0", "vllm", None)],
)  # fmt: skip
def test_a_short_number_is_as_long_as_it_means(text: str, engine: str, number: int | None) -> None:
    assert whole(text, engine) == number


def test_a_context_that_is_spelt_short_is_compared_with_the_model(tmp_path: Path) -> None:
    small = model(tmp_path / "m", {**GLM, "max_position_embeddings": 32_000})
    for value, refused in (("32k", False), ("32K", True)):
        told = audit(ModelFolder(small), Launch("vllm", None, {"max_model_len": value})).findings
        assert ("command-context" in {one.id for one in told}) is refused


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"a":', ["command-json"]),
        ("[1]", ["command-json"]),
        ("rope_theta=1e6", ["command-json"]),
        ("present", ["command-json"]),
        ('{"a": 1}', ["command-overrides"]),
        ("{}", []),
        ("$OVERRIDES", []),
    ],
)
def test_what_has_to_be_an_object_of_json(folder: Path, value: str, expected: list[str]) -> None:
    for engine, flag in (("vllm", "hf_overrides"), ("sglang", "json_model_override_args")):
        assert [one.id for one in found(folder, engine, **{flag: value})] == expected


def test_older_releases_took_a_level_of_compilation(folder: Path) -> None:
    assert found(folder, "vllm", compilation_config="3") == []
    assert [one.id for one in found(folder, "vllm", compilation_config='{"level": ')] == ["command-json"]
