"""What is said of a failure that no line reports, and what is not."""

from __future__ import annotations

import io

import pytest

from ruleout.model.diagnosis import LogOutcome
from ruleout.reading.diagnose import Stream, read_facts

START = "[2026-03-04 09:10:07 TP0] Init torch distributed begin.\n"
START += "[2026-03-04 09:10:12 TP0] Load weight begin. avail mem=40.5 GB\n"
CAPTURE = "[2026-03-04 09:12:15 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=3.00 GB\n"
LEAKED = "/usr/lib/resource_tracker.py:279: UserWarning: resource_tracker: There appear to be 1 leaked semaphore "
LEAKED += "objects to clean up at shutdown\n"
WAITS = "INFO 01-01 00:00:00 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds.\n"
REPEATS = "the answer is the the the the the the the the the the\n$ vllm serve M --dtype half\n"
READY = "[2026-03-04 09:12:28] The server is fired up and ready to roll!\n"


@pytest.mark.parametrize(
    ("log", "class_", "stage", "outcome"),
    [
        ("!!!!!!!!!!!!!!!!!!!!\n", "nan_inf", "decode", "wrong_output"),
        ("<<<<<<<<<<<<<<<<<<<<\n", "wrong_output", "decode", "wrong_output"),
        (REPEATS, "wrong_output", "decode", "wrong_output"),
        ("The output is gibberish with this flag\n", "wrong_output", "decode", "wrong_output"),
        ("gsm8k score: 0.21, was 0.93\n", "accuracy_loss", "decode", "wrong_output"),
        ("RSS of the process keeps growing by the hour\n", "memory_leak", "decode", "unknown"),
        ("it hangs after the first request\n", "hang", "decode", "hang"),
        (START, "none", "weight_load", "unknown"),
        (START + CAPTURE, "oom", "cuda_graph_capture", "crash"),
        (START + CAPTURE + "Registering 0 cuda graph addresses\n", "hang", "cuda_graph_capture", "hang"),
        (START + CAPTURE + LEAKED, "host_oom_kill", "cuda_graph_capture", "killed"),
        (WAITS, "hang", "decode", "hang"),
    ],
)
def test_an_excerpt_without_a_failing_line_tells_its_kind(log: str, class_: str, stage: str, outcome: str) -> None:
    found = read_facts([Stream("pasted", io.BytesIO(log.encode()))])
    assert (found.failure.class_.value if found.failure else "none", found.stage, found.outcome) == (
        class_,
        stage,
        outcome,
    )
    assert found.failure is None or found.failure.inferred


def test_a_long_log_that_stops_in_the_middle_of_work_was_killed_and_one_that_stops_between_works_is_unknown() -> None:
    many = "".join(f"[2026-03-04 09:10:{n % 60:02} TP0] note {n}\n" for n in range(60))
    bar = "Capturing batches (bs=512 avail_mem=3.10 GB):  12%|##     | 3/58 [00:01<00:30]\n"
    killed = read_facts([Stream("x", io.BytesIO((START + many + CAPTURE + bar).encode()))])
    assert killed.failure
    assert (killed.failure.class_, killed.outcome, killed.stage) == ("host_oom_kill", "killed", "cuda_graph_capture")
    assert read_facts([Stream("x", io.BytesIO((START + many).encode()))]).outcome is LogOutcome.UNKNOWN


@pytest.mark.parametrize(
    "log",
    [
        START + READY,
        START + READY + "!!!!!!!!!!!!!!!!!!!!!!!!!!!!\n",
        START + CAPTURE + READY + LEAKED,
        "INFO:     Started server process [1]\nINFO:     Application startup complete.\nINFO:     Shutting down\n",
        START + READY + "[2026-03-04 09:13:00] This might cause accuracy degradation on Blackwell.\n",
    ],
)
def test_a_log_that_came_to_readiness_or_to_its_end_is_given_no_failure(log: str) -> None:
    found = read_facts([Stream("server.log", io.BytesIO(log.encode()))])
    assert found.failure is None
    assert found.outcome in (LogOutcome.HEALTHY, LogOutcome.STOPPED)


@pytest.mark.parametrize(
    "log", ["all is well\n", "Python: 3.12.3\nPyTorch: 2.9.1\nGPU 0: NVIDIA H100\ntriton: 3.5.1\n"]
)
def test_lines_that_are_about_nothing_or_a_report_of_an_environment_tell_of_no_failure(log: str) -> None:
    found = read_facts([Stream("pasted", io.BytesIO(log.encode()))])
    assert (found.failure, found.outcome) == (None, LogOutcome.UNKNOWN)


BATCH = "[2026-03-04 09:13:00 TP0] Decode batch. #running-req: 1, gen throughput (token/s): 80.1, #queue-req: 0\n"
ARGS = "[2026-03-04 09:10:00] server_args=ServerArgs(model_path='M', kv_cache_dtype='fp8_e4m3', tp_size=8)\n"


@pytest.mark.parametrize(
    "log",
    [
        "A model of a ship in a bottle,\nits layers of paint are all gone,\na token of days at full throttle\n",
        BATCH * 3,
        'INFO:     10.0.0.1:5 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n' * 4,
        ARGS,
        ARGS + "[2026-03-04 09:10:07 TP0] Init torch distributed begin.\n",
        ARGS + START + CAPTURE,
        "$ vllm serve M --kv-cache-dtype fp8 --attention-backend FLASHINFER\n",
        "INFO 01-01 00:00:00 [cuda.py:9] Using FLASH_ATTN attention backend\n",
    ],
)
def test_a_short_piece_of_a_healthy_log_or_of_none_is_given_no_failure(log: str) -> None:
    found = read_facts([Stream("pasted", io.BytesIO(log.encode()))])
    assert found.failure is None
    assert found.outcome in (LogOutcome.UNKNOWN, LogOutcome.HEALTHY)


def test_names_of_kernels_that_somebody_picked_are_about_wrong_answers() -> None:
    found = read_facts([Stream("pasted", io.BytesIO(b"$ vllm serve M\nfp8_einsum\nrecipe (1, 1, 128)\n"))])
    assert found.failure
    assert (found.failure.class_, found.failure.inferred) == ("wrong_output", True)
