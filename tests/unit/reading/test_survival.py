"""What a server survived is no crash, and what it died of is one, whatever else was printed after it."""

from __future__ import annotations

import io

import pytest

from ruleout.model.diagnosis import SURVIVED, Diagnosis, LogOutcome
from ruleout.reading.diagnose import Stream, read_facts

START = "[2026-03-04 09:10:00] server_args=ServerArgs(model_path='M', tp_size=2)\n"
LOADS = "[2026-03-04 09:10:12 TP0] Load weight begin. avail mem=40.5 GB\n"
READY = "[2026-03-04 09:12:28] The server is fired up and ready to roll!\n"
BATCH = "[2026-03-04 09:13:00 TP0] Decode batch. #running-req: 1, gen throughput (token/s): 80.1, #queue-req: 0\n"
ANSWERED = '[2026-03-04 09:13:09] INFO:     10.0.0.1:5 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
THROUGHPUT = (
    "INFO 01-01 00:00:00 [loggers.py:1] Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 40 tokens/s\n"
)
IMPORT = 'Traceback (most recent call last):\n  File "/x/utils.py", line 5, in <module>\n    import deep_gemm\n'
IMPORT += "ModuleNotFoundError: No module named 'deep_gemm'\n"
ASGI = "[2026-03-04 09:13:01] ERROR:    Exception in ASGI application\n"
DISCONNECT = ASGI + 'Traceback (most recent call last):\n  File "/x/responses.py", line 250, in stream_response\n'
DISCONNECT += "    await send()\nConnectionResetError: [Errno 104] Connection reset by peer\n"
REQUEST = 'Traceback (most recent call last):\n  File "/x/serving_chat.py", line 9, in create\n    check(prompt)\n'
REQUEST += "ValueError: the prompt is longer than the context\n"
DIES = "[2026-03-04 09:13:02 TP1] Scheduler hit an exception: "
QUIT = "[2026-03-04 09:13:03] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n"
DEVICE = 'Traceback (most recent call last):\n  File "/x/mla.py", line 9, in forward_decode\n    run()\n'
DEVICE += "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
DOWN = "[2026-03-04 09:20:00] INFO:     Shutting down\n"


def read(log: str) -> Diagnosis:
    return read_facts([Stream("server.log", io.BytesIO(log.encode()))])


@pytest.mark.parametrize("after", [READY, READY + BATCH, READY + ANSWERED])
@pytest.mark.parametrize("before", [IMPORT + START, START + IMPORT, START + LOADS + IMPORT])
def test_an_import_that_failed_before_a_server_became_ready_was_survived(before: str, after: str) -> None:
    found = read(before + LOADS + after)
    assert (found.outcome, found.failure) == (LogOutcome.HEALTHY, None)
    assert [w.text for w in found.warnings if w.why == SURVIVED] == [IMPORT.splitlines()[-1]]


@pytest.mark.parametrize("alive", [BATCH, ANSWERED, THROUGHPUT])
@pytest.mark.parametrize("error", [DISCONNECT, REQUEST, ASGI + REQUEST])
def test_one_request_that_failed_is_no_crash_of_a_server_that_goes_on(error: str, alive: str) -> None:
    found = read(START + LOADS + READY + BATCH + error + alive * 3)
    assert (found.outcome, found.failure, found.stage) == (LogOutcome.HEALTHY, None, "decode")
    assert len([w for w in found.warnings if w.why == SURVIVED]) == 1


def test_a_stopped_run_survived_what_came_before_its_readiness() -> None:
    found = read(START + IMPORT + LOADS + READY + BATCH + DOWN)
    assert (found.outcome, found.failure) == (LogOutcome.STOPPED, None)


@pytest.mark.parametrize(
    "log",
    [
        START + LOADS + REQUEST,
        START + LOADS + READY + BATCH + DIES + REQUEST + BATCH + QUIT,
        START + LOADS + READY + BATCH + REQUEST + BATCH + QUIT,
        START + LOADS + READY + BATCH + DIES + DEVICE + BATCH,
        START + LOADS + READY + BATCH + DIES + REQUEST + START + LOADS + READY + BATCH,
        START + LOADS + REQUEST + START + LOADS + READY + BATCH,
        START + LOADS + READY + REQUEST + '[2026-03-04 09:13:09] INFO:     1.1.1.1:5 - "GET /health HTTP/1.1" 200 OK\n',
    ],
)
def test_what_a_process_dies_of_stays_the_failure(log: str) -> None:
    found = read(log)
    assert found.failure
    assert found.outcome is LogOutcome.CRASH


def test_the_crash_after_a_survived_exception_is_the_failure() -> None:
    found = read(START + IMPORT + LOADS + READY + BATCH + REQUEST + BATCH + DIES + DEVICE + QUIT)
    assert found.failure
    assert (found.failure.class_, found.outcome) == ("illegal_memory_access", LogOutcome.CRASH)
    assert len([w for w in found.warnings if w.why == SURVIVED]) == 2


def test_a_request_that_fails_as_the_last_thing_of_a_log_is_told_and_is_no_failure_of_the_run() -> None:
    found = read(START + LOADS + READY + ANSWERED + ASGI + REQUEST.replace("ValueError", "starlette.HTTPException"))
    assert found.failure is None or found.outcome is not LogOutcome.HEALTHY


@pytest.mark.parametrize("log", ["Killed\n", "[12345.678] Out of memory: Killed process 4242 (python3) total-vm:8kB\n"])
def test_a_kill_alone_does_not_say_in_which_stage(log: str) -> None:
    found = read(log)
    assert (found.outcome, found.stage) == (LogOutcome.KILLED, "unknown")


def test_python_s_own_dump_gives_the_place_of_the_thread_that_died() -> None:
    dump = (
        'Fatal Python error: Segmentation fault\n\nThread 0x0001 (most recent call first):\n  File "/x/threading.py", '
    )
    dump += (
        'line 3 in wait\n\nCurrent thread 0x0002 (most recent call first):\n  File "/x/fused_moe.py", line 88 in run\n'
    )
    dump += '  File "/x/layer.py", line 8 in forward\n'
    for rest in ("", "./run.sh: line 3: 77 Segmentation fault      (core dumped) python -m x\n"):
        found = read(START + LOADS + dump + rest).failure
        assert found
        assert (found.frames, found.line) == (("layer.py:forward", "fused_moe.py:run"), 3)


def test_an_interrupt_from_the_keyboard_is_its_operator_s_stop_unless_the_run_went_on() -> None:
    trace = 'Traceback (most recent call last):\n  File "/x/launch.py", line 30, in <module>\n    run()\n'
    trace += "KeyboardInterrupt\n"
    found = read(START + LOADS + trace)
    assert (found.outcome, found.failure, found.stage) == (LogOutcome.STOPPED, None, "weight_load")
    assert read(START + LOADS + trace + START + LOADS + READY).outcome is LogOutcome.HEALTHY


@pytest.mark.parametrize("code", ["Failed core proc(s): {'EngineCore_DP0': -9}", "exit code: -9", "exitcode: -9"])
def test_a_worker_that_died_of_signal_9_was_killed(code: str) -> None:
    died = "ERROR 01-01 00:00:00 [multiproc_executor.py:230] Worker proc VllmWorker-2 died unexpectedly\n"
    found = read(START + LOADS + died + f"RuntimeError: Engine core initialization failed. {code}\n")
    assert found.outcome is LogOutcome.KILLED
