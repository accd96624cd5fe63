"""A real server, started directly and without an agent: what it answered, what it logged, and nothing left of it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

SHARED_MEMORY = Path("/dev/shm")
GRACE = 20.0


def complete(model: str, prompt: str = "def main():", tokens: int = 16) -> str:
    """The body of a greedy chat completion."""
    messages = [{"role": "user", "content": prompt}]
    return json.dumps({"model": model, "messages": messages, "max_tokens": tokens, "temperature": 0})


def mapped(segment: Path) -> bool:
    """Whether a living process has it in its memory: then it is somebody else's."""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            if str(segment) in maps.read_text(errors="replace"):
                return True
    return False


class Server:
    """A server of its own session, from its start to the end of every process of it. `{port}` in `argv` is a free port.

    Attributes:
        ready: whether it answered the path that says so before it ended and in time.
        status: of the process, once it has ended; negative for a signal.
    """

    def __init__(
        self,
        argv: Sequence[str],
        log: Path,
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        ready: str = "/health",
        seconds: float = 400.0,
    ) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.log_file, self.ready = log, False
        self.status: int | None = None
        self._shared = set(SHARED_MEMORY.iterdir())
        self._temporary = tempfile.mkdtemp(prefix="lab-")  # short: sockets are put into it
        with log.open("wb") as out:
            self._process = psutil.Popen(
                [word.replace("{port}", str(self.port)) for word in argv],
                cwd=cwd,
                env={**os.environ, "HF_HUB_OFFLINE": "1", "TMPDIR": self._temporary, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_until_ready(ready, time.monotonic() + seconds)
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def log(self) -> str:
        """What it has printed so far."""
        return self.log_file.read_text(errors="replace")

    def ask(self, path: str, body: str | None = None, seconds: float = 120.0) -> tuple[int, str]:
        """The status and the body of the answer; status 0 when there is none."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        data = None if body is None else body.encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def chat(self, body: str) -> tuple[int, Any]:
        """The status and the first choice of a chat completion; the raw body when it is none."""
        status, text = self.ask("/v1/chat/completions", body)
        try:
            document = json.loads(text)
            return status, document["choices"][0]
        except (ValueError, KeyError, TypeError):
            return status, text

    def stop(self) -> None:
        """Asks it to end, then ends all that it had started, and clears away what it leaves in memory and on disk."""
        tree = self._tree()
        if self._process.poll() is None:
            self._process.terminate()
        _, left = psutil.wait_procs(tree, GRACE)
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, GRACE)
        self.status = self._process.wait(GRACE)
        for segment in set(SHARED_MEMORY.iterdir()) - self._shared:
            if segment.name.startswith(("psm_", "sglang_", "sem.mp-")) and not mapped(segment):
                segment.unlink(missing_ok=True)
        shutil.rmtree(self._temporary, ignore_errors=True)

    def _tree(self) -> list[psutil.Process]:
        """All of its session, and its children in sessions of their own; also when it has ended before them."""
        found = set[psutil.Process]()
        with contextlib.suppress(psutil.NoSuchProcess):
            found |= set(self._process.children(recursive=True))
        for process in psutil.process_iter():
            with contextlib.suppress(OSError):
                if process.pid != self._process.pid == os.getsid(process.pid):
                    found.add(process)
        return [self._process, *found]

    def _wait_until_ready(self, path: str, end: float) -> None:
        while time.monotonic() < end:
            if (status := self._process.poll()) is not None:
                self.status = status
                return
            if self.ask(path, seconds=2.0)[0] == 200:
                self.ready = True
                return
            time.sleep(0.2)
