"""Real agents, real processes, fake engines; after each test nothing of its trial may be alive."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.nvml import compile_nvml

from ruleout.runners.base import Event, read_events
from ruleout.runners.local import AGENT, LocalRunner

SERVER = '''
"""A fake serving engine for tests: no model, only HTTP. What it does wrong is in the path, or in its environment."""
import os, signal, socket, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

if os.environ.get("FAKE_IGNORES_TERM"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.environ.get("FAKE_DAEMON"):  # the launcher leaves; the server is a daemon with a session of its own
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
ready_at = time.monotonic() + float(os.environ.get("FAKE_READY_AFTER", "0"))

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def chunk(self, data):
        self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(data), data))
        self.wfile.flush()

    def do_GET(self):
        if self.path == "/health":
            self.answer(b"fine", 200 if time.monotonic() >= ready_at else 503)
        elif self.path == "/metrics":
            self.answer(b"fake_requests_total 1")
        elif self.path == "/never":
            print("asked", flush=True)
            time.sleep(600)
        elif self.path == "/drip":
            self.send_response(200)
            self.end_headers()
            for _ in range(600):
                self.wfile.write(b".")
                self.wfile.flush()
                time.sleep(0.1)
        elif self.path == "/die":
            print("fake engine: dying", flush=True)
            os._exit(7)
        elif self.path == "/die-later":
            self.answer(b"the worker is gone", 500)
            time.sleep(0.3)
            print("fake engine: last words", flush=True)
            os._exit(8)
        elif self.path == "/huge":
            self.send_response(200)
            self.end_headers()
            for _ in range(1000):
                self.wfile.write(b"x" * 100000)
        elif self.path == "/short":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"only this")
            self.close_connection = True
        elif self.path == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.chunk(b"data: one\\n")
            self.chunk(b"data: NaN \\xff\\n")
            self.wfile.write(b"0\\r\\n\\r\\n")
        elif self.path == "/garbage":
            self.connection.sendall(b"\\x00\\x01 this is no HTTP at all\\r\\n\\r\\n")
            self.close_connection = True
        elif self.path == "/slow":
            time.sleep(0.5)
            self.answer(b"slow")
        else:
            self.answer(b"not here", 404)

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers["Content-Length"])))

    def log_message(self, *words):
        pass

class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
print("fake engine: listening on", sys.argv[1], flush=True)
server.serve_forever()
'''


def eventually(holds: Callable[[], Any], seconds: float, what: str) -> Any:
    """Waits for a condition and gives back what it became; fails by name when it does not come in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        value = holds()
        if value:
            return value
        time.sleep(0.02)
    pytest.fail(f"not within {seconds} s: {what}")


class Trial:
    """A trial in a folder of its own, with everything a test needs to run it and to look at what is left."""

    eventually = staticmethod(eventually)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spool = folder / "trials" / "0001"
        self.token = uuid.uuid4().hex
        self.agents: list[subprocess.Popen[bytes]] = []

    def document(self, argv: list[str], **changes: Any) -> dict[str, Any]:
        """A trial document with short times, kept in the spool as the core does before a launch."""
        document = {
            "schema": "ruleout.trial/1",
            "id": 1,
            "token": self.token,
            "spool": str(self.spool),
            "argv": argv,
            "cwd": str(self.folder),
            "mode": "job",
            "stop": {"grace_s": 0.5, "settle_s": 1},
            "limits": {"seconds": 60},
            **changes,
        }
        self.spool.mkdir(parents=True, exist_ok=True)
        (self.spool / "trial.json").write_text(json.dumps(document))
        return document

    def script(self, name: str, source: str) -> list[str]:
        """The command of a fake engine."""
        path = self.folder / name
        path.write_text(source)
        return [sys.executable, "-S", str(path)]

    def server(self, env: Mapping[str, str] | None = None, **changes: Any) -> dict[str, Any]:
        argv = [*self.script("fake_server.py", SERVER), "{port}"]
        served = {"mode": "serve", "port": 0, "ready": {"timeout_s": 20}, "env": {"set": dict(env or {})}}
        return self.document(argv, **{**served, **changes})

    def run(self, document: Mapping[str, Any]) -> list[Event]:
        return LocalRunner().run(document, lambda event: None)

    def launch(self, document: Mapping[str, Any], stdout: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """An agent whose lease the test holds."""
        agent = subprocess.Popen(
            [sys.executable, *AGENT, "run"], stdin=subprocess.PIPE, stdout=stdout, start_new_session=True
        )
        self.agents.append(agent)
        assert agent.stdin is not None
        agent.stdin.write(json.dumps(dict(document)).encode() + b"\n")
        agent.stdin.flush()
        return agent

    def parent(self, document: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        """A real process in between, which runs the trial through LocalRunner and can be killed."""
        source = (
            "import json, sys\n"
            "from ruleout.runners.local import LocalRunner\n"
            "LocalRunner().run(json.load(open(sys.argv[1])), lambda event: None)\n"
        )
        path = self.spool / "trial.json"
        # Whatever started the tests may have had Ctrl-C ignored; a person's shell does not.
        parent = subprocess.Popen(
            [sys.executable, "-c", source, str(path)],
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.agents.append(parent)
        return parent

    def events(self) -> list[Event]:
        return read_events(self.spool / "events.jsonl")

    def wait_for(self, kind: str, seconds: float = 15) -> Event:
        found = eventually(lambda: self.of_kind(self.events(), kind), seconds, f"the event {kind}")
        return found[-1]  # type: ignore[no-any-return]

    def wait_until_asked(self) -> None:
        """A request that is never answered has reached the server."""
        log = self.spool / "server.log"
        eventually(lambda: log.exists() and b"asked" in log.read_bytes(), 15, "a request")

    def alive(self) -> list[psutil.Process]:
        """What lives of the trial, found without the product's help: by its mark, or by the folder in its command."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
                    continue
                marked = process.environ().get("RULEOUT_TRIAL") == self.token
                if marked or any(str(self.folder) in word for word in process.cmdline()[1:]):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def clean_up(self) -> list[str]:
        """Ends what a failing test left, and tells of it."""
        for agent in self.agents:
            for pipe in (agent.stdin, agent.stdout):
                if pipe is not None:
                    pipe.close()
            try:
                agent.wait(20)
            except subprocess.TimeoutExpired:
                agent.kill()
                agent.wait()
        left = self.alive()
        told = [f"{process.pid} {process.name()}" for process in left if process.is_running()]
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)
        return told

    @staticmethod
    def of_kind(events: list[Event], kind: str) -> list[Event]:
        return [event for event in events if event["kind"] == kind]

    @staticmethod
    def the(events: list[Event], kind: str) -> Event:
        """The one event of a kind."""
        (event,) = [event for event in events if event["kind"] == kind]
        return event


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    made = Trial(tmp_path)
    yield made
    left = made.clean_up()
    assert left == [], f"left of the trial: {left}"


@pytest.fixture
def fake_nvml(tmp_path: Path) -> Callable[..., Path]:
    """Compiles a driver's library that tells of a GPU which is not there."""
    return lambda **told: compile_nvml(tmp_path / "nvml", **told)
