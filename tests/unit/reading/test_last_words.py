"""Lines that no word calls a failure: one where they are the last thing said, none where the run went on."""

from __future__ import annotations

import io

import pytest

from ruleout.model.diagnosis import Diagnosis, LogOutcome
from ruleout.reading.diagnose import Stream, read_facts

WARN = "node9:1:7 [2] misc/socket.cc:9 NCCL WARN socketPollConnect: Connect to 192.0.2.7<50001> returned 113(No route)"
DEVICE = "Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"
ALONE = [
    (WARN, "other", "distributed_init"),
    ("node9:1:7 [2] transport/nvls.cc:9 NCCL WARN Cuda failure 9 'not here'", "other", "distributed_init"),
    ("NET/IB : Got completion from peer 192.0.2.7<50001> with error 12, opcode 0", "other", ""),
    ("[rank1]:[E1129 16:25:30.1 ProcessGroupGloo.cpp:9] Gloo connectFullMesh failed", "other", "distributed_init"),
    ("/x/transport.cpp:9: non-zero status: 7 cannot connect transports", "other", "distributed_init"),
    ("E1129 10:48:27.9 136 context.cpp:9] Failed to register memory 0x7b: Bad address [14]", "other", "kv_cache_alloc"),
    ("KVTransferError(bootstrap_room=7): no chunk came", "other", ""),
    (f"ERROR 11-29 16:25:30 [utils.py:9] {DEVICE}", "other", "install_import"),
    (f"UserWarning: CUDA initialization: {DEVICE} (Triggered at x.cpp:9.)", "other", ""),
    ("[11-29 16:25:30 TP0] Scheduler hit an exception: Traceback (most recent call last):", "other", ""),
    ("[TensorRT-LLM][ERROR] the acme plugin is not there", "other", ""),
    ("[11/29/2025-16:25:30] [TRT] [E] 6: The engine plan file is of another library", "other", "weight_load"),
    ("acme.cu:9: ERROR: CUDA kernel mul has no device code compatible with CUDA arch 520", "no_kernel_image", ""),
    ("llama_context: V cache quantization requires flash_attn", "incompatible_config_assert", "model_config"),
    ("gguf_init_from_file: invalid magic characters 'vers'", "other", "weight_load"),
    ("ggml_backend_cuda_buffer_alloc: allocating 9 MiB on device 1: cudaMalloc failed: out of memory", "oom", ""),
    ("llama.cpp error: 'error loading model hyperparameters'", "other", "weight_load"),
    ("AcmeForX has no vLLM implementation and no other is compatible with vLLM.", "unknown_model_type", ""),
    ("[multiproc_executor.py:492] ValueError: 9 heads are too few", "incompatible_config_assert", ""),
    ('    raise RuntimeError("Failed to find C compiler. Name one.")', "compile_error", "kernel_compile"),
    ("worker 3 ended: RuntimeError('acme broke')", "other", ""),
    ("Cannot access gated repo for url https://hub.example.org/acme", "other", ""),
    (
        "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8999): address already in use",
        "other",
        "ready",
    ),
    ("/usr/bin/ld: cannot find -lacme: No such file or directory", "compile_error", "kernel_compile"),
    (
        "  Value error, Quantization method specified in the model config (acme4) does not match the quantization"
        " method specified in the `quantization` argument (modelopt_fp4). [type=value_error, input_value=1]",
        "quant_format_mismatch",
        "",
    ),
]
STARTS = "INFO 11-29 16:25:30 [api_server.py:9] vLLM API server version 0.99.0\n"
LOADS = "INFO 11-29 16:25:31 [gpu_model_runner.py:9] Starting to load model acme...\n"
READY = "INFO:     Application startup complete.\n"
ERROR = "ERROR 11-29 16:25:32 [acme.py:9] the acme part is not there\n"


def read(text: str) -> Diagnosis:
    return read_facts([Stream("pasted", io.BytesIO(text.encode()))])


@pytest.mark.parametrize(("line", "class_", "stage"), ALONE, ids=[line[:50] for line, _, _ in ALONE])
def test_a_line_that_is_all_there_is_tells_the_failure(line: str, class_: str, stage: str) -> None:
    found = read(line + "\n")
    assert found.failure
    assert (found.outcome, found.failure.class_, found.failure.inferred) == (LogOutcome.CRASH, class_, False)
    assert found.stage == (stage or found.stage)
    assert found.failure.message in line


@pytest.mark.parametrize("line", [ERROR, WARN + "\n", "gguf_init_from_file: invalid magic\n"])
def test_a_run_that_went_on_has_survived_such_a_line(line: str) -> None:
    assert read(STARTS + line + LOADS + READY).outcome is LogOutcome.HEALTHY
    assert read(STARTS + LOADS + READY + line).outcome is LogOutcome.HEALTHY
    got_further = read(STARTS + line + LOADS)
    assert (got_further.outcome, got_further.failure) == (LogOutcome.UNKNOWN, None)


def test_what_was_said_long_before_a_log_ends_is_not_why_it_ends() -> None:
    later = "INFO 11-29 16:25:33 [acme.py:9] still at it\n"
    assert read(STARTS + LOADS + ERROR + later * 20).failure
    assert read(STARTS + LOADS + ERROR + later * 60).failure is None
    found = read(STARTS + LOADS + later * 500 + ERROR + later * 20)
    assert found.failure
    assert (found.failure.line, found.stage) == (503, "weight_load")


def test_an_exception_is_the_failure_and_not_the_line_above_it() -> None:
    found = read(ERROR + "RuntimeError: acme broke\n").failure
    assert found
    assert (found.line, found.message) == (2, "acme broke")


@pytest.mark.parametrize(
    "line",
    [
        "ERROR 11-29 16:25:30 [acme.py:9] no acme kernel; falling back to another",
        "ERROR 11-29 16:25:30 [core.py:9]     return func(*args, **kwargs)",
        "llama_model_loader: - kv  15: general.description str = invalid when failed",
        "WARNING 11-29 16:25:30 [acme.py:9] Cannot tell how many cores there are",
        "AcmeForX has no vLLM implementation, falling back to Transformers.",
        "Failed to initialize an acme kernel",
    ],
)
def test_a_line_of_a_stack_or_of_what_was_done_instead_is_no_failure(line: str) -> None:
    assert read(line + "\n").failure is None


def test_a_process_s_word_that_it_ends_tells_less_than_any_other_line() -> None:
    found = read("ERROR 11-29 16:25:30 [core.py:9] EngineCore failed to start.\n" + ERROR).failure
    assert found
    assert found.line == 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"object":"error","message":"9 are too many","type":"BadRequestError","code":400}', "9 are too many"),
        ('{"error":{"message":"\\"auto\\" needs a parser","type":"invalid_request_error"}}', '"auto" needs a parser'),
    ],
)
def test_a_request_that_was_refused_is_a_failure_and_no_crash(body: str, message: str) -> None:
    found = read(body + "\n")
    assert found.failure
    assert (found.outcome, found.stage, found.failure.message) == (LogOutcome.UNKNOWN, "ready", message)


def test_an_error_of_the_server_in_its_answer_is_a_crash() -> None:
    found = read('{"error":{"code":500,"message":"the acme part broke","type":"server_error"}}\n')
    assert found.failure
    assert (found.outcome, found.failure.message) == (LogOutcome.CRASH, "the acme part broke")


def test_a_port_that_is_taken_ends_a_server_that_had_started() -> None:
    bind = "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8999): address already in use\n"
    found = read(STARTS + LOADS + READY + bind + "INFO:     Waiting for application shutdown.\n")
    assert found.failure
    assert (found.outcome, found.failure.line) == (LogOutcome.CRASH, 4)


def test_a_stack_that_ends_at_its_raise_has_the_exception_that_it_raises() -> None:
    found = read(
        'Traceback (most recent call last):\n  File "/x/a.py", line 9, in f\n    raise ValueError("no acme")\n'
    )
    assert found.failure
    assert (found.failure.exception, found.failure.message) == ("ValueError", "no acme")


def test_a_stack_whose_lines_begin_with_the_logger_s_address_is_one() -> None:
    lines = ("Traceback (most recent call last):", '  File "/x/a.py", line 9, in f', "    g()", "ValueError: 9")
    found = read("".join(f"[core.py:9] {line}\n" for line in lines)).failure
    assert found
    assert (found.exception, found.frames) == ("ValueError", ("a.py:f",))
