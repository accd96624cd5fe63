"""What was gathered, as files and as facts; and what they say of a trial that failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.spools import JOB, FakeSpool

from ruleout.investigation.evidence import Gathered, gathered
from ruleout.investigation.observing import killed_for_memory, observed
from ruleout.model import Component, Evidence, FailureClass

KILL = "[  557.081344] Memory cgroup out of memory: Killed process 7 (python3) total-vm:71320kB, anon-rss:61124kB"
ALL_REDUCE = ["all_reduce (torch/distributed/distributed_c10d.py:2810)", "forward (model.py:3)"]
FORWARD = ["forward (model.py:9)", "<module> (worker.py:1)"]


@pytest.fixture
def spool(tmp_path: Path) -> FakeSpool:
    return FakeSpool(tmp_path)


def piece(spool: FakeSpool, what: str, data: Any = None, error: str | None = None, **more: Any) -> FakeSpool:
    return spool.add("gathered", what=what, data=data, error=error, **more)


def tree(spool: FakeSpool, *stacks: list[str] | None, state: str = "S", cores: float = 0.0) -> FakeSpool:
    """Processes `rank 0`, `rank 1`, … of which each was told of, with its stack."""
    names = {10 + rank: f"sglang::scheduler_TP{rank}" for rank in range(len(stacks))}
    facts = [{"pid": pid, "comm": "python", "cmdline": name, "state": state, "wchan": "futex_do_wait", "rss_kib": 4096,
              "threads": 1, "stack": "[<0>] futex_do_wait+0x46/0x90\n"} for pid, name in names.items()]  # fmt: skip
    piece(spool, "processes", facts)
    piece(spool, "busy", {"seconds": 1.0, "cores": {str(pid): cores for pid in names}})
    for pid, frames in zip(names, stacks, strict=True):
        if frames is not None:
            threads = [{"thread": pid, "name": "MainThread", "active": False, "gil": False, "frames": frames}]
            piece(spool, "stack", {"threads": threads}, pid=pid)
    return spool


def told(seen: Gathered, class_: FailureClass = FailureClass.HANG) -> list[tuple[str, Component | None]]:
    return [(one.text, one.component) for one in observed(class_, seen, None)]


# -- files ---------------------------------------------------------------------------------------------------------


def test_stacks_are_kept_as_a_text_and_every_thread_knows_its_line(spool: FakeSpool) -> None:
    seen = gathered(tree(spool, ALL_REDUCE, FORWARD).events)
    seen.keep(spool.folder)
    lines = (spool.folder / "evidence" / "stacks.txt").read_text().splitlines()
    for process, frames in zip(seen.processes, (ALL_REDUCE, FORWARD), strict=True):
        (thread,) = process.threads
        assert lines[thread.line - 1].strip() == frames[0]
    table = (spool.folder / "evidence" / "processes.txt").read_text().splitlines()
    assert table[seen.processes[1].line - 1].startswith("11 python S futex_do_wait: 4 MiB, 1 threads, 0.00 cores busy")


def test_a_file_is_bounded_and_what_could_not_be_had_says_why(spool: FakeSpool) -> None:
    piece(spool, "kernel_log", [f"[    1.0] Xid {number}" for number in range(9000)])
    piece(spool, "gpus", error="OSError: no NVIDIA driver here")
    piece(spool, "page", {"status": 200, "body": "a\nb", "seconds": 0.1}, path="/metrics")
    seen = gathered(spool.events)
    assert len(seen.files["evidence/kernel.log"]) == 4000
    assert seen.files["evidence/gpus.txt"] == ("not told: no NVIDIA driver here",)
    assert seen.files["evidence/page_metrics.txt"] == ("GET /metrics: 200 after 0.1 s", "a", "b")
    assert seen.untold["gpus"] == "no NVIDIA driver here"


def test_damaged_or_missing_evidence_is_no_evidence(spool: FakeSpool) -> None:
    for what in ("processes", "stack", "kernel_log", "cgroup", "busy", "gpus", "page", "shm"):
        piece(spool, what, error="OSError: gone")
        piece(spool, what, data="a text where none is expected")
    assert told(gathered(spool.events)) == []


# -- a hang --------------------------------------------------------------------------------------------------------


def test_ranks_that_all_wait_in_a_collective_speak_for_what_carries_it(spool: FakeSpool) -> None:
    first, second = told(gathered(tree(spool, ALL_REDUCE, ALL_REDUCE).events))
    text = "all 2 ranks wait for an all_reduce: all_reduce (torch/distributed/distributed_c10d.py:2810)"
    assert first == (text, Component.ALLREDUCE)
    assert second == ("no process computes: it waits, and is not just slow", None)


def test_the_one_rank_that_does_not_come_is_the_one_to_look_at(spool: FakeSpool) -> None:
    found = told(gathered(tree(spool, ALL_REDUCE, FORWARD, ALL_REDUCE).events))
    assert found[0] == (
        "rank 0, rank 2 wait for an all_reduce: all_reduce (torch/distributed/distributed_c10d.py:2810)",
        None,
    )
    assert found[1] == ("rank 1 waits in forward (model.py:9), while others wait for it", None)


def test_an_observation_leads_to_its_line(spool: FakeSpool) -> None:
    seen = gathered(tree(spool, FORWARD, cores=1.0).events)
    waits, works = observed(FailureClass.HANG, seen, None)
    (at,) = waits.evidence
    assert (at.source, seen.files[at.source][at.line - 1].strip()) == ("evidence/stacks.txt", FORWARD[0])
    assert works.text == "rank 0 keeps 1.0 cores busy: it computes, or spins"


def test_a_stopped_process_and_one_in_the_kernel_are_told_of(spool: FakeSpool, tmp_path: Path) -> None:
    stopped = told(gathered(tree(spool, FORWARD, state="T").events))
    assert stopped[0] == ("rank 0 was stopped (SIGSTOP or a debugger): it did not run at all", None)
    kernel = told(gathered(tree(FakeSpool(tmp_path), None, state="D").events))
    assert kernel[0] == ("rank 0 waited in the kernel (futex_do_wait): a disk or a driver", None)


def test_stacks_that_could_not_be_had_are_told_of_for_a_hang_only(spool: FakeSpool) -> None:
    piece(tree(spool, None), "stack", error="OSError: py-spy was not found", pid=10)
    seen = gathered(spool.events)
    assert ("no Python stack could be had: py-spy was not found", None) in told(seen)
    assert told(seen, FailureClass.OOM) == []


def test_the_thread_that_stands_in_its_own_code_tells_more_than_one_that_waits_for_requests(spool: FakeSpool) -> None:
    listens = ["select (selectors.py:468)", "serve_forever (socketserver.py:233)", "serve (engine.py:80)"]
    seen = gathered(tree(spool, listens).events)
    assert told(seen)[0][0] == "every Python thread waits for work: none of them is at the request"
    answers = {"thread": 12, "name": "Thread-2", "frames": ["generate (engine.py:9)", "do_POST (engine.py:3)"]}
    spool.events[-1]["data"]["threads"].append(answers)
    assert told(gathered(spool.events))[0][0] == "rank 0 waits in generate (engine.py:9)"


def test_what_engines_do_while_they_wait_for_work_is_no_place(spool: FakeSpool) -> None:
    idle = ["select (selectors.py:468)", "_run_once (asyncio/base_events.py:1898)", "<module> (serve.py:1)"]
    assert [text for text, _ in told(gathered(tree(spool, idle).events))] == [
        "every Python thread waits for work: none of them is at the request",
        "no process computes: it waits, and is not just slow",
    ]


# -- memory and devices --------------------------------------------------------------------------------------------


def counters(before: int, after: int) -> dict[str, Any]:
    return {
        "before": {"memory.events": f"oom {before}\noom_kill {before}"},
        "after": {"memory.events": f"oom_kill {after}"},
    }


def killed(spool: FakeSpool) -> Evidence | None:
    return killed_for_memory(gathered(spool.events), spool.events)


def test_the_kernel_s_log_names_whom_it_killed(spool: FakeSpool) -> None:
    spool.add("started", pid=7).add("exit", code=None, signal=9)
    line = killed(piece(spool, "kernel_log", ["[    1.0] nvrm: hello", KILL]))
    assert line == Evidence("evidence/kernel.log", 2, KILL)


def test_a_kill_of_another_s_process_is_no_evidence(spool: FakeSpool) -> None:
    spool.add("started", pid=8).add("exit", code=None, signal=9)
    piece(spool, "cgroup", counters(3, 3))
    assert killed(piece(spool, "kernel_log", [KILL])) is None


def test_a_counter_that_rose_tells_where_the_log_cannot_be_read(spool: FakeSpool) -> None:
    spool.add("started", pid=8).add("exit", code=None, signal=9)
    piece(spool, "cgroup", counters(3, 4))
    line = killed(piece(spool, "kernel_log", error="OSError: not permitted"))
    assert line == Evidence("evidence/memory.txt", 1, "oom_kill rose by 1 in the trial's control group")


@pytest.mark.parametrize(("comm", "is_ours"), [("python3", True), ("bash", False)])
def test_in_a_container_the_kernel_s_name_of_a_worker_that_is_gone_tells(
    spool: FakeSpool, comm: str, is_ours: bool
) -> None:
    spool.add("started", pid=10).add("processes", members=[{"pid": 10, "comm": "vllm"}, {"pid": 11, "comm": comm}])
    piece(tree(spool, FORWARD), "cgroup", counters(0, 1))
    assert (killed(piece(spool, "kernel_log", [KILL])) is not None) is is_ours


def test_a_run_that_was_killed_for_memory_is_of_that_class_whatever_its_log_says(spool: FakeSpool) -> None:
    spool.log("decoding", "RuntimeError: worker died unexpectedly").add("started", pid=7)
    run = piece(spool, "kernel_log", [KILL]).exited(1).read(JOB)
    assert run.failure is not None
    assert run.failure.class_ is FailureClass.HOST_OOM_KILL
    assert run.failure.message == "the kernel's OOM killer ended python3"
    assert run.failure.evidence == (Evidence("evidence/kernel.log", 1, KILL),)
    assert run.failure.consequences == (Evidence("server.log", 2, "RuntimeError: worker died unexpectedly"),)
    (seen,) = run.observed
    assert seen.text == "the kernel's OOM killer ended python3 (process 7), at its control group's limit"
    assert seen.component is Component.MEMORY


def test_devices_and_shared_memory_speak_up(spool: FakeSpool) -> None:
    tree(spool, None)
    piece(spool, "kernel_log", ["[    1.0] NVRM: Xid (PCI:01:00): 79, GPU has fallen off the bus."])
    piece(spool, "shm", {"size": 64 << 20, "free": 0, "files": {}, "mapped": {}})
    holder = {"pid": 99, "bytes": 40 << 30, "told": "process 99 (train.py --api-key sk-abcdef0123456789) of user eve"}
    piece(spool, "gpus", [{"index": 3, "processes": [holder, {"pid": 10, "bytes": 60 << 30, "told": "ours"}]}])
    piece(spool, "page", {"status": 503, "body": "", "seconds": 0.1}, path="/health")
    found = dict(told(gathered(spool.events), FailureClass.OTHER))
    assert list(found) == [
        "the GPU's driver reported an error during the trial: NVRM: Xid (PCI:01:00): 79, GPU has fallen off the bus.",
        "/dev/shm is full: 0 of 64 MiB are free",
        "GPU 3: 40.0 GiB are held by process 99 (train.py --api-key <token-1>) of user eve",
        "its own /health answered 503 while its processes lived",
    ]
    assert found["/dev/shm is full: 0 of 64 MiB are free"] is Component.MEMORY


def test_a_trial_without_evidence_has_nothing_to_say(spool: FakeSpool) -> None:
    assert observed(FailureClass.HANG, gathered(spool.events), None) == ()
