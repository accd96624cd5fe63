"""The agent travels alone: what it may be written in, and the parts of it that need no process."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ruleout.agent import agent

SOURCE = Path(agent.__file__).read_text()


def test_its_syntax_is_that_of_python_3_9() -> None:
    ast.parse(SOURCE, feature_version=(3, 9))


def test_it_imports_the_standard_library_only() -> None:
    names: set[str] = set()
    for node in ast.walk(ast.parse(SOURCE)):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module).partition(".")[0])
    assert names <= sys.stdlib_module_names


def test_what_a_short_trial_does_not_need_is_not_imported() -> None:
    lean = "import sys; sys.path.insert(0, sys.argv[1]); import agent; print(*sys.modules)"
    folder = str(Path(agent.__file__).parent)
    loaded = subprocess.run(
        [sys.executable, "-S", "-E", "-c", lean, folder], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"ctypes", "http.client", "traceback", "typing", "ssl", "tempfile", "logging"} & set(loaded)


def test_a_process_may_be_named_anything() -> None:
    fields = " ".join(["S", "7", "8", "9", *("0" for _ in range(15)), "4242", "0"])
    process = agent.Process(3, f"3 (a) b (c)) {fields}".encode())
    assert (process.comm, process.state, process.ppid, process.sid, process.identity) == (
        "a) b (c)",
        "S",
        7,
        9,
        (3, 4242),
    )


def test_a_process_is_read_from_proc() -> None:
    process = agent.read_process(os.getpid())
    assert process is not None
    assert (process.ppid, process.sid) == (os.getppid(), os.getsid(0))
    assert agent.read_process(2**22 + 1) is None


def made(pid: int, ppid: int, state: str = "S") -> agent.Process:
    fields = " ".join([state, str(ppid), "0", "0", *("0" for _ in range(15)), str(pid * 10)])
    return agent.Process(pid, f"{pid} (x) {fields}".encode())


def test_descendants_are_found_through_zombies_which_do_not_count() -> None:
    processes = {p.pid: p for p in (made(1, 0), made(2, 1), made(3, 2, "Z"), made(4, 3), made(5, 1))}
    assert [process.pid for process in agent.descendants(processes, [2])] == [4]
    assert [process.pid for process in agent.descendants(processes, [1])] == [2, 4, 5]


def test_neither_ourselves_nor_our_ancestors_are_ever_the_trial_s() -> None:
    recorded = {}
    for pid in (os.getpid(), os.getppid()):
        process = agent.read_process(pid)
        assert process is not None
        recorded[process.identity] = process.sid
    assert not {os.getpid(), os.getppid()} & {process.pid for process in agent.provable(recorded, None)}


def test_a_signal_meant_for_a_predecessor_is_not_sent() -> None:
    child = subprocess.Popen(["sleep", "60"])
    try:
        now = agent.read_process(child.pid)
        assert now is not None
        before = made(child.pid, 1)
        assert not agent.send(before, 9)
        assert child.poll() is None
        assert agent.send(now, 9)
        assert child.wait(5) == -9
        assert not agent.send(now, 9)
    finally:
        child.kill()
        child.wait()


def minimal(**more: object) -> bytes:
    document = {"schema": "ruleout.trial/1", "token": "t", "spool": "/s", "argv": ["x"], "mode": "job", **more}
    return json.dumps(document).encode()


def test_what_a_trial_leaves_out_has_its_documented_default() -> None:
    trial = agent.read_trial(
        minimal(stop={"grace_s": 1}, probes=[{"path": "/b", "step": 2}, {"path": "/a", "step": 1}])
    )
    assert trial["stop"]["grace_s"] == 1
    assert trial["ready"] == {"path": "/health", "log": None, "timeout_s": 1200}
    assert trial["lease"] == {"eof_grace_s": 3, "seconds": None}
    assert trial["limits"]["body_bytes"] == 1048576
    assert [probe["path"] for probe in trial["probes"]] == ["/a", "/b"]
    assert (trial["probes"][0]["requests"], trial["probes"][0]["method"]) == (1, "GET")
    assert agent.DEFAULTS["stop"]["grace_s"] == 10


@pytest.mark.parametrize("more", [{"spool": "relative"}, {"port": "8000"}, {"port": True}, {"env": {"set": {"A": 1}}}])
def test_what_is_wrong_with_a_trial_is_said(more: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="has to"):
        agent.read_trial(minimal(**more))


def test_a_torn_event_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b'{"kind": "a"}\n[1]\n\xff\n{"kind": "b"}\n{"kind": "c')
    assert [event["kind"] for event in agent.read_events(str(tmp_path / "events.jsonl"))] == ["a", "b"]
    assert agent.read_events(str(tmp_path / "none")) == []


def test_the_ready_pattern_sees_each_line_once_and_across_pieces(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    log = agent.EngineLog(str(path), "^ready: .$")
    with path.open("ab") as engine:
        for text, says in ((b"not ready: x\nrea", False), (b"dy: ", False), (b"\xc3", False), (b"\xa9\n", True)):
            engine.write(text)
            engine.flush()
            assert log.says_ready() is says or says is False
    os.close(log.fd)
