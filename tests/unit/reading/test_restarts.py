"""Several launches in one file are read apart, and the one that failed last is told."""

from __future__ import annotations

import io

import pytest

from ruleout.model import FailureClass
from ruleout.model.diagnosis import Diagnosis, LogOutcome
from ruleout.reading import restarts
from ruleout.reading.diagnose import Stream, read_facts
from ruleout.reading.restarts import Launches


def launch(model: str, hour: int, version: str = "0.13.0", extra: str = "") -> str:
    lines = (
        f"(APIServer pid=9) INFO 03-04 {hour:02}:00:00 [api_server.py:1] vLLM API server version {version}",
        f"(APIServer pid=9) INFO 03-04 {hour:02}:00:00 [utils.py:2] non-default args: {{'model': '{model}'{extra}}}",
        f"(Worker_TP0 pid=12) INFO 03-04 {hour:02}:00:30 [gpu_model_runner.py:3] Starting to load model {model}...",
    )
    return "\n".join(lines) + "\n"


def ready(hour: int) -> str:
    return (
        f"(APIServer pid=9) INFO:     Application startup complete.\n(W pid=1) INFO 03-04 {hour:02}:01:00 [a.py:1] x\n"
    )


def oom(hour: int) -> str:
    before = f"(Worker_TP0 pid=12) ERROR 03-04 {hour:02}:00:40 [multiproc_executor.py:5]"
    lines: tuple[str, ...] = (
        "WorkerProc hit an exception.",
        "Traceback (most recent call last):",
        '  File "/x/a.py", line 3, in f',
    )
    lines += ("    f()", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB.")
    return "\n".join(f"{before} {line}" for line in lines) + "\n"


def read(text: str) -> Diagnosis:
    return read_facts([Stream("server.log", io.BytesIO(text.encode()))])


def test_a_crash_between_two_healthy_launches_is_told_with_its_own_settings_and_lines() -> None:
    first = launch("Zeta-7B", 8, "0.6.3", ", 'speculative_model': 'Zeta-1B'") + ready(8)
    found = read(first + launch("Omega-9B", 9) + oom(9) + launch("Omega-9B", 10) + ready(10))
    assert found.failure is not None
    assert (found.outcome, found.failure.class_, found.failure.line) == (LogOutcome.CRASH, FailureClass.OOM, 13)
    assert found.engine.version == "0.13.0"
    assert {s.name: s.requested for s in found.settings}["model"] == "Omega-9B"
    assert "speculative_model" not in {s.name for s in found.settings}
    assert found.reason.endswith("launch 2 of 3 in this log; the last one is healthy")
    assert found.sources[0].lines == 18


def test_of_a_crash_loop_the_last_launch_is_told() -> None:
    found = read("".join(launch(f"Zeta-{n}B", n) + oom(n) for n in range(1, 7)))
    assert found.failure is not None
    assert found.failure.line == 6 * 8
    assert {s.name: s.requested for s in found.settings}["model"] == "Zeta-6B"
    assert found.reason.endswith("launch 6 of 6 in this log")


def test_launches_that_all_went_well_are_healthy() -> None:
    found = read(launch("Zeta-7B", 8) + ready(8) + launch("Zeta-7B", 9) + ready(9))
    assert (found.outcome, found.failure) == (LogOutcome.HEALTHY, None)
    assert "launch 2 of 2" in found.reason


@pytest.mark.parametrize("cut", [1, 40, 200, 10**6])
def test_it_does_not_matter_where_a_chunk_ends(cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ruleout.reading.lines.CHUNK", cut)
    found = read(launch("Zeta-7B", 8) + ready(8) + launch("Omega-9B", 9) + oom(9))
    assert found.failure is not None
    assert (found.failure.line, "launch 2 of 2" in found.reason) == (13, True)


def test_a_typed_command_belongs_to_the_launch_below_it() -> None:
    one, two = "$ vllm serve Zeta-7B --enforce-eager\n", "$ vllm serve Zeta-7B --max-model-len 512\n"
    found = read(one + launch("Zeta-7B", 8) + oom(8) + two + launch("Zeta-7B", 9) + oom(9))
    assert found.command == two[2:-1]
    assert "enforce_eager" not in {s.name for s in found.settings}


def test_processes_of_one_launch_are_one_launch() -> None:
    line = "(ApiServer_%d pid=%d) INFO 03-04 08:00:0%d [api_server.py:1] vLLM API server version 0.13.0\n"
    text = line % (0, 7, 0) + launch("Zeta-7B", 8) + line % (1, 8, 1) + line % (2, 9, 2) + ready(8)
    reader = Launches()
    reader.chunk(text.encode())
    assert len(reader.readers) == 1


def test_a_prompt_that_quotes_a_launch_is_none() -> None:
    said = "INFO 03-04 08:02:00 [logger.py:3] Received request 1: prompt: 'vLLM API server version 0.13.0'\n"
    assert "launch" not in read(launch("Zeta-7B", 8) + ready(8) + said).reason


def test_logs_of_ranks_that_were_put_together_are_one_run_whose_first_failure_is_the_earliest() -> None:
    logs = ""
    for rank in range(3):
        logs += f"[2026-03-04 09:00:00] server_args=ServerArgs(model_path='Zeta', tp_size=3, node_rank={rank})\n"
        logs += f"[2026-03-04 09:01:00 TP{rank}] Load weight begin. avail mem=40.5 GB\n"
        if rank == 1:
            logs += f"[2026-03-04 09:02:00 TP{rank}] Scheduler hit an exception: Traceback (most recent call last):\n"
            logs += '  File "/x/a.py", line 3, in f\n    f()\ntorch.OutOfMemoryError: CUDA out of memory.\n\n'
        else:
            logs += (
                f"[rank{rank}]:[E304 09:12:00.100 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective "
            )
            logs += "operation timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600012 ms\n"
    found = read(logs)
    assert found.failure is not None
    assert (found.failure.class_, found.failure.rank, found.failure.line) == (FailureClass.OOM, 1, 9)
    assert sorted(e.line for e in found.failure.consequences) == [3, 13]


def test_very_many_launches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "MOST", 3)
    found = read("".join(launch("Zeta-7B", n) + oom(n) for n in range(1, 9)))
    assert found.failure is not None
    assert found.outcome is LogOutcome.CRASH
    assert "of 3" in found.reason
