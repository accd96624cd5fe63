"""What a start got over is not why it failed later; where it did not go on, the same line is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ruleout.diagnosis.diagnose import diagnosed
from ruleout.diagnosis.overcome import Overcome
from ruleout.model import Component, DiagnosedFailure, Diagnosis, EngineId, Evidence, FailureClass, LogOutcome, Stage
from ruleout.model.diagnosis import StageSpan
from ruleout.reading.diagnose import read_run

C, F = Component, FailureClass
BEGIN = """[2025-03-03 08:00:01] server_args=ServerArgs(model_path='acme/Small-7B', tp_size=2, device='cuda')
[2025-03-03 08:00:03 TP0] Init torch distributed begin.
[2025-03-03 08:00:05 TP0] Load weight begin. avail mem=78.11 GB
"""
SERVES = """[2025-03-03 08:00:25 TP0] Load weight end. type=AcmeForCausalLM, dtype=torch.bfloat16, avail mem=47.33 GB
[2025-03-03 08:00:25 TP0] KV Cache is allocated. #tokens: 298771, K size: 18.24 GB, V size: 18.24 GB
[2025-03-03 08:00:26 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=8.51 GB
[2025-03-03 08:00:38] The server is fired up and ready to roll!
[2025-03-03 08:01:02 TP0] Prefill batch. #new-seq: 4, #new-token: 8192, #cached-token: 12, token usage: 0.03
[2025-03-03 08:01:04 TP0] Decode batch. #running-req: 5, #token: 9121, token usage: 0.03
"""
FAULT = """[2025-03-03 08:44:06 TP1] Scheduler hit an exception: Traceback (most recent call last):
  File "/acme/sglang/srt/managers/scheduler.py", line 2300, in run_scheduler_process
    scheduler.event_loop_overlap()
RuntimeError: CUDA error: an illegal memory access was encountered
"""
TROUBLES = [
    "Ignore import error when loading acme.models.tiny: cannot import name 'TinyConfig' from 'transformers' (/x/a.py)",
    "Ignore import error when loading acme.models.tiny: /x/common_ops.abi3.so: undefined symbol: _ZN3c105acme",
    "OSError: [Errno 28] No space left on device: '/home/me/.cache/acme' (ignored)",
    "node7:11:12 [0] transport/nvls.cc:244 NCCL WARN Cuda failure 802 'system not yet initialized'",
    "WARNING: Failed to import from vllm._C with ImportError('/x/_C.abi3.so: undefined symbol: acme')",
]


def told(folder: Path, text: str) -> Diagnosis:
    path = folder / "server.log"
    path.write_text(text)
    run = read_run([path])
    return diagnosed(run.diagnosis, run.near, run.lines)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_what_the_start_went_on_after_changes_no_suspect(trouble: str, tmp_path: Path) -> None:
    with_it = told(tmp_path, f"{BEGIN}[2025-03-03 08:00:06] {trouble}\n{SERVES}{FAULT}")
    without = told(tmp_path, f"{BEGIN}{SERVES}{FAULT}")
    assert with_it.failure
    assert with_it.failure.class_ is F.ILLEGAL_MEMORY_ACCESS
    assert [(s.component, s.probability, s.rule) for s in with_it.suspects] == [
        (s.component, s.probability, s.rule) for s in without.suspects
    ]


def test_a_start_that_ends_after_it_has_it_for_its_cause(tmp_path: Path) -> None:
    end = "ValueError: Model architectures ['TinyForCausalLM'] are not supported for now.\n"
    found = told(tmp_path, f"{BEGIN}[2025-03-03 08:00:06] {TROUBLES[0]}\n{end}")
    assert found.suspects[0].component is C.TRANSFORMERS_VERSION


RUN = Diagnosis(
    EngineId("sglang"),
    LogOutcome.CRASH,
    Stage.DECODE,
    (StageSpan(Stage.WEIGHT_LOAD, 10, source="a.log"), StageSpan(Stage.READY, 20, source="a.log")),
    DiagnosedFailure(F.OTHER, "s", "it broke", 50, source="a.log"),
)


def test_only_trouble_before_a_later_stage_is_overcome() -> None:
    overcome = Overcome(RUN)
    assert overcome(Evidence("a.log", 12, "WARNING: the cache is slow"))
    assert not overcome(Evidence("a.log", 12, "the attention backend is fa3"))
    assert not overcome(Evidence("a.log", 30, "WARNING: the cache is slow"))  # no stage began after it
    assert not overcome(Evidence("a.log", 5, "WARNING: the cache is slow"))  # nothing says in which stage
    assert not overcome(Evidence("b.log", 12, "WARNING: the cache is slow"))  # lines of another rank


def test_numbers_that_went_wrong_may_have_been_warned_of_at_the_start() -> None:
    assert RUN.failure
    silent = Overcome(replace(RUN, failure=replace(RUN.failure, class_=F.NAN_INF)))
    assert not silent(Evidence("a.log", 12, "WARNING: no scales for the KV cache"))
    assert silent(Evidence("a.log", 12, "Ignore import error when loading acme.tiny: No module named 'acme'"))


def test_no_import_ends_in_want_of_memory() -> None:
    assert RUN.failure
    oom = Overcome(replace(RUN, failure=replace(RUN.failure, class_=F.OOM)))
    assert oom(Evidence("a.log", 49, "Error in inspecting model architecture 'Foo'"))
    assert not oom(Evidence("a.log", 49, "ERROR: the pool is full"))


def test_a_failed_import_in_the_stage_that_ran_out_of_memory_is_no_cause_either(tmp_path: Path) -> None:
    failed = FAULT.replace(
        "CUDA error: an illegal memory access was encountered", "CUDA out of memory. Tried to allocate 9 GiB"
    )
    found = told(tmp_path, f"{BEGIN}[2025-03-03 08:00:06] {TROUBLES[-1]}\n{failed}")
    assert found.failure
    assert found.failure.class_ is F.OOM
    assert C.INSTALL_ABI not in {s.component for s in found.suspects[:2]}
