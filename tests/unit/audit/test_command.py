"""The command held against the model: what an engine refuses to start with is told, and what it takes is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.models import model, spoil
from tests.support.rope_variants import GLM

from ruleout.audit import ModelFolder, audit
from ruleout.model.audit import Launch, Severity


def found(folder: Path, launch: Launch) -> dict[str, Severity]:
    return {one.id: one.severity for one in audit(ModelFolder(folder), launch).findings}


LIMIT = 4096


@pytest.mark.parametrize(
    ("engine", "arguments", "env", "expected"),
    [
        ("vllm", {"tensor_parallel_size": "eight"}, {}, "command-number"),
        ("sglang", {"tp": "0"}, {}, "command-number"),
        ("vllm", {"tensor_parallel_size": "$GPUS"}, {}, ""),
        ("vllm", {"gpu_memory_utilization": "1.7"}, {}, "command-number"),
        ("vllm", {"gpu_memory_utilization": "nan"}, {}, "command-number"),
        ("sglang", {"mem_fraction_static": "0.85"}, {}, ""),
        ("vllm", {"max_model_len": str(LIMIT)}, {}, ""),
        ("vllm", {"max_model_len": str(LIMIT + 1)}, {}, "command-context"),
        ("sglang", {"context_length": str(LIMIT + 1)}, {}, "command-context"),
        ("vllm", {"max_model_len": str(LIMIT + 1)}, {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}, ""),
        ("vllm", {"max_model_len": str(LIMIT + 1), "hf_overrides": "{}"}, {}, ""),
        ("vllm", {"quantization": "awq"}, {}, "command-quantization"),
        ("vllm", {"quantization": "fp8"}, {}, ""),
        ("sglang", {"quantization": "bitsandbytes"}, {}, ""),
    ],
)
def test_what_an_engine_refuses_is_an_error(
    tmp_path: Path, engine: str, arguments: dict[str, str], env: dict[str, str], expected: str
) -> None:
    folder = model(tmp_path / "m", {**GLM, "max_position_embeddings": LIMIT})
    told = {i: s for i, s in found(folder, Launch(engine, None, arguments, env)).items() if i.startswith("command-")}
    assert told == ({expected: Severity.ERROR} if expected else {})


def test_stretched_positions_are_within_the_limit(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", {**GLM, "max_position_embeddings": LIMIT})
    spoil(folder / "config.json", rope_parameters={"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0})
    assert "command-context" not in found(folder, Launch("vllm", None, {"max_model_len": str(4 * LIMIT)}))
    assert "command-context" in found(folder, Launch("vllm", None, {"max_model_len": str(4 * LIMIT + 1)}))


@pytest.mark.parametrize("key", ["rope_type", "type"])
def test_positions_that_llama_3_scales_are_counted_already(tmp_path: Path, key: str) -> None:
    folder = model(tmp_path / "m", {**GLM, "max_position_embeddings": LIMIT})
    spoil(folder / "config.json", rope_scaling={key: "llama3", "factor": 8.0})
    assert "command-context" in found(folder, Launch("vllm", None, {"max_model_len": str(LIMIT + 1)}))


def test_weights_in_another_format_than_the_command_asks_for(tmp_path: Path) -> None:
    def asked(quantization: dict[str, Any] | None, flag: str) -> bool:
        folder = model(tmp_path / f"{flag}-{bool(quantization)}", {**GLM, "quantization_config": quantization})
        return "command-quantization" in found(folder, Launch("vllm", None, {"quantization": flag}))

    awq = {"quant_method": "awq", "bits": 4, "group_size": 128}
    assert not asked(awq, "awq")
    assert not asked(awq, "awq_marlin")
    assert asked(awq, "gptq")
    assert asked(None, "gptq")


def test_flags_that_stand_in_a_file_are_said_to_be_passed_over(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    assert found(folder, Launch("vllm", None, {"config": "flags.yaml"})).get("command-file") is Severity.WARNING
    assert "command-file" not in found(folder, Launch("vllm", None, {}))


def test_a_command_that_serves_another_folder(tmp_path: Path) -> None:
    folder, other = model(tmp_path / "a"), model(tmp_path / "b")
    (tmp_path / "link").symlink_to(folder)
    for served, expected in ((folder, False), (tmp_path / "link", False), (other, True), ("org/name", False)):
        told = found(folder, Launch("vllm", command=True, model=str(served)))
        assert ("command-other-model" in told) is expected, served


def test_a_command_of_which_nothing_could_be_used(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    assert found(folder, Launch("command", command=True))["command-not-known"] is Severity.WARNING
    assert "command-not-known" not in found(folder, Launch("vllm", command=True))


def test_rules_of_another_release_are_named(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    for engine, version, expected in (
        ("transformers", "5.2.0", False),
        ("transformers", "5.10.1", True),
        ("transformers", "99.0", True),
        ("vllm", "0.32.0", False),
        ("vllm", "0.9.1", True),
        ("sglang", "0.5.9", True),
    ):
        assert ("release-not-covered" in found(folder, Launch(engine, version))) is expected, (engine, version)


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        (Launch(), Severity.NOTE),
        (Launch("vllm", "0.32.0"), Severity.WARNING),
        (Launch("vllm", "0.32.0", command=True), Severity.ERROR),
        (Launch("sglang", command=True), Severity.ERROR),
        (Launch("vllm", "0.32.0", {"load_format": "dummy"}, command=True), None),
    ],
)
def test_a_folder_without_weights(tmp_path: Path, launch: Launch, expected: Severity | None) -> None:
    folder = model(tmp_path / "m")
    for weights in folder.glob("*.safetensors*"):
        weights.unlink()
    assert found(folder, launch).get("checkpoint-empty") is expected
