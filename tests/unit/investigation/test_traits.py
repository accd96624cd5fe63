"""What holds of a deployment, from its log, its command and the model's folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ruleout.investigation.traits import traits
from ruleout.model import Diagnosis, EngineId, Environment, LogOutcome, Stage


def seen(**ran: object) -> Diagnosis:
    environment = Environment(**ran)  # type: ignore[arg-type]
    return Diagnosis(EngineId("sglang", "0.5.9"), LogOutcome.CRASH, Stage.DECODE, environment=environment)


@pytest.mark.parametrize(
    ("ran", "command", "holds"),
    [
        ({"gpu": "NVIDIA H100"}, "", {"gpu"}),
        ({"gpu": "NVIDIA H100", "tp": 8}, "", {"gpu", "ranks"}),
        ({"gpu": "x"}, "sglang serve --tp 8", {"gpu", "ranks"}),
        ({"gpu": "x"}, "sglang serve --tp 1", {"gpu"}),
        ({"gpu": "x", "model_type": "glm_moe_dsa"}, "", {"gpu", "moe", "mla", "sparse"}),
        ({"gpu": "x", "quantization": "modelopt_fp4"}, "", {"gpu", "quantized", "fp4"}),
        ({"torch": "2.13.0+cpu"}, "", {"cpu"}),
        ({"gpu": "x"}, "sglang serve --device cpu", {"cpu"}),
    ],
)
def test_the_log_and_the_command_tell(ran: dict[str, object], command: str, holds: set[str]) -> None:
    assert traits(seen(**ran), command.split()) == holds


def test_the_models_folder_tells(tmp_path: Path) -> None:
    config = {
        "model_type": "x",
        "text_config": {"n_routed_experts": 8, "kv_lora_rank": 64},
        "quantization_config": {"quant_method": "compressed-tensors", "format": "float8"},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert traits(seen(gpu="x"), (), tmp_path) == {"gpu", "moe", "mla", "quantized", "fp8"}


@pytest.mark.parametrize("text", ["", "[1]", "{", '"x"'])
def test_a_folder_that_cannot_be_read_tells_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    assert traits(seen(gpu="x"), (), tmp_path) == {"gpu"}
    assert traits(seen(gpu="x"), (), tmp_path / "gone") == {"gpu"}
