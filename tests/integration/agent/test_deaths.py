"""Whoever dies, and in whatever order: the engine goes too, and the record ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ruleout.runners.base import Event
from ruleout.runners.local import AGENT, LocalRunner

if TYPE_CHECKING:
    from tests.integration.agent.conftest import Trial

LOAD = {"name": "load", "path": "/never", "timeout_s": 60, "requests": 8, "concurrency": 8}
STUBBORN_DAEMON = {"FAKE_DAEMON": "1", "FAKE_IGNORES_TERM": "1"}

STRANGER = '''
"""A fake engine that ignores SIGTERM and has a child in another session, without any mark in its environment."""
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if len(sys.argv) == 1 and os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-S", __file__, "stranger"], {})
    os._exit(0)
time.sleep(600)
'''


def gone(trial: Trial, seconds: float) -> None:
    trial.eventually(lambda: not trial.alive(), seconds, "everything of the trial is gone")


def agent_of(trial: Trial) -> int:
    return int(trial.wait_for("agent")["pid"])


def test_the_end_of_the_lease_under_load_ends_everything_within_ten_seconds(trial: Trial) -> None:
    agent = trial.launch(trial.server(STUBBORN_DAEMON, probes=[LOAD], lease={"eof_grace_s": 1}, stop={"grace_s": 60}))
    trial.wait_for("ready")
    assert agent.stdin is not None
    agent.stdin.close()
    gone(trial, 10)
    assert agent.wait(5) == 0
    events = trial.events()
    assert events[-1]["reason"] == "lease_lost"
    assert [probe["error"] for probe in trial.of_kind(events, "probe")] == ["other"] * 8
    assert trial.the(events, "left_over")["processes"] == []


def test_a_job_that_ends_within_the_grace_after_the_lease_s_end_is_done(trial: Trial) -> None:
    agent = trial.launch(trial.document(["sleep", "0.7"], lease={"eof_grace_s": 10}))
    trial.wait_for("started")
    assert agent.stdin is not None
    agent.stdin.close()
    assert agent.wait(5) == 0
    assert trial.events()[-1]["reason"] == "done"


def test_a_lease_in_seconds_is_kept_by_any_line_and_lost_by_silence(trial: Trial) -> None:
    agent = trial.launch(trial.document(["sleep", "600"], lease={"seconds": 1.0}))
    assert agent.stdin is not None
    for _ in range(8):
        time.sleep(0.25)
        agent.stdin.write(b"still here\n")
        agent.stdin.flush()
    assert agent.poll() is None
    assert agent.wait(5) == 0
    assert trial.events()[-1]["reason"] == "lease_lost"
    assert "1.0 s" in trial.events()[-1]["detail"]


def test_the_parent_killed_outright_takes_the_engine_along(trial: Trial) -> None:
    parent = trial.parent(trial.server(STUBBORN_DAEMON, probes=[LOAD]))
    trial.wait_for("ready")
    parent.kill()
    gone(trial, 15)
    assert trial.wait_for("end")["reason"] == "lease_lost"


def test_the_agent_killed_outright_is_reaped_by_the_runner(trial: Trial) -> None:
    killed: list[int] = []

    seen: list[Event] = []

    def kill_agent(event: Event) -> None:
        seen.append(event)
        if event["kind"] == "agent":
            killed.append(event["pid"])
        if event["kind"] == "ready":
            os.kill(killed[0], signal.SIGKILL)

    events = LocalRunner().run(trial.server(STUBBORN_DAEMON, probes=[LOAD]), kill_agent)
    assert events[-1]["reason"] == "reaped"
    assert events == seen
    assert trial.the(events, "left_over")["processes"] == []
    assert trial.the(events, "left_over")["port_free"] is True
    assert "SIGKILL" in [entry["signal"] for entry in trial.the(events, "stopped")["signals"]]
    assert trial.events() == events


def test_both_killed_outright_is_reaped_by_the_next_command_once(trial: Trial) -> None:
    parent = trial.parent(trial.document(trial.script("fake_stranger.py", STRANGER)))
    trial.eventually(lambda: len(last_tree(trial)) == 2, 10, "both processes are on record")
    agent = agent_of(trial)
    parent.kill()
    os.kill(agent, signal.SIGKILL)
    trial.eventually(lambda: not Path(f"/proc/{agent}").exists(), 5, "the agent is gone")
    assert len(trial.alive()) == 2
    events = LocalRunner().recover(trial.spool)
    assert events[-1]["reason"] == "reaped"
    assert trial.alive() == []
    assert LocalRunner().recover(trial.spool) == events == trial.events()


def last_tree(trial: Trial) -> list[Any]:
    trees = trial.of_kind(trial.events(), "processes")
    return list(trees[-1]["members"]) if trees else []


def test_a_live_agent_is_left_to_end_its_trial(trial: Trial) -> None:
    trial.launch(trial.document(["sleep", "1"]))
    trial.wait_for("started")
    events = LocalRunner().recover(trial.spool)
    assert events[-1]["reason"] == "done"


def test_a_stopped_agent_is_killed_in_the_end_and_its_tree_with_it(trial: Trial) -> None:
    script = f"import sys; sys.path.insert(0, {str(Path(AGENT[-1]).parent)!r}); import agent\n"
    script += "wait = agent.Remains.wait_for_agent\n"
    script += "agent.Remains.wait_for_agent = lambda self, seconds: wait(self, min(seconds, 0.5))\n"
    script += f"sys.exit(agent.reap({str(trial.spool)!r}))"
    running = trial.launch(trial.document(["sh", "-c", "setsid sleep 600 & sleep 600"]))
    trial.wait_for("started")
    running.send_signal(signal.SIGSTOP)
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)
    assert running.wait(5) == -signal.SIGKILL
    assert trial.alive() == []
    assert trial.events()[-1]["reason"] == "reaped"


def test_a_reused_pid_and_another_boot_s_pids_are_not_touched(trial: Trial) -> None:
    innocent = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        stat = Path(f"/proc/{innocent.pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        for start_time, boot_id in ((int(stat[19]) - 1, boot), (int(stat[19]), "another")):
            trial.document(["sleep", "600"])
            common = {"schema": "ruleout.event/1", "start_time": start_time, "boot_id": boot_id, "pid": innocent.pid}
            member = {"pid": innocent.pid, "start_time": start_time, "sid": innocent.pid, "comm": "sleep"}
            lines = [
                {"kind": "agent", "seq": 1, **common},
                {"kind": "started", "seq": 2, "argv": ["sleep", "600"], "port": None, **common},
                {"kind": "processes", "seq": 3, "members": [member]},
            ]
            (trial.spool / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
            events = LocalRunner().recover(trial.spool)
            assert events[-1]["reason"] == "reaped"
            assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.wait()


def test_a_torn_record_is_read_and_ended_on_a_fresh_line(trial: Trial) -> None:
    events = trial.run(trial.document(["true"]))
    path = trial.spool / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:20])
    again = LocalRunner().recover(trial.spool)
    assert again[:3] == events[:3]
    assert again[-1]["reason"] == "reaped"
    assert path.read_bytes().splitlines()[3] == lines[3][:20]


def test_a_spool_without_any_record_is_ended_too(trial: Trial) -> None:
    trial.document(["true"])
    assert [event["kind"] for event in LocalRunner().recover(trial.spool)] == ["stopped", "left_over", "end"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError, OSError])
def test_an_interrupted_runner_ends_the_trial_before_it_lets_go(trial: Trial, kind: type[BaseException]) -> None:
    def on_event(event: Event) -> None:
        if event["kind"] == "ready":
            raise kind("from the caller")

    with pytest.raises(kind, match="from the caller"):
        LocalRunner().run(trial.server({"FAKE_IGNORES_TERM": "1"}, probes=[LOAD]), on_event)
    assert trial.alive() == []
    assert trial.events()[-1]["reason"] == "interrupted"


def test_ctrl_c_and_an_impatient_second_one(trial: Trial) -> None:
    parent = trial.parent(trial.server({"FAKE_IGNORES_TERM": "1"}, probes=[LOAD], stop={"grace_s": 60}))
    trial.wait_until_asked()
    parent.send_signal(signal.SIGINT)
    trial.wait_for("probe")
    assert parent.poll() is None
    parent.send_signal(signal.SIGINT)
    assert parent.wait(10) != 0
    assert trial.alive() == []
    assert trial.events()[-1]["reason"] == "interrupted"


def test_a_stop_that_follows_the_trial_at_once_is_heard(trial: Trial) -> None:
    document = trial.document(["sleep", "600"], lease={"eof_grace_s": 60})
    words = json.dumps(document).encode() + b"\nstop\n"
    subprocess.run([sys.executable, *AGENT, "run"], input=words, check=True, capture_output=True, timeout=10)
    assert trial.events()[-1]["reason"] == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_agent_asked_by_a_signal_ends_as_interrupted(trial: Trial, number: signal.Signals) -> None:
    agent = trial.launch(trial.document(["sleep", "600"]))
    trial.wait_for("started")
    agent.send_signal(number)
    assert agent.wait(5) == 0
    assert trial.events()[-1]["reason"] == "interrupted"


def test_a_reader_that_is_gone_does_not_matter(trial: Trial) -> None:
    agent = trial.launch(trial.document(["sh", "-c", "sleep 0.5; echo x"]), subprocess.PIPE)
    assert agent.stdout is not None
    agent.stdout.close()
    assert agent.wait(10) == 0
    assert trial.events()[-1]["reason"] == "done"


def test_a_reader_that_is_stopped_holds_up_nothing_and_misses_nothing(trial: Trial) -> None:
    huge = {"name": "huge", "path": "/huge", "requests": 3, "timeout_s": 20}
    agent = trial.launch(trial.server(probes=[huge]), subprocess.PIPE)
    assert trial.wait_for("end", 20)["reason"] == "done"
    assert trial.alive() == []
    assert agent.stdout is not None
    assert [json.loads(line) for line in agent.stdout] == trial.events()


def test_a_full_disk_loses_the_record_there_but_neither_the_engine_nor_the_mirror(trial: Trial) -> None:
    trial.document(["true"])
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", trial.spool], check=False).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        huge = {"name": "huge", "path": "/huge"}
        events = trial.run(trial.server(probes=[huge], limits={"body_bytes": 200_000}))
        assert len(trial.the(events, "probe")["body"]) == 200_000
        assert events[-1]["reason"] == "done"
        assert "events.jsonl" in events[-1]["detail"]
        assert "No space left" in events[-1]["detail"]
        assert trial.the(events, "left_over")["processes"] == []
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert trial.events() == [event for event in events if event["kind"] != "probe"]
    finally:
        subprocess.run(["umount", trial.spool], check=True)


def test_a_record_that_cannot_be_written_at_all_still_comes_through_the_mirror(trial: Trial) -> None:
    document = trial.document(["true"])
    (trial.spool / "events.jsonl").symlink_to("/dev/full")
    events = trial.run(document)
    assert events[-1]["reason"] == "done"
    assert "No space left" in events[-1]["detail"]


def test_a_runner_works_in_threads_and_leaves_no_file_open(trial: Trial) -> None:
    trial.run(trial.document(["true"], spool=str(trial.folder / "warm")))
    before = len(os.listdir("/proc/self/fd"))
    reasons = []

    def one(number: int) -> None:
        document = trial.document(["sleep", "0.1"], spool=str(trial.folder / str(number)))
        reasons.append(LocalRunner().run(document, lambda event: None)[-1]["reason"])

    threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reasons == ["done"] * 6
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_python_that_cannot_run_the_agent_is_told_with_its_words(trial: Trial) -> None:
    fake = trial.folder / "fake_python"
    fake.write_text("#!/bin/sh\n# A fake Python that fails to start.\necho 'SyntaxError: too old' >&2\nexit 1\n")
    fake.chmod(0o755)
    events = LocalRunner(str(fake)).run(trial.document(["true"]), lambda event: None)
    assert events[-1]["reason"] == "failed"
    assert "SyntaxError: too old" in events[-1]["detail"]
    assert (trial.spool / "agent.err").read_text() == "SyntaxError: too old\n"
    assert trial.events() == events


def test_a_python_that_is_not_there_is_told(trial: Trial) -> None:
    events = LocalRunner("/nowhere/python").run(trial.document(["true"]), lambda event: None)
    assert events[-1]["reason"] == "failed"
    assert "/nowhere/python" in events[-1]["detail"]
    assert not (trial.spool / "agent.err").exists()


def test_without_a_subreaper_a_daemon_is_followed_and_caught_by_its_mark(trial: Trial) -> None:
    script = f"import sys; sys.path.insert(0, {str(Path(AGENT[-1]).parent)!r}); import agent\n"
    script += "agent._become_subreaper = lambda: 'not allowed here'\n"
    script += "sys.exit(agent.run())"
    document = trial.server(STUBBORN_DAEMON, probes=[{"path": "/metrics"}], lease={"eof_grace_s": 20})
    subprocess.run([sys.executable, "-c", script], input=json.dumps(document).encode(), check=True, capture_output=True)
    events = trial.events()
    assert events[0]["subreaper"] == "not allowed here"
    assert trial.the(events, "probe")["status"] == 200
    assert events[-1]["reason"] == "done"
    assert trial.the(events, "left_over")["processes"] == []
    assert trial.alive() == []
