"""The table of what kernels need tells of a launch what people met after minutes, and nothing of one that works."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks.audit.memory import GLM5, GLM5_NVFP4, KIMI_K2, KIMI_NVFP4, QWEN25

from ruleout.audit import ModelFolder, audit
from ruleout.audit.hardware_table import table, within
from ruleout.model.audit import AuditFinding, Host, Launch, Severity

GLM5_FP4 = {**GLM5, "quantization_config": GLM5_NVFP4}
KIMI_FP4 = {**KIMI_K2, "quantization_config": KIMI_NVFP4}
BLOCKS = {**GLM5, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
OFF = {"SGLANG_ENABLE_JIT_DEEPGEMM": "0", "SGLANG_ENABLE_DEEP_GEMM": "0"}


def findings(config: dict[str, Any], launch: Launch, sm: str, folder: Path) -> list[AuditFinding]:
    (folder / "config.json").write_text(json.dumps(config))
    found = audit(ModelFolder(folder), launch, Host(sm, 8, 96 << 30)).findings
    return [finding for finding in found if finding.id.startswith("hardware-")]


def ids(config: dict[str, Any], launch: Launch, sm: str, folder: Path) -> set[str]:
    return {finding.id.removeprefix("hardware-") for finding in findings(config, launch, sm, folder)}


def sglang(version: str | None = "0.5.9", env: dict[str, str] | None = None, **arguments: str) -> Launch:
    return Launch("sglang", version, arguments, env or {})


def vllm(version: str | None = "0.32.0", env: dict[str, str] | None = None, **arguments: str) -> Launch:
    return Launch("vllm", version, arguments, env or {})


@pytest.mark.parametrize(
    ("config", "launch", "sm", "expected"),
    [
        (GLM5_FP4, sglang(tp="8"), "120", "dsa-sm120-unsupported"),
        (GLM5_FP4, sglang(tp="8"), "120", "dsa-flashmla-arch"),
        (GLM5_FP4, sglang(tp="8"), "120", "deepgemm-sm120"),
        (GLM5_FP4, sglang(tp="8"), "120", "fp4-gemm-race"),
        (GLM5_FP4, sglang(tp="8"), "120", "fp4-tactics-shared-memory"),
        (GLM5_FP4, sglang(tp="8", nsa_decode_backend="flashmla_sparse"), "121", "dsa-flashmla-arch"),
        (GLM5_FP4, sglang(tp="8", attention_backend="triton"), "120", "dsa-fp8-cache-unreadable"),
        (GLM5, sglang(attention_backend="flashinfer", kv_cache_dtype="fp8_e4m3"), "120", "mla-fp8-cache-sm120"),
        (GLM5_FP4, sglang("0.5.20", dsa_decode_backend="trtllm"), "120", "dsa-trtllm-sm120"),
        (GLM5, sglang("0.5.20", kv_cache_dtype="bf16"), "120", "dsa-trtllm-sm120"),
        (KIMI_FP4, sglang("0.5.8", attention_backend="triton"), "120", "triton-mla-shared-memory"),
        (KIMI_FP4, sglang("0.5.8", attention_backend="triton"), "89", "triton-mla-shared-memory"),
        (KIMI_K2, sglang("0.5.10", attention_backend="trtllm_mla"), "120", "trtllm-mla-sm120"),
        (KIMI_K2, sglang(attention_backend="trtllm_mla"), "90", "trtllm-mla-arch"),
        (QWEN25, sglang(attention_backend="fa3"), "120", "fa3-arch"),
        (QWEN25, sglang(attention_backend="flashinfer"), "gfx942", "flashinfer-arch"),
        (QWEN25, sglang(kv_cache_dtype="fp8_e4m3", attention_backend="triton"), "86", "triton-fp8-cache"),
        (
            QWEN25,
            sglang("0.5.11", kv_cache_dtype="fp4_e2m1", attention_backend="flashinfer"),
            "121",
            "fp4-cache-flashinfer",
        ),
        (KIMI_FP4, sglang("0.5.23", moe_runner_backend="flashinfer_trtllm"), "120", "moe-trtllm-arch"),
        (KIMI_FP4, sglang(), "90", "nvfp4-arch"),
        (BLOCKS, sglang(moe_runner_backend="deep_gemm"), "89", "deepgemm-arch"),
        (GLM5_FP4, vllm("0.20.1"), "120", "dsa-sm120-unsupported-vllm"),
        (GLM5, vllm("0.12.0"), "100", "dsa-cutlass-mla-chosen"),
        (GLM5, vllm(kv_cache_dtype="bfloat16"), "120", "sparse-sm120-needs-fp8"),
        (KIMI_K2, vllm(attention_backend="FLASHMLA"), "120", "vllm-flashmla-arch"),
        (KIMI_K2, vllm(attention_backend="FLASH_ATTN_MLA", kv_cache_dtype="fp8"), "90", "vllm-flashattn-mla-fp8"),
        (KIMI_K2, vllm(attention_backend="CUTLASS_MLA"), "120", "vllm-sm100-mla-arch"),
        (QWEN25, vllm(attention_backend="FLASH_ATTN", kv_cache_dtype="fp8"), "89", "vllm-flash-attn-fp8"),
        (QWEN25, vllm(attention_backend="FLASHINFER"), "75", "vllm-flashinfer-arch"),
        (QWEN25, vllm(dtype="bfloat16"), "75", "vllm-bfloat16"),
        (GLM5_FP4, vllm("0.24.0"), "100", "moe-trtllm-routing-nan"),
        (KIMI_FP4, vllm(), "gfx950", "nvfp4-amd"),
        (GLM5, Launch("tensorrt-llm", None, {}), "120", "dsa-sm120-tensorrt-llm"),
        (GLM5, vllm(env={"VLLM_CPU_KVCACHE_SPACE": "1"}), "", "dsa-cpu-vllm"),
        (GLM5, sglang(device="cpu"), "", "dsa-cpu-sglang"),
        (KIMI_FP4, vllm(env={"VLLM_CPU_KVCACHE_SPACE": "1"}), "", "nvfp4-cpu"),
        (KIMI_FP4, Launch("tensorrt-llm", None, {}), "120", "fp4-tactics-shared-memory-tensorrt-llm"),
        (KIMI_FP4, Launch("tensorrt-llm", None, {}), "121", "fp4-gemm-shared-memory-tensorrt-llm"),
    ],
)
def test_what_others_met_is_told_before_the_launch(
    config: dict[str, Any], launch: Launch, sm: str, expected: str, tmp_path: Path
) -> None:
    assert expected in ids(config, launch, sm, tmp_path)


WORKS = [
    (GLM5_FP4, sglang(env=OFF, tp="8", attention_backend="flashinfer", kv_cache_dtype="bf16"), "120"),
    (GLM5_FP4, sglang("0.5.23", tp="8"), "120"),
    (GLM5_FP4, sglang("0.5.23", tp="8"), "100"),
    (GLM5_FP4, vllm(tensor_parallel_size="8"), "120"),
    (BLOCKS, sglang("0.5.9", tp="8"), "90"),
    (KIMI_FP4, sglang("0.5.23", tp="8"), "120"),
    (KIMI_FP4, vllm(tensor_parallel_size="8"), "100"),
    (QWEN25, sglang(), "90"),
    (QWEN25, sglang(), "gfx942"),
    (QWEN25, vllm(), "75"),
    (QWEN25, vllm(), "121"),
    (QWEN25, vllm(kv_cache_dtype="fp8"), "89"),
    (KIMI_FP4, Launch("tensorrt-llm", None, {}), "100"),
    (QWEN25, vllm(env={"VLLM_CPU_KVCACHE_SPACE": "1"}), ""),
    (QWEN25, sglang(device="cpu", attention_backend="torch_native"), ""),
    (GLM5, vllm(env={"VLLM_CPU_KVCACHE_SPACE": "1"}, model_impl="transformers"), ""),
]


@pytest.mark.parametrize(("config", "launch", "sm"), WORKS)
def test_a_launch_that_works_is_called_no_error(
    config: dict[str, Any], launch: Launch, sm: str, tmp_path: Path
) -> None:
    assert [f for f in findings(config, launch, sm, tmp_path) if f.severity is Severity.ERROR] == []


def test_what_depends_on_an_unknown_release_is_a_warning_that_says_so(tmp_path: Path) -> None:
    found = {f.id: f for f in findings(GLM5_FP4, sglang(None, tp="8"), "120", tmp_path)}
    told = found["hardware-dsa-sm120-unsupported"]
    assert told.severity is Severity.WARNING
    assert "in releases <0.5.12" in told.what


def test_texts_are_filled_in(tmp_path: Path) -> None:
    found = findings(KIMI_FP4, sglang("0.5.8", attention_backend="triton"), "120", tmp_path)
    (told,) = (f for f in found if f.id == "hardware-triton-mla-shared-memory")
    assert "106496 bytes" in told.what
    assert "SM120 has 101376" in told.what


def test_every_row_has_a_source_of_its_own_and_says_where_it_fails() -> None:
    needs = table().needs
    assert len({need.id for need in needs}) == len(needs) >= 50
    known = {*table().shared_memory, "cpu"}
    for need in needs:
        assert re.fullmatch(r"https://\S+", need.source), need.id
        assert need.engines <= {"sglang", "vllm", "tensorrt-llm", "transformers"}, need.id
        assert (need.works or frozenset()) | need.fails <= known, need.id
        assert need.works is not None or need.fails or need.shared_memory or need.settings, need.id
        assert within((0, 5, 9), need.versions) in (True, False), need.id
        assert "{" not in re.sub(r"\{(sm|limit|needed)\}", "", need.what + need.remedy), need.id


def test_every_capability_from_75_to_gfx950_is_known() -> None:
    asked = {"75", "80", "86", "89", "90", "100", "103", "110", "120", "121", "gfx942", "gfx950"}
    assert asked <= set(table().shared_memory)


def test_without_an_engine_or_a_gpu_nothing_is_claimed(tmp_path: Path) -> None:
    assert ids(GLM5_FP4, Launch(), "120", tmp_path) == set()
    (tmp_path / "config.json").write_text(json.dumps(GLM5_FP4))
    assert not [f for f in audit(ModelFolder(tmp_path), sglang(), Host()).findings if f.id.startswith("hardware")]


@pytest.mark.parametrize(("sm", "toolkit"), [("120", "CUDA 12.8"), ("121", "CUDA 12.9"), ("gfx950", "ROCm 7.0")])
def test_a_new_gpu_comes_with_the_toolkit_that_knows_it(sm: str, toolkit: str, tmp_path: Path) -> None:
    (told,) = (f for f in findings(QWEN25, vllm(), sm, tmp_path) if f.id == "hardware-toolkit")
    assert toolkit in told.what
    assert told.severity is Severity.NOTE


def test_a_gpu_that_is_in_no_table_is_said_to_be_in_none(tmp_path: Path) -> None:
    for sm, expected in (("999", True), ("90", False)):
        told = [f for f in findings(QWEN25, vllm(), sm, tmp_path) if f.id == "hardware-not-known"]
        assert bool(told) is expected


def test_a_gpu_that_every_toolkit_knows_has_no_note(tmp_path: Path) -> None:
    assert findings(QWEN25, vllm(), "90", tmp_path) == []
