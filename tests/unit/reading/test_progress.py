"""What a process dealt with is not what its run failed of, and stays the best answer where nothing else failed."""

from __future__ import annotations

import io

import pytest

from ruleout.model import FailureClass
from ruleout.model.diagnosis import SURVIVED, Diagnosis, LogOutcome
from ruleout.reading.diagnose import Stream, read_facts

BEGINS = "(APIServer pid=9) INFO 03-04 09:00:00 [api_server.py:1] vLLM API server version 0.13.0\n"
ERROR = "(APIServer pid=9) ERROR 03-04 09:00:01 [config.py:1] Error retrieving zetatensors: Repo id must be 'a/b': '/z'"
GOES_ON = "(APIServer pid=9) INFO 03-04 09:00:02 [a.py:1] Using max model len 4096\n"
OTHER = "(Worker_TP0 pid=12) INFO 03-04 09:00:30 [gpu_model_runner.py:3] Starting to load model Zeta...\n"
AT = "(Worker_TP1 pid=13) ERROR 03-04 09:00:40 [multiproc_executor.py:5]"
OOM = (
    f'{AT} WorkerProc hit an exception.\n{AT} Traceback (most recent call last):\n{AT}   File "/x/a.py", line 3, in f\n'
)
OOM += f"{AT}     f()\n{AT} torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB.\n"
KILLED = "/serve.sh: line 7:     9 Killed                  vllm serve Zeta\n"
HANGS = (
    "(EngineCore pid=41) INFO 03-04 09:09:00 [shm.py:4] No available shared memory broadcast block found in 60 seconds"
)
RETRIED = ", retrying %d of 2\n"


def read(text: str) -> Diagnosis:
    return read_facts([Stream("server.log", io.BytesIO(text.encode()))])


@pytest.mark.parametrize(
    ("end", "outcome", "class_"),
    [
        (OOM, LogOutcome.CRASH, FailureClass.OOM),
        (KILLED, LogOutcome.KILLED, FailureClass.HOST_OOM_KILL),
        ((HANGS + ".\n") * 3, LogOutcome.HANG, FailureClass.HANG),
    ],
)
@pytest.mark.parametrize(
    "error",
    [
        ERROR + "\n" + GOES_ON,
        ERROR + RETRIED % 1,
        ERROR + RETRIED % 1 + ERROR + RETRIED % 2,
        "(APIServer pid=9) OSError: /z has no file named zeta.json. Ignored.\n",
        "E0304 09:00:01.1 9 a.py:1] [0/0] No valid triton configs. OutOfMemoryError: out of resource: shared memory\n",
    ],
)
def test_an_error_that_was_dealt_with_is_not_what_the_run_failed_of(
    error: str, end: str, outcome: LogOutcome, class_: FailureClass
) -> None:
    found = read(BEGINS + error + OTHER + end)
    assert found.failure is not None
    assert (found.outcome, found.failure.class_) == (outcome, class_)
    assert found.failure.line > 3
    assert next(w.line for w in found.warnings if w.why == SURVIVED) == 2


def test_it_is_the_failure_where_nothing_else_is() -> None:
    found = read(BEGINS + ERROR + "\n" + GOES_ON + OTHER)
    assert found.failure is not None
    assert found.failure.line == 2


def test_that_other_processes_go_on_for_a_while_proves_nothing() -> None:
    error = "(Worker_TP1 pid=13) ERROR 03-04 09:00:20 [a.py:1] ValueError: zeta heads are not divisible by 3\n"
    found = read(BEGINS + error + GOES_ON + OTHER + KILLED)
    assert found.failure is not None
    assert found.failure.line == 2


def test_an_error_that_a_later_one_quotes_is_the_first_failure() -> None:
    error = "(APIServer pid=9) ERROR 03-04 09:00:20 [a.py:1] ValueError: zeta heads are not divisible by 3\n"
    later = "(APIServer pid=9) RuntimeError: no engine: zeta heads are not divisible by 3\n"
    found = read(BEGINS + error + GOES_ON + later)
    assert found.failure is not None
    assert found.failure.line == 2


def test_an_error_of_the_device_is_never_dealt_with() -> None:
    error = "(APIServer pid=9) ERROR 03-04 09:00:20 [a.py:1] RuntimeError: CUDA error: an illegal memory access\n"
    found = read(BEGINS + error + GOES_ON + KILLED)
    assert found.failure is not None
    assert found.failure.line == 2
