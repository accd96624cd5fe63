"""Trials of servers: ready, asked, stopped."""

from __future__ import annotations

import os
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.integration.agent.conftest import Trial

PROMPT = '{"prompt": "héllo"}'
ECHO = {"name": "echo", "method": "POST", "path": "/v1/echo", "body": PROMPT, "headers": {"X-A": "b"}}


def get(path: str, **more: Any) -> dict[str, Any]:
    return {"name": path, "path": path, "timeout_s": 20, **more}


def test_a_server_is_waited_for_asked_in_order_and_stopped(trial: Trial) -> None:
    probes = [{"step": 2, **get("/metrics")}, {"step": 1, **ECHO}]
    events = trial.run(trial.server({"FAKE_READY_AFTER": "0.5"}, probes=probes))
    assert trial.the(events, "ready")["how"] == "http"
    assert trial.the(events, "ready")["seconds"] >= 0.5
    first, second = trial.of_kind(events, "probe")
    assert (first["name"], first["step"], first["status"], first["body"]) == ("echo", 1, 200, PROMPT)
    assert first["error"] is None
    assert first["headers"]["Content-Length"] == str(len(PROMPT.encode()))
    assert 0 <= first["seconds"] < 5
    assert first["started"] <= second["started"] <= second["mono"]
    assert second["body"] == "fake_requests_total 1"
    pages = {e["path"]: e["data"]["body"] for e in trial.of_kind(events, "gathered") if e["what"] == "page"}
    assert pages == {"/health": "fine", "/metrics": "fake_requests_total 1"}
    assert events[-1]["reason"] == "done"
    assert trial.the(events, "started")["argv"][-1] == str(trial.the(events, "started")["port"])
    left = trial.the(events, "left_over")
    assert (left["processes"], left["port_free"], left["shm"]) == ([], True, [])
    assert [entry["signal"] for entry in trial.the(events, "stopped")["signals"]] == ["SIGTERM"]


def test_readiness_may_be_told_by_the_log(trial: Trial) -> None:
    ready = {"path": None, "log": r"listening on \d+$", "timeout_s": 10}
    events = trial.run(trial.server(ready=ready, probes=[get("/metrics")]))
    assert trial.the(events, "ready")["how"] == "log"
    assert trial.the(events, "probe")["status"] == 200


def test_both_signs_of_readiness_are_needed_when_both_are_asked_for(trial: Trial) -> None:
    events = trial.run(trial.server(ready={"path": "/health", "log": "never said", "timeout_s": 1}))
    assert trial.the(events, "not_ready")["reason"] == "timeout"
    events = trial.run(trial.server(ready={"log": "listening"}, spool=str(trial.folder / "again")))
    assert trial.the(events, "ready")["how"] == "http+log"


def test_a_server_that_is_never_ready_is_diagnosed_and_stopped(trial: Trial) -> None:
    events = trial.run(trial.server({"FAKE_READY_AFTER": "600"}, ready={"timeout_s": 0.8}, probes=[ECHO]))
    assert trial.the(events, "not_ready")["reason"] == "timeout"
    assert events[-1]["reason"] == "not_ready"
    assert not trial.of_kind(events, "probe")
    assert {"processes", "page", "stack", "shm"} <= {event["what"] for event in trial.of_kind(events, "gathered")}


def test_a_server_that_accepts_and_never_answers_is_not_ready(trial: Trial) -> None:
    events = trial.run(trial.server(ready={"path": "/never", "timeout_s": 0.8}))
    assert events[-1]["reason"] == "not_ready"


def test_a_server_that_exits_before_it_is_ready_ends_the_trial_at_once(trial: Trial) -> None:
    began = time.monotonic()
    events = trial.run(trial.document(["sh", "-c", "echo broken; exit 5"], mode="serve", port=0))
    assert time.monotonic() - began < 3
    assert trial.the(events, "not_ready")["reason"] == "exit"
    assert trial.the(events, "exit")["code"] == 5
    assert events[-1]["reason"] == "exit"


def test_a_server_that_ends_well_but_unasked_is_an_exit_too(trial: Trial) -> None:
    events = trial.run(trial.document(["sh", "-c", "exit 0"], mode="serve", port=0))
    assert events[-1]["reason"] == "exit"


def test_a_server_that_ignores_being_asked_is_killed_after_its_grace(trial: Trial) -> None:
    events = trial.run(trial.server({"FAKE_IGNORES_TERM": "1"}, probes=[ECHO]))
    asked, killed = trial.the(events, "stopped")["signals"]
    assert (asked["signal"], killed["signal"]) == ("SIGTERM", "SIGKILL")
    assert killed["after_s"] >= 0.5
    assert trial.the(events, "exit")["signal"] == 9
    assert trial.the(events, "left_over")["port_free"] is True


def test_a_launcher_that_leaves_a_daemon_is_followed_and_the_daemon_is_caught(trial: Trial) -> None:
    env = {"FAKE_DAEMON": "1", "FAKE_IGNORES_TERM": "1", "FAKE_READY_AFTER": "0.4"}
    events = trial.run(trial.server(env, probes=[ECHO]))
    assert trial.the(events, "exit")["code"] == 0
    assert trial.the(events, "probe")["status"] == 200
    assert events[-1]["reason"] == "done"
    daemon = trial.the(events, "stopped")["signals"][-1]
    assert daemon["signal"] == "SIGKILL"
    assert daemon["pid"] != trial.the(events, "started")["pid"]
    assert trial.the(events, "left_over")["processes"] == []


def test_a_taken_port_is_refused_and_its_holder_named(trial: Trial) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        events = trial.run(trial.server(port=port))
        assert events[-1]["reason"] == "refused"
        assert f"port {port} is taken by process {os.getpid()} (" in events[-1]["detail"]
        assert sys.executable in events[-1]["detail"]
        assert not trial.of_kind(events, "started")


@pytest.mark.parametrize("path", ["/never", "/drip"])
def test_a_probe_has_a_deadline_for_the_whole_answer_and_the_next_is_still_sent(trial: Trial, path: str) -> None:
    probes = [get(path, timeout_s=0.6), get("/metrics", step=1)]
    events = trial.run(trial.server(probes=probes))
    late, good = trial.of_kind(events, "probe")
    assert late["error"] == "timeout"
    assert 0.5 < late["seconds"] < 1.5
    assert good["status"] == 200
    assert events[-1]["reason"] == "done"


def test_a_server_that_dies_of_a_probe_ends_the_trial_with_its_exit(trial: Trial) -> None:
    probes = [get("/die"), get("/metrics", step=1)]
    events = trial.run(trial.server(probes=probes))
    probe = trial.the(events, "probe")
    assert (probe["status"], probe["error"]) == (None, "reset")
    assert trial.the(events, "exit")["code"] == 7
    assert events[-1]["reason"] == "exit"


def test_the_rest_of_the_step_in_flight_is_told_as_refused(trial: Trial) -> None:
    events = trial.run(trial.server(probes=[get("/die", requests=5), get("/metrics", step=1)]))
    probes = trial.of_kind(events, "probe")
    assert [(probe["step"], probe["request"]) for probe in probes] == [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]
    assert probes[0]["error"] == "reset"
    assert probes[1]["error"] in ("reset", "refused")  # it may have been in the queue of the dying server
    assert [probe["error"] for probe in probes[2:]] == ["refused"] * 3


def test_an_engine_that_answers_an_error_may_still_say_why_it_dies(trial: Trial) -> None:
    events = trial.run(trial.server(probes=[get("/die-later")]))
    assert trial.the(events, "probe")["status"] == 500
    assert "last words" in (trial.spool / "server.log").read_text()
    assert trial.the(events, "exit")["code"] == 8
    assert events[-1]["reason"] == "exit"


def test_a_probe_in_flight_ends_promptly_when_the_engine_exits_but_its_child_holds_the_connection(trial: Trial) -> None:
    source = '''
"""A fake engine that accepts, forks, and exits: its child keeps the connection open and silent."""
import os, socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("up", flush=True)
connection, _ = server.accept()
if os.fork():
    time.sleep(0.3)
    os._exit(9)
time.sleep(600)
'''
    argv = [*trial.script("fake_holder.py", source), "{port}"]
    document = trial.document(
        argv, mode="serve", port=0, ready={"path": None, "log": "up"}, probes=[get("/x")], gather={"paths": []}
    )
    began = time.monotonic()
    events = trial.run(document)
    assert time.monotonic() - began < 8
    assert trial.the(events, "probe")["error"] == "reset"
    assert trial.the(events, "exit")["code"] == 9
    assert events[-1]["reason"] == "exit"


def test_a_huge_answer_is_cut_at_its_limit(trial: Trial) -> None:
    events = trial.run(trial.server(probes=[get("/huge")], limits={"body_bytes": 150_000}))
    probe = trial.the(events, "probe")
    assert (probe["truncated"], len(probe["body"]), probe["error"]) == (True, 150_000, None)


def test_a_body_of_exactly_the_limit_is_whole(trial: Trial) -> None:
    body = "x" * 5000
    events = trial.run(trial.server(probes=[{**ECHO, "body": body}], limits={"body_bytes": 5000}))
    probe = trial.the(events, "probe")
    assert (probe["truncated"], probe["body"]) == (False, body)


def test_an_answer_that_ends_early_is_a_reset_with_what_came(trial: Trial) -> None:
    events = trial.run(trial.server(probes=[get("/short")], stop={"settle_s": 0}))
    probe = trial.the(events, "probe")
    assert (probe["status"], probe["error"], probe["body"]) == (200, "reset", "only this")
    assert "9 of 1000 bytes" in probe["detail"]


def test_a_streamed_answer_is_recorded_whole(trial: Trial) -> None:
    events = trial.run(trial.server(probes=[get("/chunked")]))
    probe = trial.the(events, "probe")
    assert (probe["body"], probe["error"]) == ("data: one\ndata: NaN �\n", None)


def test_what_is_no_http_is_an_error_with_its_text(trial: Trial) -> None:
    events = trial.run(trial.server(probes=[get("/garbage")], stop={"settle_s": 0}))
    probe = trial.the(events, "probe")
    assert (probe["status"], probe["error"]) == (None, "other")
    assert "this is no HTTP" in probe["detail"]


def test_requests_of_a_step_run_at_once_as_many_as_asked(trial: Trial) -> None:
    began = time.monotonic()
    events = trial.run(trial.server(probes=[get("/slow", requests=16, concurrency=8)]))
    probes = trial.of_kind(events, "probe")
    assert sorted(probe["request"] for probe in probes) == list(range(1, 17))
    assert all(probe["body"] == "slow" for probe in probes)
    waves = sorted(probe["started"] for probe in probes)
    assert waves[7] - waves[0] < 0.4
    assert waves[8] - waves[0] > 0.4
    assert time.monotonic() - began < 6


def test_requests_that_differ_take_their_bodies_in_turn(trial: Trial) -> None:
    probe = {**get("/echo", requests=5, method="POST"), "bodies": ["one", "two"]}
    probes = trial.of_kind(trial.run(trial.server(probes=[probe])), "probe")
    assert [p["body"] for p in sorted(probes, key=lambda p: p["request"])] == ["one", "two", "one", "two", "one"]


def test_what_is_optional_is_not_asked_any_more_once_an_answer_has_failed(trial: Trial) -> None:
    probes = [get("/never", timeout_s=0.4), get("/health", step=1, optional=True), get("/metrics", step=2)]
    events = trial.run(trial.server(probes=probes))
    assert [probe["step"] for probe in trial.of_kind(events, "probe")] == [0, 2]
    good = [get("/health"), get("/metrics", step=1, optional=True)]
    assert len(trial.of_kind(trial.run(trial.server(probes=good)), "probe")) == 2


def test_a_line_of_many_megabytes_does_not_hold_up_readiness(trial: Trial) -> None:
    source = '''
"""A fake engine that prints one line of 100 MB before it says that it is ready."""
import sys, time
for _ in range(100):
    sys.stdout.write("x" * 1_000_000)
print("now ready", flush=True)
time.sleep(600)
'''
    document = trial.document(
        trial.script("fake_line.py", source), mode="serve", ready={"path": None, "log": "now ready", "timeout_s": 20}
    )
    events = trial.run(document)
    assert trial.the(events, "ready")["how"] == "log"
    assert events[-1]["reason"] == "done"
