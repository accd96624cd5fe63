"""Single values of config.json: impossible ones are errors, and those of published models are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.audit.memory import GLM5, KIMI_K2, QWEN25
from tests.support.models import model

from ruleout.audit import ModelFolder, audit
from ruleout.model.audit import AuditFinding, Launch, Severity

LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 2, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 8192, "hidden_act": "silu", "rope_theta": 500000.0, "dtype": "bfloat16",
}  # fmt: skip


def found(tmp_path: Path, config: dict[str, Any], launch: Launch | None = None) -> list[AuditFinding]:
    (tmp_path / "config.json").write_text(json.dumps(config))
    return [one for one in audit(ModelFolder(tmp_path), launch).findings if one.id.startswith("config-")]


@pytest.mark.parametrize("config", [LLAMA, GLM5, KIMI_K2, QWEN25])
def test_what_is_published_is_no_finding(tmp_path: Path, config: dict[str, Any]) -> None:
    assert found(tmp_path, config) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"num_key_value_heads": 7}, "config-heads"),
        ({"hidden_size": -4096}, "config-size"),
        ({"hidden_size": 10**9}, "config-size"),
        ({"num_hidden_layers": 0}, "config-size"),
        ({"num_hidden_layers": 10**7}, "config-size"),
        ({"vocab_size": 10**12}, "config-size"),
        ({"max_position_embeddings": 0}, "config-size"),
        ({"num_attention_heads": 0}, "config-size"),
        ({"intermediate_size": -1}, "config-size"),
        ({"hidden_act": "sillu"}, "config-activation"),
        ({"dtype": "bfloat17"}, "config-dtype"),
        ({"dtype": None, "torch_dtype": "torch.bfloat16"}, "config-dtype"),
        ({"num_hidden_layers": 2.0}, "config-type"),
        ({"hidden_act": None}, "config-type"),
        ({"rms_norm_eps": "1e-5"}, "config-type"),
    ],
)
def test_a_value_that_no_model_is_built_from_is_an_error(
    tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    launch = Launch("vllm", None, {})
    (key,) = [key for key, value in changes.items() if value is not None] or changes
    told = [(one.id, one.severity, one.where) for one in found(tmp_path, {**LLAMA, **changes}, launch)]
    assert told == [(expected, Severity.ERROR, f"config.json: {key}")]


@pytest.mark.parametrize(
    "changes",
    [
        {"intermediate_size": 0},
        {"head_dim": 0},
        {"max_position_embeddings": -1},
        {"num_key_value_heads": [8, 8]},
        {"dtype": "bfloat16", "torch_dtype": "whatever"},
        {"num_key_value_heads": 7, "kv_lora_rank": 512},
        {"hidden_act": "their_own", "auto_map": {"AutoModelForCausalLM": "modeling.Model"}},
    ],
)
def test_what_another_kind_of_model_may_have_is_none(tmp_path: Path, changes: dict[str, Any]) -> None:
    wrong = {one.id for one in found(tmp_path, {**LLAMA, **changes})} - {"config-type"}
    assert wrong == set()


def test_an_engine_that_has_one_activation_refuses_the_others(tmp_path: Path) -> None:
    for engine, refused in (("vllm", True), ("sglang", True), ("transformers", False), ("", False)):
        told = found(tmp_path, {**LLAMA, "hidden_act": "gelu"}, Launch(engine, None, {}))
        assert [one.id for one in told] == ["config-activation"] * refused


def test_a_key_that_stands_twice_is_told_with_its_file(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text('{"vocab_size": 7, ' + text.lstrip()[1:])
    (told,) = [one for one in audit(ModelFolder(folder)).findings if one.id == "config-key-twice"]
    assert (told.severity, told.where) == (Severity.WARNING, "config.json: vocab_size")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("fp8", True),
        ({}, True),
        ({"bits": 4}, True),
        ({"quant_method": "fp8"}, False),
        ({"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}, False),
        ({"quant_algo": "NVFP4", "producer": {"name": "modelopt"}}, False),
    ],
)
def test_a_declaration_of_quantisation_that_declares_nothing(tmp_path: Path, told: Any, expected: bool) -> None:
    wrong = found(tmp_path, {**LLAMA, "quantization_config": told})
    assert [one.id for one in wrong] == ["config-quantization"] * expected
