"""A folder with anything in its config.json is audited to the end: findings or none, and never an exception."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.audit.memory import GLM5, GLM5_NVFP4, QWEN25
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.checkpoints import library_wrote

from ruleout.audit import ModelFolder, audit
from ruleout.model.audit import Host, Launch

LAUNCHES = [
    (Launch(), None),
    (Launch("sglang", "0.5.9", {"tp": "8", "speculative_algorithm": "NEXTN"}), Host("120", 8, 96 << 30)),
    (Launch("vllm", "0.32.0", {"tensor_parallel_size": "0", "speculative_config": "[" * 5000}), Host("gfx942", 0, 0)),
    (Launch("vllm", "banana", {"gpu_memory_utilization": "nan", "pp_size": "-1", "dp": "0"}), Host("7", 1, 1)),
    (
        Launch("sglang", "0.5", {"mem_fraction_static": "9", "ep": "0", "enable_dp_attention": "present", "dp": "3"}),
        Host("x"),
    ),
    (
        Launch(
            "vllm",
            None,
            {
                "hf_overrides": '{"a": ' + "9" * 5000 + "}",
                "max_model_len": "9" * 5000,
                "tp": "9" * 5000,
                "dtype": "",
                "kv_cache_dtype": "\x1b[31m",
                "max_num_seqs": "²",
                "max_num_batched_tokens": "1" * 19 + "T",
            },
        ),
        Host("120", 1, 96 << 30),
    ),
]
DEEP = json.loads("[" * 400 + "]" * 400)
ANY = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(1 << 70), 1 << 70), st.integers(-3, 70), st.floats(),
        st.sampled_from(["", "fp8", "auto", "NVFP4", "re:(", "*", "model.layers.0", "sliding_attention", "awq"]),
        st.just(DEEP), st.just({"a": DEEP}),
    ),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["weights", "g", "num_bits"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
BASES: list[dict[str, Any]] = [
    {
        **GLM5,
        "quantization_config": GLM5_NVFP4,
        "num_hidden_layers": 2,
        "n_routed_experts": 4,
        "first_k_dense_replace": 1,
    },
    {**QWEN25, "num_hidden_layers": 2},
]
KEYS = sorted({key for base in BASES for key in base} | {
    "text_config", "layer_types", "sliding_window", "num_nextn_predict_layers", "mlp_layer_types", "head_dim", "dtype",
    "model_type", "architectures", "tie_word_embeddings", "attention_bias", "num_local_experts", "moe_layer_freq",
})  # fmt: skip
QUANTIZATION = (
    "quant_method", "quant_algo", "ignore", "config_groups", "format", "weight_block_size", "bits", "group_size",
    "kv_cache_scheme", "kv_cache_quant_algo", "scale_fmt", "exclude_modules", "modules_to_not_convert", "version",
)  # fmt: skip


@pytest.mark.parametrize(("launch", "host"), LAUNCHES)
@given(
    base=st.sampled_from(BASES),
    changed=st.dictionaries(st.sampled_from(KEYS), ANY, max_size=3),
    quantization=st.dictionaries(st.sampled_from(QUANTIZATION), ANY, max_size=4),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_configuration_is_audited(
    launch: Launch, host: Host | None, base: dict[str, Any], changed: dict[str, Any], quantization: dict[str, Any]
) -> None:
    config = {**base, **changed}
    if quantization:
        config["quantization_config"] = {"quant_method": "compressed-tensors", **quantization}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(config))
        found = audit(ModelFolder(Path(folder)), launch, host)
    assert all(finding.what and finding.where for finding in found.findings)


@given(
    name=st.sampled_from(["glm_split", "llama_nvfp4", "qwen2"]),
    changed=st.dictionaries(st.sampled_from(KEYS), ANY, max_size=2),
    quantization=st.dictionaries(st.sampled_from(QUANTIZATION), ANY, max_size=3),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_real_weights_with_any_configuration_are_audited(
    name: str, changed: dict[str, Any], quantization: dict[str, Any]
) -> None:
    made = library_wrote(name, np.random.default_rng(0))
    made.config |= changed
    if quantization:
        made.config["quantization_config"] = {"quant_method": "fp8", **quantization}
    launch, host = LAUNCHES[1]
    with tempfile.TemporaryDirectory() as folder:
        assert audit(ModelFolder(made.write(Path(folder))), launch, host).findings is not None
