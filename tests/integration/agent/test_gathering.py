"""What is gathered before a trial that fails or hangs is stopped, from real processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.cgroups import limited_memory

from ruleout.runners.base import Event

if TYPE_CHECKING:
    from tests.integration.agent.conftest import Trial

DEADLOCK = '''
"""A fake engine whose worker waits for ever for a lock that it holds itself."""
import multiprocessing, threading

def worker():
    lock = threading.Lock()
    lock.acquire()
    wait_for_itself(lock)

def wait_for_itself(lock):
    print("worker waits", flush=True)
    lock.acquire()

if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=worker)
    process.start()
    process.join()
'''
EATER = "eaten = []\nwhile True:\n    eaten.append(bytearray(b'x' * 1_000_000))\n"


def gathered(events: list[Event], what: str) -> list[Event]:
    return [event for event in events if event["kind"] == "gathered" and event["what"] == what]


def one(events: list[Event], what: str) -> Any:
    """The data of the one piece of evidence of a kind."""
    (event,) = gathered(events, what)
    assert event["error"] is None, event["error"]
    return event["data"]


def test_each_process_of_a_deadlocked_tree_says_where_its_python_stands(trial: Trial) -> None:
    argv = trial.script("fake_deadlock.py", DEADLOCK)
    events = trial.run(trial.document(argv, limits={"seconds": 1.5}))
    assert "worker waits" in (trial.spool / "server.log").read_text()
    stacks = {event["pid"]: event["data"]["threads"][0]["frames"] for event in gathered(events, "stack")}
    leader = trial.the(events, "started")["pid"]
    (worker,) = set(stacks) - {leader}
    assert stacks[worker][0].startswith("wait_for_itself (fake_deadlock.py:")
    assert any(frame.startswith("BaseProcess.join (") for frame in stacks[leader])
    facts = {process["pid"]: process for process in one(events, "processes")}
    assert set(facts) == set(stacks)
    assert "futex" in facts[worker]["wchan"]
    assert all(cores < 0.5 for cores in one(events, "busy")["cores"].values())


def test_a_process_that_computes_is_told_from_one_that_waits(trial: Trial) -> None:
    events = trial.run(trial.document([*trial.script("fake_busy.py", "while True: pass")], limits={"seconds": 0.5}))
    assert one(events, "busy")["cores"][str(trial.the(events, "started")["pid"])] > 0.02


def test_a_stopped_process_is_looked_into_without_being_paused(trial: Trial) -> None:
    source = "import os, signal\ndef halt():\n    os.kill(os.getpid(), signal.SIGSTOP)\nhalt()\n"
    events = trial.run(trial.document(trial.script("fake_stopped.py", source), limits={"seconds": 1}))
    (stack,) = gathered(events, "stack")
    assert stack["data"]["threads"][0]["frames"][0] == "halt (fake_stopped.py:3)", stack["error"]
    (process,) = one(events, "processes")
    assert process["state"] == "T"


def test_a_hang_is_looked_at_while_its_client_still_waits(trial: Trial) -> None:
    """A server that its client has left may go on, and then nothing of the hang is seen any more."""
    probe = {"name": "never", "path": "/never", "timeout_s": 1.0}
    events = trial.run(trial.server(probes=[probe, {"name": "metrics", "path": "/metrics", "timeout_s": 20}]))
    kinds = [event["kind"] for event in events if event["kind"] in ("gathered", "probe")]
    assert kinds.index("gathered") < kinds.index("probe")
    threads = gathered(events, "stack")[0]["data"]["threads"]
    assert any("do_GET (fake_server.py:" in thread["frames"][0] for thread in threads if thread["frames"])
    hung, answered = trial.of_kind(events, "probe")
    assert (hung["error"], answered["status"]) == ("timeout", 200)
    assert len(gathered(events, "stack")) == 1
    assert {event["path"] for event in gathered(events, "page")} == {"/health", "/metrics"}


def test_a_server_that_answers_with_an_error_is_looked_at_too(trial: Trial) -> None:
    probes = [{"name": "later", "path": "/die-later", "timeout_s": 20}]
    events = trial.run(trial.server(probes=probes, stop={"grace_s": 0.5, "settle_s": 0}))
    assert gathered(events, "stack")
    assert one(events, "kernel_log") is not None


def test_a_trial_that_goes_well_is_not_looked_into(trial: Trial) -> None:
    events = trial.run(trial.server(probes=[{"name": "metrics", "path": "/metrics", "timeout_s": 20}]))
    assert {event["what"] for event in events if event["kind"] == "gathered"} == {"processes", "page"}


def test_the_kernel_s_oom_killer_is_seen_in_its_log_and_by_the_group_s_counter(trial: Trial) -> None:
    with limited_memory("100M") as group:
        trial.document([*trial.script("fake_eater.py", EATER)])
        source = (
            "import json, os, sys\n"
            "open(sys.argv[2] + '/cgroup.procs', 'w').write(str(os.getpid()))\n"
            "from ruleout.runners.local import LocalRunner\n"
            "LocalRunner().run(json.load(open(sys.argv[1])), lambda event: None)\n"
        )
        subprocess.run([sys.executable, "-c", source, str(trial.spool / "trial.json"), str(group)], check=True)
    events = trial.events()
    pid = trial.the(events, "started")["pid"]
    assert trial.the(events, "exit")["signal"] == signal.SIGKILL
    assert any(f"Killed process {pid} (" in line for line in one(events, "kernel_log"))
    told = one(events, "cgroup")
    count = {when: told[when].get("memory.oom_control") or told[when]["memory.events"] for when in told}
    assert "oom_kill 0" in count["before"]
    assert "oom_kill 1" in count["after"]


def test_what_the_kernel_said_before_the_launch_is_not_evidence(trial: Trial) -> None:
    try:
        with open("/dev/kmsg", "w") as log:
            log.write("ruleout test: Out of memory: Killed process 1 (before)\n")
    except OSError as problem:
        pytest.skip(f"nothing can be written to the kernel's log here: {problem}")
    script = "echo 'ruleout test: Out of memory: Killed process 2 (since)' > /dev/kmsg; exit 3"
    (line,) = one(trial.run(trial.document(["sh", "-c", script])), "kernel_log")
    assert line.endswith("Killed process 2 (since)")


def test_shared_memory_tells_its_size_and_who_has_mapped_it(trial: Trial) -> None:
    source = (
        "import mmap, os, time\n"
        f"path = '/dev/shm/{trial.token}'\n"
        "with open(path, 'w+b') as file:\n"
        "    file.truncate(1 << 20)\n"
        "    held = mmap.mmap(file.fileno(), 1 << 20)\n"
        "os.unlink(path)\n"
        "time.sleep(600)\n"
    )
    events = trial.run(trial.document(trial.script("fake_shm.py", source), limits={"seconds": 0.7}))
    shm = one(events, "shm")
    assert 0 < shm["free"] <= shm["size"]
    assert shm["mapped"] == {str(trial.the(events, "started")["pid"]): 1 << 20}


def hung(trial: Trial, beside: dict[str, str] | None = None) -> list[Event]:
    """A Python that hangs, with no helpers but those beside it; ruleout's own are kept out."""
    programs = trial.folder / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(Path(sys.executable).resolve())
    for name, does in (beside or {}).items():
        (programs / name).write_text(f"#!/bin/sh\n# A fake helper.\n{does}\n")
        (programs / name).chmod(0o755)
    argv = [str(programs / "python3"), "-S", "-c", "import time; time.sleep(600)"]
    env = {"set": {"PATH": f"{programs}:/usr/bin:/bin"}}
    trial.launch(trial.document(argv, env=env, limits={"seconds": 0.3}))
    trial.wait_for("end", 40)
    assert trial.the(trial.events(), "left_over")["processes"] == []
    return trial.events()


def test_stacks_that_cannot_be_had_say_why_and_a_helper_that_hangs_is_given_up(trial: Trial) -> None:
    events = hung(trial, {"py-spy": "echo 'not today' >&2; exit 1", "nvidia-smi": "sleep 600 & sleep 600"})
    (stack,) = gathered(events, "stack")
    assert "not today" in stack["error"]
    assert "did not answer within 5.0 s" in gathered(events, "gpus")[-1]["error"]


def test_without_py_spy_the_processes_are_told_of_all_the_same(trial: Trial) -> None:
    events = hung(trial)
    (stack,) = gathered(events, "stack")
    assert "py-spy was not found" in stack["error"]
    (process,) = one(events, "processes")
    assert process["wchan"]
    assert "no NVIDIA driver here" in gathered(events, "gpus")[0]["error"]


def test_a_fake_nvml_stands_for_a_driver_and_tells_gpus_and_who_computes_on_them(trial: Trial, fake_nvml: Any) -> None:
    folder = fake_nvml(memory_gib=40, pid=os.getpid())
    env = {"set": {"LD_LIBRARY_PATH": str(folder)}}
    events = trial.run(trial.document(["sleep", "600"], env=env, limits={"seconds": 0.4}))
    (gpu,) = one(events, "gpus")
    assert (gpu["index"], gpu["name"], gpu["uuid"]) == (0, "Fake GPU", "GPU-fake-0")
    assert gpu["bytes_total"] == 80 << 30
    assert (gpu["temperature_c"], gpu["utilization_percent"]) == (41, 97)
    (process,) = gpu["processes"]
    assert (process["pid"], process["bytes"]) == (os.getpid(), 40 << 30)
    assert f"process {os.getpid()} (" in process["told"]
    assert " of user " in process["told"]
    json.dumps(gpu)


def test_a_gpu_that_somebody_else_computes_on_is_refused_and_its_holder_named(trial: Trial, fake_nvml: Any) -> None:
    env = {"set": {"LD_LIBRARY_PATH": str(fake_nvml(memory_gib=40, pid=1))}}
    events = trial.run(trial.document(["true"], env=env, others={"gpus": 1}))
    assert events[-1]["reason"] == "refused"
    assert events[-1]["detail"].startswith("GPU 0: 40.0 GiB is held by process 1 (")
    assert not trial.of_kind(events, "started")


@pytest.mark.parametrize(
    ("held", "asks", "visible"), [(40, 0, "0"), (40, 1, ""), (0, 1, "0")], ids=["uses none", "sees none", "all free"]
)
def test_a_gpu_that_is_not_needed_or_free_is_no_hindrance(
    trial: Trial, fake_nvml: Any, held: int, asks: int, visible: str
) -> None:
    env = {"set": {"LD_LIBRARY_PATH": str(fake_nvml(memory_gib=held, pid=1)), "CUDA_VISIBLE_DEVICES": visible}}
    events = trial.run(trial.document(["true"], env=env, others={"gpus": asks}))
    assert trial.the(events, "exit")["code"] == 0


def test_the_memory_of_our_own_other_trials_is_no_hindrance(trial: Trial, fake_nvml: Any) -> None:
    with subprocess.Popen(["sleep", "600"]) as ours:
        try:
            env = {"set": {"LD_LIBRARY_PATH": str(fake_nvml(memory_gib=40, pid=ours.pid))}}
            events = trial.run(trial.document(["true"], env=env, others={"gpus": 1}))
        finally:
            ours.kill()
    assert trial.the(events, "exit")["code"] == 0


def test_a_taken_port_is_waited_for_as_long_as_the_trial_says(trial: Trial) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        agent = trial.launch(trial.server(port=port, others={"wait_s": 30}, probes=[]))
        waiting = trial.wait_for("waiting")
        assert f"port {port} is taken by process {os.getpid()} (" in waiting["detail"]
    trial.wait_for("end")
    assert trial.events()[-1]["reason"] == "done"
    assert len(trial.of_kind(trial.events(), "waiting")) == 1
    agent.wait(10)


def test_what_is_not_free_in_time_is_refused_after_all(trial: Trial) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        began = time.monotonic()
        events = trial.run(trial.server(port=holder.getsockname()[1], others={"wait_s": 0.7}))
    assert 0.7 <= time.monotonic() - began < 5
    assert [events[-1]["kind"], events[-1]["reason"]] == ["end", "refused"]
    assert events[-1]["detail"].startswith("after 0.7 s, port ")
