"""Which failure came first, and what is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ruleout.model import FailureClass, Stage
from ruleout.reading import LogFailure, read_log

FIXTURES = Path(__file__).parent / "fixtures"
STAGES = {
    Stage.WEIGHT_LOAD: "Load weight begin|^Loading /",
    Stage.READY: "fired up|Application startup complete",
    Stage.PREFILL: "Prefill batch",
    Stage.DECODE: "Decode batch",
}
Reads = Callable[[str], LogFailure | None]


@pytest.fixture
def failure(tmp_path: Path) -> Reads:
    def read(text: str) -> LogFailure | None:
        path = tmp_path / "server.log"
        path.write_text(text)
        return read_log(path, {}).failure

    return read


def test_a_line_logged_before_its_traceback_is_the_failure_and_the_traceback_gives_type_and_frames() -> None:
    reading = read_log(FIXTURES / "transformers-continuous-batching.log", STAGES)
    assert reading.failure
    assert (reading.failure.line, reading.failure.class_) == (5, FailureClass.SHAPE_MISMATCH)
    assert reading.failure.exception == "RuntimeError"
    assert reading.failure.message.startswith("shape mismatch: value tensor")
    assert reading.failure.frames == ("loop.py:_run", "cache.py:update")
    assert [e.line for e in reading.failure.consequences] == [15, 16, 20]
    assert (reading.reached, reading.failure_stage) == (Stage.WEIGHT_LOAD, Stage.WEIGHT_LOAD)


def test_interleaved_tracebacks_are_told_apart_and_the_wrapper_is_a_consequence() -> None:
    found = read_log(FIXTURES / "vllm-worker-dies.log", {}).failure
    assert found
    assert (found.line, found.exception, found.class_) == (11, "FileNotFoundError", FailureClass.MISSING_WEIGHTS)
    assert found.frames == ("multiproc_executor.py:worker_main", "weight_utils.py:check")
    assert found.rank == "Worker pid=30"
    assert [e.line for e in found.consequences] == [12, 13]


def test_an_ordinary_stop_with_dead_engine_and_cancelled_tasks_is_healthy() -> None:
    assert read_log(FIXTURES / "vllm-ordinary-stop.log", {}).failure is None


def test_of_several_ranks_the_first_one_is_the_failure_and_its_stage_is_the_one_before_it() -> None:
    reading = read_log(FIXTURES / "sglang-two-ranks.log", STAGES)
    assert reading.failure
    assert (reading.failure.line, reading.failure.rank) == (11, "TP1")
    assert reading.failure.class_ is FailureClass.SHARED_MEMORY
    assert reading.failure_stage is Stage.PREFILL
    assert [mark.stage for mark in reading.stages] == [Stage.WEIGHT_LOAD, Stage.READY, Stage.PREFILL]


def test_the_device_s_assertion_is_the_message_of_an_asynchronous_failure() -> None:
    reading = read_log(FIXTURES / "sglang-device-assert.log", STAGES)
    assert reading.failure
    assert reading.failure.asynchronous
    assert reading.failure.class_ is FailureClass.DEVICE_SIDE_ASSERT
    assert reading.failure.message == (
        "Assertion `probability tensor contains either `inf`, `nan` or element < 0` failed."
    )
    assert (reading.failure.line, reading.failure.exception) == (4, "torch.AcceleratorError")
    assert reading.failure_stage is Stage.DECODE


def test_the_inner_exception_of_a_group_is_the_failure() -> None:
    found = read_log(FIXTURES / "exception-group.log", {}).failure
    assert found
    assert (found.line, found.exception) == (9, "ValueError")


def test_of_a_chain_the_first_member_that_tells_something_is_the_failure() -> None:
    found = read_log(FIXTURES / "chained.log", {}).failure
    assert found
    assert (found.class_, found.line) == (FailureClass.UNKNOWN_MODEL_TYPE, 4)


def test_progress_bars_colours_nuls_and_rank_prefixes_do_not_hide_a_failure() -> None:
    reading = read_log(FIXTURES / "progress-bar-and-colours.log", {Stage.WEIGHT_LOAD: "^Load weight begin$"})
    assert reading.lines == 6
    assert [(mark.stage, mark.line) for mark in reading.stages] == [(Stage.WEIGHT_LOAD, 1)]
    assert reading.failure
    assert (reading.failure.line, reading.failure.rank) == (6, "rank0")


def test_an_assertion_without_a_text_has_its_source_line_for_a_message(failure: Reads) -> None:
    found = failure(
        "Traceback (most recent call last):\n"
        '  File "/srv/args.py", line 88, in check\n'
        "    assert not self.kv_cache_store_fp8\n"
        "           ^^^^^^^\n"
        "AssertionError\n"
    )
    assert found
    assert found.message == "assert not self.kv_cache_store_fp8"
    excerpt = failure("    assert not self.kv_cache_store_fp8\nAssertionError\n")
    assert excerpt
    assert excerpt.signature == found.signature


@pytest.mark.parametrize(
    ("text", "class_", "exception", "message"),
    [
        (
            "serve: error: argument --kv: invalid choice: 'x'",
            "incompatible_config_assert",
            "",
            "argument --kv: invalid",
        ),
        ("bash: line 1: sglang: command not found", "other", "", "sglang: command not found"),
        ("/usr/bin/python3: No module named sglang", "import_abi", "", "No module named sglang"),
        ("Segmentation fault (core dumped)", "illegal_memory_access", "", "Segmentation fault"),
        ("./run.sh: line 3: 1234 Killed                  python serve.py", "host_oom_kill", "", "Killed"),
        ("Killed", "host_oom_kill", "", "Killed"),
        ("Fatal Python error: Segmentation fault", "illegal_memory_access", "", "Segmentation fault"),
        (
            "terminate called after throwing an instance of 'c10::Error'\n"
            "  what():  CUDA error: unspecified launch failure",
            "kernel_launch_error",
            "c10::Error",
            "CUDA error: unspecified",
        ),
        (
            "thread '<unnamed>' panicked at src/lib.rs:10:5:\ncalled `unwrap()` on a `None`",
            "other",
            "panic",
            "called `un",
        ),
        ("thread 'main' panicked at 'shape mismatch', src/lib.rs:10:5", "shape_mismatch", "panic", "shape mismatch"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried", "oom", "torch.OutOfMemoryError", "CUDA out of memory"),
        (
            "[rank0]:[E304 09:12:41.5 ProcessGroupNCCL.cpp:70] [Rank 0] Watchdog caught collective operation timeout",
            "nccl_timeout_hang",
            "",
            "[Rank 0] Watchdog",
        ),
        ("RuntimeError: probability tensor contains either `inf`, `nan`", "nan_inf", "RuntimeError", "probability"),
        ("Exception: Capture failed: CUDA out of memory.", "oom", "Exception", "Capture failed"),
        ("RuntimeError: no kernel image is available for execution", "no_kernel_image", "RuntimeError", "no kernel"),
        ("src/ggml-own.cpp:12: GGML_ASSERT(rows > 0) failed", "incompatible_config_assert", "", "GGML_ASSERT"),
        ("ImportError: /x/ops.abi3.so: undefined symbol: _Z1", "missing_symbol", "ImportError", "/x/ops"),
    ],
)
def test_a_single_line_can_be_the_failure(failure: Reads, text: str, class_: str, exception: str, message: str) -> None:
    found = failure(f"some line\n{text}\nanother line\n")
    assert found
    assert (found.class_, found.exception) == (class_, exception)
    assert found.message.startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "WARNING 11-29 16:53:40 [utils.py:597] Failed to create a linear. Exception: could not create a primitive",
        "foo.py:3: UserWarning: RuntimeError: CUDA error: nothing really",
        "INFO: errors=0 Error rate 0 %, no error",
        "ErrorHandler installed",
        "(Worker pid=1) WARNING 03-04 09:12:41 [_ops.py:3] Failed to import: ImportError('undefined symbol')",
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    x\nasyncio.exceptions.CancelledError',
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    x\nKeyboardInterrupt',
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    x\nSystemExit: 0',
        'INFO:     127.0.0.1:1 - "GET /v1/models HTTP/1.1" 500 Internal Server Error',
        "INFO:     Shutting down\nKilled",
        "",
    ],
)
def test_what_healthy_logs_print_is_no_failure(failure: Reads, text: str) -> None:
    assert failure(f"start\n{text}\n") is None


def test_a_request_that_failed_gives_way_to_an_engine_that_died(failure: Reads) -> None:
    request = (
        "ERROR:    Exception in ASGI application\nTraceback (most recent call last):\n"
        '  File "/srv/a.py", line 1, in f\n    x\nhub.errors.CacheNotFound: Cache directory not found\n'
    )
    alone = failure(request)
    assert alone
    assert alone.exception == "hub.errors.CacheNotFound"
    both = failure(f"{request}Error in generation loop: shape mismatch: [1] and [2]\n")
    assert both
    assert both.class_ is FailureClass.SHAPE_MISMATCH


def test_the_same_error_with_and_without_its_traceback_has_one_message(failure: Reads) -> None:
    line = "Error in generation loop: Invalid layer type: compressed\n"
    stack = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    x\n'
    stack += "ValueError: Invalid layer type: compressed\n"
    without, with_ = failure(line), failure(line + stack)
    assert without
    assert with_
    assert without.message == with_.message


@pytest.mark.parametrize(
    "log",
    [
        "INFO 01-01 00:00:00 [a.py:1] [Autotuner]: Skipping tactic 14, due to failure while profiling: [ERROR] "
        "Assertion failed: Failed to initialize cutlass TMA WS grouped gemm\n1  0x7f /x/y.so(+0x1) \nError Internal\n",
        "[2026-03-04 09:12:40 TP0] Skipping tactic due to failure while profiling:\n"
        "RuntimeError: CUDA error: invalid argument\n",
        "ERROR 01-01 00:00:00 [serving_chat.py:200] Error in preprocessing prompt inputs\n"
        "ERROR 01-01 00:00:00 [serving_chat.py:200] Traceback (most recent call last):\n"
        'ERROR 01-01 00:00:00 [serving_chat.py:200]   File "/srv/a.py", line 1, in f\n'
        "ERROR 01-01 00:00:00 [serving_chat.py:200] ValueError: the prompt is longer than the model's context\n",
    ],
)
def test_what_an_autotuner_leaves_out_and_a_refused_request_are_no_failures(failure: Reads, log: str) -> None:
    assert failure(f"start\n{log}[2026-03-04 09:12:41 TP0] all is well\n") is None
