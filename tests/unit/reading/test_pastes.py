"""A log says the same, however it was copied."""

from __future__ import annotations

import io
import json

import pytest

from ruleout.model import FailureClass
from ruleout.model.diagnosis import Diagnosis, LogOutcome
from ruleout.reading.diagnose import Stream, read_facts
from ruleout.reading.pastes import layers

CORE = "(EngineCore_DP0 pid=41) ERROR 03-04 09:12:31 [core.py:7]"
LOG = f"""\
(APIServer pid=9) INFO 03-04 09:10:00 [api_server.py:1] vLLM API server version 0.13.0
(APIServer pid=9) INFO 03-04 09:10:00 [utils.py:2] non-default args: {{'model': 'Zeta-7B', 'max_model_len': 4096}}
(Worker_TP1 pid=12) INFO 03-04 09:10:30 [gpu_model_runner.py:3] Starting to load model Zeta-7B...
(Worker_TP1 pid=12) INFO 03-04 09:12:30 [kv_cache_utils.py:4] GPU KV cache size: 4,096 tokens
(APIServer pid=9) INFO:     Application startup complete.
(APIServer pid=9) INFO:     10.0.0.9:1 - "POST /v1/completions HTTP/1.1" 200 OK
{CORE} Traceback (most recent call last):
{CORE}   File "/x/vllm/v1/worker/gpu_model_runner.py", line 30, in sample_tokens
{CORE}     self.draft(tokens)
{CORE} torch.AcceleratorError: CUDA error: an illegal memory access was encountered
(APIServer pid=9) INFO:     Shutting down"""
LINES = LOG.split("\n")
HEALTHY = "\n".join(LINES[:6])


def read(text: str) -> Diagnosis:
    return read_facts([Stream("server.log", io.BytesIO(text.encode()))])


def put(before: str, text: str = LOG) -> str:
    return "\n".join(before + line for line in text.split("\n")) + "\n"


def counted(form: str, text: str = LOG) -> str:
    return "\n".join(form % number + line for number, line in enumerate(text.split("\n"), 1)) + "\n"


COPIES = {
    "one space": put(" "),
    "four spaces": put("    "),
    "a tab": put("\t"),
    "a quoted block": put("> "),
    "a comment": put("# "),
    "carriage returns": "\r".join(LINES) + "\r",
    "cat -n": counted("%6d\t"),
    "nl, two spaces": counted("%5d  "),
    "grep -n": counted("%d:"),
    "grep -Hn": counted("logs/zeta-0.log:%d:"),
    "grep -H": put("zeta.log:"),
    "indented grep -n": put("    ", counted("%d:")),
    "srun -l": put("0: "),
    "mpirun --tag-output": put("[1,0]<stderr>:"),
    "a pod without brackets": put("pod/zeta-0/serve "),
    "colours without their escape": put("[36m(RayWorkerWrapper pid=4111)[0m "),
    "a worker's rank and pid": put("(ZetaWorker rank=3 pid=99, ip=10.0.0.7) "),
    "Python's logging": put("2026-03-04 09:10:00,123 - INFO - ").replace("INFO - (EngineCore", "ERROR - (EngineCore"),
    "JSON": "\n".join(json.dumps({"ts": "2026-03-04T09:10:00Z", "level": "info", "msg": line}) for line in LINES),
    "prose around it": "This is what I see:\n\n" + put("    ") + "\nDoes anybody know why?\n",
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_tells_the_failure_of_its_log(name: str) -> None:
    found, line = read(COPIES[name]), 10 + 2 * (name == "prose around it")
    assert found.failure is not None
    assert (found.outcome, found.failure.class_) == (LogOutcome.CRASH, FailureClass.ILLEGAL_MEMORY_ACCESS)
    assert (found.failure.line, found.failure.exception) == (line, "torch.AcceleratorError")
    assert found.failure.frames == ("gpu_model_runner.py:sample_tokens",)
    assert (found.engine.version, found.stage) == ("0.13.0", "decode")


@pytest.mark.parametrize("before", ["", "  ", "\t", "> ", "0: ", "zeta.log:"])
def test_a_copy_of_a_healthy_log_is_healthy(before: str) -> None:
    found = read(put(before, HEALTHY))
    assert (found.outcome, found.failure) == (LogOutcome.HEALTHY, None)


def test_labels_of_tasks_become_ranks_so_that_their_stacks_do_not_mix() -> None:
    stack = LOG.replace(CORE + " ", "").split("\n")[6:10]
    mixed = "\n".join(f"{task}: {line}" for line in stack for task in (4, 1)) + "\n"
    failure = read(mixed).failure
    assert failure is not None
    assert (failure.rank, failure.exception, failure.line) == (4, "torch.AcceleratorError", 7)


@pytest.mark.parametrize(
    "lines",
    [
        LINES,
        ["10:00:01 a: b", "10:00:02 a: c", "10:00:03 a: d"],
        ["2026-03-04 09:10:00 x", "2026-03-04 09:10:01 y", "2026-03-04 09:10:02 z"],
        ["1772615400.1 x", "1772615401.1 y", "1772615402.1 z"],
        ['  File "/x/a.py", line 1, in f', "    g()", '  File "/x/a.py", line 2, in g', "    h()"],
        ["Traceback (most recent call last):", '  File "a.py", line 1, in f', "    g()", "ValueError: x"],
        ["0.00.302.419 I srv a", "0.00.303.419 I srv b", "0.01.302.419 I srv c"],
        ["[1] a", "[2] b", "[3] c"],
    ],
)
def test_what_a_log_prints_itself_is_left_alone(lines: list[str]) -> None:
    assert layers("\n".join(lines).encode()) == []


def test_a_progress_bar_alone_is_one_line() -> None:
    assert read("\rloading 1%\rloading 50%\rloading 100%").sources[0].lines == 1


def test_that_an_engine_failed_to_start_is_a_failure_where_nothing_else_is_left() -> None:
    found = read("ERROR 03-04 09:12:31 [core.py:7] EngineCore failed to start.\n")
    assert found.failure is not None
    assert found.outcome is LogOutcome.CRASH
