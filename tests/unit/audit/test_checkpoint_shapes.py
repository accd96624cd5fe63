"""Whatever a checkpoint lacks, has too much of, or stores in another way than declared, is found at any layer."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.support.checkpoints import Tiny, library_wrote

from ruleout.audit import ModelFolder, audit
from ruleout.audit.checkpoint_families import Part, parameters
from ruleout.audit.quantised_reading import declared
from ruleout.model.audit import Launch, Severity

PLAIN = ("glm", "glm_split", "llama", "qwen2", "qwen3", "deepseek")
QUANTISED = ("llama_nvfp4", "llama_nvfp4a16", "llama_fp8", "llama_w4a16")


def ids(made: Tiny, folder: Path, launch: Launch | None = None) -> set[str]:
    found = audit(ModelFolder(made.write(folder)), launch).findings
    return {finding.id for finding in found if finding.id.startswith(("checkpoint", "quantised"))}


def requantised(quantization: dict[str, object], base: str, rng: np.random.Generator, left_out: set[Part]) -> Tiny:
    """A tiny model with the linear layers of its experts and blocks stored in a declared format."""
    made = library_wrote(base, rng)
    made.config["quantization_config"] = quantization
    quantisation = declared(quantization)
    assert quantisation is not None
    for parameter in parameters(made.config):
        if not parameter.linear or parameter.part in left_out or parameter.name not in made.tensors:
            continue
        scheme = quantisation.scheme(parameter.module)
        if scheme is not None:
            del made.tensors[parameter.name]
            out, inner = parameter.shape
            for stored in scheme.layout(out, inner):
                if stored.needed:
                    made.put(f"{parameter.module}.{stored.suffix}", sorted(stored.dtypes)[0], stored.shapes[0], rng)
    return made


FREE = {Part.VOCABULARY}
FORMATS: dict[str, tuple[dict[str, object], str]] = {
    "modelopt nvfp4": (
        {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", "*self_attn*", "*shared_experts*"]},
        "glm_split",
    ),
    "fp8 in blocks": ({"quant_method": "fp8", "weight_block_size": [32, 32]}, "deepseek"),
    "awq": ({"quant_method": "awq", "bits": 4, "group_size": 32}, "llama"),
    "gptq": ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "qwen2"),
    "modelopt fp8": ({"quant_method": "modelopt", "quant_algo": "FP8", "exclude_modules": ["lm_head"]}, "qwen3"),
}


def format_of(kind: str, rng: np.random.Generator) -> Tiny:
    if kind in QUANTISED:
        return library_wrote(kind, rng)
    quantization, base = FORMATS[kind]
    if base == "deepseek":
        made = library_wrote(base, rng)
        if any(name.endswith("experts.gate_up_proj") for name in made.tensors):
            base = "glm_split"
    return requantised(quantization, base, rng, FREE)


@pytest.mark.parametrize("kind", [*FORMATS, *QUANTISED])
def test_a_checkpoint_in_its_declared_format_has_no_errors(kind: str, tmp_path: Path) -> None:
    made = format_of(kind, np.random.default_rng(3))
    found = audit(ModelFolder(made.write(tmp_path)), deep=lambda done, total: None).findings
    mine = [
        f for f in found if f.id.startswith(("checkpoint", "quantised", "deep")) and f.severity is not Severity.NOTE
    ]
    assert mine == []


Change = Callable[[Tiny, random.Random, np.random.Generator], None]


def _needed(made: Tiny) -> list[str]:
    return sorted(name for name in made.tensors if not name.endswith(("k_norm.bias", "e_score_correction_bias")))


def _gone(made: Tiny, chance: random.Random, rng: np.random.Generator) -> None:
    del made.tensors[chance.choice(_needed(made))]


def _unexpected(made: Tiny, chance: random.Random, rng: np.random.Generator) -> None:
    layer = chance.randrange(3)
    name = chance.choice(
        [f"model.layers.{layer}.self_attn.q_proj.lora", f"model.layers.{layer + 20}.mlp.up_proj.weight"]
    )
    made.put(name, "BF16", (4, 4), rng)


def _shape(made: Tiny, chance: random.Random, rng: np.random.Generator) -> None:
    name = chance.choice(_needed(made))
    dtype, shape, _ = made.tensors[name]
    at = chance.randrange(len(shape))
    changed = tuple(n + (8 if i == at else 0) for i, n in enumerate(shape))
    made.put(name, dtype, changed, rng)


def _sizes(key: str, factor: int) -> Change:
    def change(made: Tiny, chance: random.Random, rng: np.random.Generator) -> None:
        made.config[key] *= factor

    return change


def _integers(made: Tiny, chance: random.Random, rng: np.random.Generator) -> None:
    name = chance.choice([name for name in _needed(made) if "norm" in name])
    made.put(name, "I8", made.tensors[name][1], rng)


PLAIN_CHANGES: dict[str, tuple[Change, set[str], tuple[str, ...]]] = {
    "a tensor is gone": (_gone, {"checkpoint-missing-weight"}, PLAIN),
    "a tensor too many": (_unexpected, {"checkpoint-unexpected-weight"}, PLAIN),
    "another shape": (_shape, {"checkpoint-shape"}, PLAIN),
    "a norm of integers": (_integers, {"checkpoint-dtype"}, PLAIN),
    "more heads": (_sizes("num_attention_heads", 2), {"checkpoint-shape"}, ("llama", "deepseek", "glm")),
    "more KV heads": (_sizes("num_key_value_heads", 2), {"checkpoint-shape"}, ("llama", "qwen2", "qwen3")),
    "another head size": (_sizes("head_dim", 2), {"checkpoint-shape"}, ("llama", "qwen3")),
    "another vocabulary": (_sizes("vocab_size", 2), {"checkpoint-shape"}, PLAIN),
    "another hidden size": (_sizes("hidden_size", 2), {"checkpoint-shape"}, PLAIN),
    "another rank of queries": (_sizes("q_lora_rank", 2), {"checkpoint-shape"}, ("glm", "deepseek")),
    "another rank of keys": (_sizes("kv_lora_rank", 2), {"checkpoint-shape"}, ("glm", "deepseek")),
    "another rotary size": (_sizes("qk_rope_head_dim", 2), {"checkpoint-shape"}, ("glm", "deepseek")),
    "another index": (_sizes("index_n_heads", 2), {"checkpoint-shape"}, ("glm",)),
    "more experts, one by one": (_sizes("n_routed_experts", 2), {"checkpoint-missing-weight"}, ("glm_split",)),
    "more experts, joined": (_sizes("n_routed_experts", 2), {"checkpoint-shape"}, ("glm",)),
    "more layers": (_sizes("num_hidden_layers", 2), {"checkpoint-missing-weight"}, ("llama", "qwen2", "qwen3")),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", PLAIN_CHANGES)
def test_what_does_not_fit_the_configuration_is_found(kind: str, seed: int, tmp_path: Path) -> None:
    change, expected, models = PLAIN_CHANGES[kind]
    chance, rng = random.Random(f"{kind} {seed}"), np.random.default_rng(seed)
    made = library_wrote(chance.choice(models), rng)
    change(made, chance, rng)
    assert expected <= ids(made, tmp_path)


def _scales(made: Tiny) -> list[str]:
    return sorted(name for name in made.tensors if name.rpartition(".")[2] in (
        "weight_scale", "weight_scale_inv", "weight_scale_2", "weight_global_scale", "scales"
    ))  # fmt: skip


def _lost_scale(made: Tiny, chance: random.Random, rng: np.random.Generator) -> None:
    del made.tensors[chance.choice(_scales(made))]


def _scale_shape(made: Tiny, chance: random.Random, rng: np.random.Generator) -> None:
    name = chance.choice([name for name in _scales(made) if len(made.tensors[name][1]) == 2])
    dtype, shape, _ = made.tensors[name]
    made.put(name, dtype, (shape[0], shape[1] * 2), rng)


def _scale_ue8m0(made: Tiny, chance: random.Random, rng: np.random.Generator) -> None:
    name = chance.choice([name for name in _scales(made) if made.tensors[name][0] == "F8_E4M3"])
    made.put(name, "F8_E8M0", made.tensors[name][1], rng)


def _scale_dtype(made: Tiny, chance: random.Random, rng: np.random.Generator) -> None:
    name = chance.choice(_scales(made))
    made.put(name, "I64", made.tensors[name][1], rng)


def _weight_dtype(made: Tiny, chance: random.Random, rng: np.random.Generator) -> None:
    packed = [n for n in made.tensors if n.endswith(("weight_packed", "qweight"))] or [
        n for n, (dtype, _, _) in made.tensors.items() if dtype in ("U8", "F8_E4M3") and n.endswith(".weight")
    ]
    name = chance.choice(sorted(packed))
    made.put(name, "I8", made.tensors[name][1], rng)


def _quantised_layers(made: Tiny, *endings: str) -> list[str]:
    modules = {name.rpartition(".")[0] for name in _scales(made)}
    return sorted(module for module in modules if not endings or module.endswith(endings))


def _unquantise(made: Tiny, module: str, rng: np.random.Generator) -> None:
    shape = next(p.shape for p in parameters(made.config) if p.module == module)
    for name in [name for name in made.tensors if name.rpartition(".")[0] == module and not name.endswith(".bias")]:
        del made.tensors[name]
    made.put(f"{module}.weight", "BF16", shape, rng)


def _not_left_out(made: Tiny, chance: random.Random, rng: np.random.Generator) -> None:
    _unquantise(made, chance.choice(_quantised_layers(made)), rng)


def _left_out_in_part(made: Tiny, chance: random.Random, rng: np.random.Generator) -> None:
    module = chance.choice(_quantised_layers(made, "gate_proj", "up_proj"))
    _unquantise(made, module, rng)
    quantization = made.config["quantization_config"]
    key = next(
        (k for k in ("exclude_modules", "modules_to_not_convert", "ignored_layers", "ignore") if k in quantization),
        None,
    )
    if key is None:
        key = "ignored_layers" if quantization["quant_method"] == "fp8" else "modules_to_not_convert"
    quantization.setdefault(key, []).append(module)


def _undeclared(made: Tiny, chance: random.Random, rng: np.random.Generator) -> None:
    del made.config["quantization_config"]


ALL = (*FORMATS, *QUANTISED)
SCALED = tuple(kind for kind in ALL if kind not in ("llama_fp8", "modelopt fp8"))
FORMAT_CHANGES: dict[str, tuple[Change, set[str], tuple[str, ...]]] = {
    "a scale is gone": (_lost_scale, {"quantised-missing"}, ALL),
    "a scale of another shape": (_scale_shape, {"checkpoint-shape"}, SCALED),
    "ue8m0 for e4m3": (_scale_ue8m0, {"quantised-scale-format"}, ("modelopt nvfp4", "llama_nvfp4", "llama_nvfp4a16")),
    "a scale of integers": (_scale_dtype, {"quantised-dtype"}, ALL),
    "a weight of another dtype": (_weight_dtype, {"quantised-dtype"}, ALL),
    "a layer that is not quantised": (_not_left_out, {"quantised-not-left-out"}, ALL),
    "a joined layer left out in part": (_left_out_in_part, {"quantised-fused"}, ALL),
    "quantised and not said": (_undeclared, {"quantised-not-declared"}, ALL),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", FORMAT_CHANGES)
def test_what_does_not_fit_the_declared_format_is_found(kind: str, seed: int, tmp_path: Path) -> None:
    change, expected, formats = FORMAT_CHANGES[kind]
    chance, rng = random.Random(f"{kind} {seed}"), np.random.default_rng(seed)
    made = format_of(chance.choice(formats), rng)
    change(made, chance, rng)
    assert expected <= ids(made, tmp_path)


def predicting(made: Tiny, rng: np.random.Generator) -> Tiny:
    """The same with a layer for multi-token prediction."""
    made.config["num_nextn_predict_layers"] = 1
    for parameter in parameters(made.config):
        if parameter.layer == made.config["num_hidden_layers"]:
            made.put(parameter.name, "BF16", parameter.shape, rng)
    return made


NEXTN = Launch("sglang", "0.5.9", {"model_path": "/m", "speculative_algorithm": "NEXTN"})
VLLM_MTP = Launch("vllm", "0.32.0", {"speculative_config": '{"method": "deepseek_mtp", "num_speculative_tokens": 1}'})


@pytest.mark.parametrize("launch", [NEXTN, VLLM_MTP])
@pytest.mark.parametrize("base", ["deepseek", "glm_split"])
def test_speculation_needs_the_layers_it_drafts_with(base: str, launch: Launch, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    made = library_wrote(base, rng)
    assert "checkpoint-mtp-missing" in ids(made, tmp_path / "without", launch)
    assert "checkpoint-mtp-missing" not in ids(made, tmp_path / "unasked", Launch("sglang", "0.5.9", {}))
    assert not {i for i in ids(predicting(made, rng), tmp_path / "with", launch) if "mtp" in i}


@pytest.mark.parametrize("seed", range(4))
def test_a_layer_for_prediction_that_is_there_in_part_is_found_unasked(seed: int, tmp_path: Path) -> None:
    chance, rng = random.Random(seed), np.random.default_rng(seed)
    made = predicting(library_wrote("glm_split", rng), rng)
    layer = f"model.layers.{made.config['num_hidden_layers']}."
    names = [n for n in made.tensors if n.startswith(layer) and "k_norm" not in n and "gate." not in n]
    del made.tensors[chance.choice(sorted(n for n in names if "embed_tokens" not in n and "head.weight" not in n))]
    assert "checkpoint-mtp-incomplete" in ids(made, tmp_path)


def test_a_model_that_is_not_described_here_is_said_and_not_guessed(tmp_path: Path) -> None:
    made = library_wrote("llama", np.random.default_rng(0))
    made.config["model_type"] = "mamba9"
    assert ids(made, tmp_path) == {"checkpoint-not-described"}


@pytest.mark.parametrize("value", ["64", -1, 0, None, [], 1 << 80, 1.5, True, {"a": 1}])
@pytest.mark.parametrize("key", ["num_hidden_layers", "hidden_size", "n_routed_experts", "vocab_size", "kv_lora_rank"])
def test_a_size_that_is_none_is_no_crash(key: str, value: object, tmp_path: Path) -> None:
    made = library_wrote("glm_split", np.random.default_rng(0))
    made.config[key] = value
    launch = Launch("sglang", "0.5.9", {"tp": "8"})
    assert audit(ModelFolder(made.write(tmp_path)), launch).findings


@pytest.mark.parametrize(("name", "count"), [("glm", 1277080), ("glm_split", 1277080), ("llama", 574336)])
def test_parameters_are_counted_however_they_are_stored(name: str, count: int, tmp_path: Path) -> None:
    """As many as Transformers counts, and the 24 biases of the routers, which it calls buffers."""
    made = library_wrote(name, np.random.default_rng(0))
    assert audit(ModelFolder(made.write(tmp_path))).model.parameters == count


def test_packed_parameters_count_as_what_they_hold(tmp_path: Path) -> None:
    made = library_wrote("llama_nvfp4", np.random.default_rng(0))
    assert audit(ModelFolder(made.write(tmp_path))).model.parameters == 574336


def test_gptq_may_write_a_bias_for_every_layer(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    made = requantised({"quant_method": "gptq", "bits": 4, "group_size": 32}, "llama", rng, FREE)
    made.put("model.layers.1.mlp.up_proj.bias", "F16", (256,), rng)
    assert ids(made, tmp_path) == set()
