"""Runs the agent on this machine, as a process that outlives us just long enough to clean up.

What keeps the agent honest is the pipe to its standard input: we hold the only other end, so the kernel itself tells
the agent of our death, whatever kind of death it is. It has its own session: a Ctrl-C is ours to pass on, in words.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import IO, Any

from ruleout.runners.base import Event, ended, merged, parse_event, read_events

AGENT = ("-S", "-E", str(Path(__file__).resolve().parent.parent / "agent" / "agent.py"))
EVENT_SCHEMA = "ruleout.event/1"
PATIENCE_S = 10.0  # beyond the engine's grace, for an agent that was asked to stop
LOOK_UP_S = 0.2  # how often a thread looks whether all is to end
REAP_S = 90.0  # the time limits of reaping add up to less


@functools.cache
def tools() -> list[str]:
    """Where py-spy was installed with ruleout: engines rarely have it in their own environments."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        installed = metadata.files("py-spy") or []
        return [str(Path(file.locate()).resolve().parent) for file in installed if file.name == "py-spy"]
    return [str(Path(sys.executable).parent)]


class LocalRunner:
    """The runner of this machine; `python` (3.9 or later) runs the agent. Can be used from any thread."""

    def __init__(self, python: str = sys.executable) -> None:
        self.python = python
        self._interrupted = threading.Event()

    def interrupt(self) -> None:
        """See `Runner.interrupt`."""
        self._interrupted.set()

    def run(self, trial: Mapping[str, Any], on_event: Callable[[Event], None]) -> list[Event]:
        """See `Runner.run`. Interrupted, or if `on_event` raises, it ends the trial before that goes on upwards."""
        spool = Path(trial["spool"])
        events: list[Event] = []
        agent, said = self._start(spool)
        if agent is not None:
            try:
                self._follow(agent, trial, events, on_event)
            finally:
                said = _take(spool / "agent.err")
        if agent is not None and not ended(events):
            known = {event.get("seq") for event in events}
            for event in self.recover(spool):
                if event.get("seq") not in known:
                    events.append(event)
                    on_event(event)
        if not ended(events):
            detail = f"the agent could not run: {said}: see to {spool}, or give another Python than {self.python}"
            events.append(_append_end(spool, events, detail))
            on_event(events[-1])
        return events

    def _start(self, spool: Path) -> tuple[_Agent | None, str]:
        try:
            spool.mkdir(parents=True, exist_ok=True)
            with (spool / "agent.err").open("wb") as stderr:
                return _Agent([self.python, *AGENT, "run"], stderr), ""
        except OSError as trouble:
            _take(spool / "agent.err")
            return None, str(trouble)

    def _follow(
        self, agent: _Agent, trial: Mapping[str, Any], events: list[Event], on_event: Callable[[Event], None]
    ) -> None:
        """Hears the agent out; whatever comes in between, it and its engine are gone when this returns or raises."""
        with agent:
            try:
                agent.say(json.dumps({**trial, "gather": {**(trial.get("gather") or {}), "tools": tools()}}).encode())
                # Only the main thread is told of a Ctrl-C by the system.
                main = threading.current_thread() is threading.main_thread()
                for event in agent.events(interrupted=None if main else self._interrupted):
                    events.append(event)
                    on_event(event)
            except BaseException:
                grace_s = float((trial.get("stop") or {}).get("grace_s", 10))
                if not agent.stop(grace_s + PATIENCE_S):
                    _undisturbed(lambda: self.recover(Path(trial["spool"])))
                raise

    def recover(self, spool: Path) -> list[Event]:
        """See `Runner.recover`. Takes up to 50 s if an agent is still alive there, and well under 1 s if not."""
        command = [self.python, *AGENT, "reap", str(spool)]
        mirrored: list[Event | None] = []
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            reaper = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                cwd="/",
                start_new_session=True,
                timeout=REAP_S,
                check=False,
            )
            mirrored = [parse_event(line) for line in reaper.stdout.splitlines()]
        return merged(read_events(spool / "events.jsonl"), (event for event in mirrored if event is not None))


class _Agent:
    """The agent's process and the two pipes to it. Leaving the `with` block leaves no zombie and no open file."""

    def __init__(self, command: list[str], stderr: IO[bytes]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, cwd="/", start_new_session=True
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.ended, self.rest = False, b""

    def __enter__(self) -> _Agent:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self.stdin.close()
        self.stdout.close()
        _undisturbed(self._bury)

    def _bury(self) -> None:
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def say(self, line: bytes) -> None:
        """One line on its standard input; if it is dead already, its silence will tell."""
        with contextlib.suppress(OSError):
            self.stdin.write(line + b"\n")
            self.stdin.flush()

    def events(self, seconds: float | None = None, interrupted: threading.Event | None = None) -> Iterator[Event]:
        """What it writes until it closes its output, or until that many seconds are over.

        Raises KeyboardInterrupt once `interrupted` is set.
        """
        until = math.inf if seconds is None else time.monotonic() + seconds
        poll = select.poll()
        poll.register(self.stdout, select.POLLIN)
        while True:
            if interrupted is not None and interrupted.is_set():
                raise KeyboardInterrupt
            left = max(0.0, until - time.monotonic())
            wait = left if interrupted is None else min(left, LOOK_UP_S)
            if not poll.poll(None if wait == math.inf else wait * 1000):
                if wait < left:
                    continue
                return
            piece = os.read(self.stdout.fileno(), 1 << 16)
            if not piece:
                return
            *lines, self.rest = (self.rest + piece).split(b"\n")
            for event in map(parse_event, lines):
                if event is not None:
                    self.ended = self.ended or event["kind"] == "end"
                    yield event

    def stop(self, patience_s: float) -> bool:
        """Has it end the trial, and at once if we are interrupted again; false if it did not say that it has."""
        word, until = b"stop", time.monotonic() + patience_s
        while True:
            try:
                self.say(word)
                for _ in self.events(until - time.monotonic()):
                    pass
                if not self.ended:
                    self.process.kill()
                return self.ended
            except KeyboardInterrupt:
                word = b"kill"


def _undisturbed(work: Callable[[], object]) -> None:
    """Cleaning up is not stopped half way by an impatient Ctrl-C; the work has to be bounded and repeatable."""
    while True:
        try:
            work()
            return
        except KeyboardInterrupt:
            continue


def _take(errors: Path) -> str:
    """The end of what the agent said on stderr; the file is kept only if that is something."""
    try:
        said = errors.read_text(errors="replace").strip()
        if not said:
            errors.unlink()
    except OSError:
        return ""
    return " / ".join(said.splitlines()[-3:])[-600:]


def _append_end(spool: Path, events: list[Event], detail: str) -> Event:
    """The end that no agent could write, kept in the spool like any other."""
    seq = max((event["seq"] for event in events), default=0) + 1
    event = {"schema": EVENT_SCHEMA, "kind": "end", "seq": seq, "mono": time.monotonic(), "wall": time.time()}
    event |= {"reason": "failed", "detail": detail}
    with contextlib.suppress(OSError), (spool / "events.jsonl").open("a") as file:
        file.write("\n" * bool(events) + json.dumps(event) + "\n")
    return event
