"""Trials whose command ends by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ruleout.runners.local import AGENT, LocalRunner

if TYPE_CHECKING:
    from tests.integration.agent.conftest import Trial


def test_a_job_that_ends_well_is_done_and_its_events_come_in_order(trial: Trial) -> None:
    seen: list[Any] = []
    document = trial.document(
        ["sh", "-c", 'echo "out $A ${C-unset}"; echo err >&2'], env={"set": {"A": "b"}, "unset": ["C"]}
    )
    os.environ["C"] = "inherited"
    try:
        events = LocalRunner().run(document, seen.append)
    finally:
        del os.environ["C"]
    assert [event["kind"] for event in events if event["kind"] not in ("processes", "log")] == [
        "agent",
        "tmp",
        "started",
        "exit",
        "stopped",
        "left_over",
        "end",
    ]
    assert events == seen == trial.events()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert all(event["schema"] == "ruleout.event/1" and event["mono"] > 0 and event["wall"] > 0 for event in events)
    assert trial.the(events, "exit")["code"] == 0
    assert (events[-1]["reason"], events[-1]["detail"]) == ("done", "")
    assert (trial.spool / "server.log").read_text() == "out b unset\nerr\n"
    assert trial.the(events, "left_over")["processes"] == []
    assert sorted(path.name for path in trial.spool.iterdir()) == ["events.jsonl", "server.log", "trial.json"]


def test_a_short_job_costs_little_more_than_itself(trial: Trial) -> None:
    times = []
    for number in range(5):
        document = trial.document(["true"], spool=str(trial.folder / f"{number}"))
        began = time.monotonic()
        trial.run(document)
        times.append(time.monotonic() - began)
    assert min(times) < 0.12


@pytest.mark.parametrize(("script", "code", "signal"), [("exit 3", 3, None), ("kill -ABRT $$", None, 6)])
def test_how_a_job_ended_is_recorded_as_it_was(trial: Trial, script: str, code: int | None, signal: int | None) -> None:
    events = trial.run(trial.document(["sh", "-c", script]))
    exited = trial.the(events, "exit")
    assert (exited["code"], exited["signal"]) == (code, signal)
    assert events[-1]["reason"] == "done"


def test_a_job_killed_outright_brings_the_kernel_s_side(trial: Trial) -> None:
    events = trial.run(trial.document(["sh", "-c", "kill -KILL $$"]))
    assert trial.the(events, "exit")["signal"] == 9
    assert {event["what"] for event in trial.of_kind(events, "gathered")} == {"cgroup", "kernel_log", "shm"}


def test_the_engine_inherits_nothing_of_the_agent(trial: Trial) -> None:
    trial.run(trial.document(["sh", "-c", "readlink /proc/$$/fd/* ; ls /proc/$$/fd; ps -o sid= -p $$; echo $$"]))
    lines = (trial.spool / "server.log").read_text().split()
    log = str(trial.spool / "server.log")
    assert lines[:3] == ["/dev/null", log, log]
    assert set(lines[3:-2]) <= {"0", "1", "2", "3"}  # 3: the shell's own way of looking at it
    assert lines[-2] == lines[-1]


def test_children_that_a_job_leaves_behind_are_stopped(trial: Trial) -> None:
    events = trial.run(trial.document(["sh", "-c", "sleep 600 & setsid sleep 600 & exit 0"]))
    assert events[-1]["reason"] == "done"
    stopped = trial.the(events, "stopped")["signals"]
    assert [entry["signal"] for entry in stopped] == ["SIGTERM", "SIGTERM"]


def test_a_stopped_child_is_woken_to_end(trial: Trial) -> None:
    events = trial.run(trial.document(["sh", "-c", "setsid sleep 600 & sleep 0.2; kill -STOP $!; sleep 0.1"]))
    assert [entry["signal"] for entry in trial.the(events, "stopped")["signals"]] == ["SIGTERM", "SIGCONT"]


def test_a_fork_storm_is_outrun(trial: Trial) -> None:
    source = '''
"""A fake engine whose processes replace themselves as fast as they can, and ignore being asked to end."""
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        while True:
            os.setsid()
            time.sleep(0.005)
            if os.fork():
                os._exit(0)
'''
    events = trial.run(trial.document(trial.script("fake_storm.py", source)))
    assert trial.the(events, "left_over")["processes"] == []


@pytest.mark.parametrize(
    ("argv", "changes", "says"),
    [
        (["/nowhere/python"], {}, "/nowhere/python was not found"),
        (["no-such-command-at-all"], {}, "was not found"),
        (["./data"], {}, "is not executable"),
        (["./garbage"], {}, "cannot be started"),
        (["true"], {"cwd": "/nowhere"}, "the working folder /nowhere is not there"),
        (["true\0"], {}, "cannot be started"),
    ],
)
def test_what_cannot_be_started_is_refused_with_a_remedy(
    trial: Trial, argv: list[str], changes: dict[str, Any], says: str
) -> None:
    (trial.folder / "data").write_text("no program")
    (trial.folder / "garbage").write_bytes(b"\x00\x01\x02")
    (trial.folder / "garbage").chmod(0o755)
    events = trial.run(trial.document(argv, **changes))
    assert events[-1]["reason"] == "refused"
    assert says in events[-1]["detail"]
    assert ":" in events[-1]["detail"]
    assert not trial.of_kind(events, "started")


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "ruleout.trial/2"},
        {"argv": []},
        {"argv": "true"},
        {"mode": "both"},
        {"mode": "serve"},
        {"mode": "serve", "port": 0, "ready": {"log": "("}},
        {"mode": "serve", "ready": {"path": None}},
        {"token": None},
        {"stop": 3},
        {"probes": [3]},
        {"limits": {"seconds": "x"}},
        {"limits": {"seconds": None}},
    ],
)
def test_a_malformed_trial_ends_as_failed_with_status_2(trial: Trial, changes: dict[str, Any]) -> None:
    agent = trial.launch({**trial.document(["true"]), **changes}, subprocess.PIPE)
    assert agent.wait(10) == 2
    (event,) = trial.events()
    assert (event["kind"], event["reason"]) == ("end", "failed")
    assert event["detail"]


def test_no_json_at_all_is_answered_too(trial: Trial) -> None:
    answer = subprocess.run([sys.executable, *AGENT, "run"], input=b"\xff{nonsense", capture_output=True, check=False)
    assert answer.returncode == 2
    assert b'"reason": "failed"' in answer.stdout
    assert answer.stderr == b""


def test_time_and_log_have_limits_and_the_detail_says_which(trial: Trial) -> None:
    events = trial.run(trial.document(["sleep", "600"], limits={"seconds": 0.4}))
    assert events[-1]["reason"] == "limit"
    assert "its limit is 0.4 s" in events[-1]["detail"]
    assert {"processes", "cgroup", "kernel_log", "shm", "gpus"} <= {
        event["what"] for event in trial.of_kind(events, "gathered")
    }
    (facts,) = next(e["data"] for e in trial.of_kind(events, "gathered") if e["what"] == "processes")
    assert facts["comm"] == "sleep"
    assert facts["cmdline"] == "sleep 600"
    assert facts["rss_kib"] > 0
    assert facts["threads"] == 1


def test_a_log_above_its_limit_ends_the_trial(trial: Trial) -> None:
    events = trial.run(trial.document(["sh", "-c", "yes"], limits={"log_bytes": 100_000}))
    assert events[-1]["reason"] == "limit"
    assert "its limit is 100000" in events[-1]["detail"]


def test_a_silent_log_is_told_once_each_time(trial: Trial) -> None:
    script = "echo a; sleep 0.9; echo b; sleep 0.9; echo c"
    events = trial.run(trial.document(["sh", "-c", script], limits={"silence_s": 0.4}))
    assert len(trial.of_kind(events, "silence")) == 2
    assert all(0.4 <= event["seconds"] < 0.9 for event in trial.of_kind(events, "silence"))
    assert events[-1]["reason"] == "done"


def test_the_tree_is_written_down_while_it_changes(trial: Trial) -> None:
    events = trial.run(trial.document(["sh", "-c", "sleep 1.2; true"]))
    trees = [[member["comm"] for member in event["members"]] for event in trial.of_kind(events, "processes")]
    assert trees[-1] == ["sh", "sleep"]


def test_shared_memory_that_nobody_holds_any_more_is_named(trial: Trial) -> None:
    lost, held = (Path(f"/dev/shm/{trial.token}_{name}") for name in ("lost", "held"))
    try:
        with held.open("w"):
            pass
        events = trial.run(trial.document(["sh", "-c", f"echo x > {lost}"]))
        assert trial.the(events, "left_over")["shm"] == [str(lost)]
    finally:
        lost.unlink(missing_ok=True)
        held.unlink(missing_ok=True)


def oldest_python() -> str | None:
    """A Python 3.9 that really runs, if this machine has one."""
    candidates = ["python3.9", *map(str, Path.home().glob(".pyenv/versions/3.9*/bin/python"))]
    for candidate in candidates:
        try:
            subprocess.run([candidate, "-c", ""], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return candidate
    return None


def test_the_agent_runs_under_python_3_9(trial: Trial) -> None:
    python = oldest_python()
    if python is None:
        pytest.skip("no Python 3.9 here")
    events = LocalRunner(python).run(trial.server(probes=[{"path": "/slow", "step": 1}]), lambda event: None)
    assert events[0]["python"].startswith("3.9")
    assert trial.the(events, "probe")["body"] == "slow"
    assert events[-1]["reason"] == "done"
