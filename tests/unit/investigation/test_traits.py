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


@pytest.mark.parametrize(
    ("model", "holds"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", set()),
        ("zai-org/GLM-5-NVFP4", {"moe", "mla", "sparse", "quantized", "fp4"}),
        ("zai-org/GLM-4.6", {"moe"}),
        ("THUDM/glm-4-9b-chat", set()),
        ("deepseek-ai/DeepSeek-V3.2-Exp", {"moe", "mla", "sparse", "quantized", "fp8"}),
        ("deepseek-ai/DeepSeek-R1", {"moe", "mla", "quantized", "fp8"}),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", set()),
        ("nvidia/DeepSeek-R1-FP4", {"moe", "mla", "quantized", "fp4"}),
        ("Qwen/Qwen3-30B-A3B-FP8", {"moe", "quantized", "fp8"}),
        ("Qwen/Qwen3-32B-AWQ", {"quantized"}),
        ("mistralai/Mixtral-8x7B-v0.1", {"moe"}),
        ("openai/gpt-oss-120b", {"moe", "quantized", "fp4"}),
    ],
)
def test_where_there_is_no_folder_the_name_of_a_model_tells(model: str, holds: set[str]) -> None:
    assert traits(seen(gpu="x"), (), Path(model)) == {"gpu", *holds}


@pytest.mark.parametrize(
    ("command", "env", "kind"),
    [
        ("vllm serve m", {}, "cpu"),
        ("vllm serve m", {"CUDA_VISIBLE_DEVICES": "0,1"}, "gpu"),
        ("vllm serve m", {"CUDA_VISIBLE_DEVICES": ""}, "cpu"),
        ("docker run --gpus all vllm/vllm-openai m", {}, "gpu"),
        ("srun --gres=gpu:8 vllm serve m", {}, "gpu"),
        ("sglang serve --model-path m --device cpu", {"CUDA_VISIBLE_DEVICES": "0"}, "cpu"),
    ],
)
def test_without_a_log_the_command_says_whether_there_is_a_gpu_and_else_this_machine(
    command: str, env: dict[str, str], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "exists", lambda path: not str(path).startswith("/dev/"))
    assert traits(None, command.split(), None, env) & {"cpu", "gpu"} == {kind}


def test_an_engine_that_is_not_on_this_machine_is_not_told_of_by_its_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda path: False)
    assert "gpu" in traits(None, ["vllm", "serve", "m"], here=False)


@pytest.mark.parametrize(
    ("flags", "holds"),
    [("--nsa-decode-backend=fa3", {"sparse", "mla"}), ("--enable-expert-parallel", {"moe"}),
     ("--quantization modelopt_fp4", {"quantized", "fp4"})],
)  # fmt: skip
def test_flags_that_only_some_models_have_tell_of_the_model(flags: str, holds: set[str]) -> None:
    assert traits(seen(gpu="x"), ["serve", *flags.split()]) == {"gpu", *holds}


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
