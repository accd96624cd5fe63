"""Runs ONE trial on the machine that has the hardware, and leaves nothing of it behind, whoever dies first.

The insight is in who owns whom. The agent is a session of its own, so no terminal or dying parent takes it along; it is
the "subreaper" of everything below it, so a daemon that forks twice and changes its session becomes the agent's child
instead of getting away; and it holds a lease, its standard input: when that ends, the parent is gone and the trial has
to end too. "Nothing is left" is then a fact that the kernel states (ECHILD: no children), not a hope about names.

    PYTHON -S -E agent.py run          one line of JSON on stdin (ruleout.trial/1); stdin stays open as the lease
    PYTHON -S -E agent.py reap SPOOL   for when the agent itself was killed: ends what is provably left of its trial
    PYTHON -S -E agent.py gpus         one JSON list: the NVIDIA GPUs here, and who computes on them

On stdin, any line renews the lease, "stop" ends the trial, "kill" ends it without grace. Events (ruleout.event/1) go to
SPOOL/events.jsonl and are mirrored on stdout. The agent records raw answers and judges nothing. Standard library only,
Python 3.9 or later, Linux. Imports that a trial of 50 ms does not need are made where they are used.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from typing import Any

    Json = dict[str, Any]
    Script = Generator[None, None, None]
    Probing = Generator[None, None, bool]

TRIAL_SCHEMA, EVENT_SCHEMA = "ruleout.trial/1", "ruleout.event/1"
TOKEN_NAME = "RULEOUT_TRIAL"

TICK_S = 0.2  # how long the loop sleeps at most; children, answers and the lease wake it earlier
TREE_EVERY_S, TREE_AT_MOST_S = (
    0.5,
    4.0,
)  # how often the process tree is looked at; rarer while a build keeps changing it
READY_ANSWER_S = 20.0  # how long one readiness request may take: some engines compute a token before they answer
LAST_WORDS_S = 1.0  # what an answer in flight gets to arrive after the engine's exit
LOST_GRACE_S = 3.0  # the most grace an engine gets once nobody waits for it
STUBBORN_S = 10.0  # how long SIGKILL is repeated (a process in the driver dies late) before we call it left over
GATHER_S, ASK_S = 20.0, 5.0  # all gathering; one page or one command
WAIT_EVERY_S = 1.0  # how often it is looked whether what others hold is free
RELEASE_S = 3.0  # what a driver gets to give free what a process that has just ended held
HELD_BYTES = 1 << 30  # of a GPU's memory, from which on its holder is in the way; monitors and contexts hold less
NO_ROOM = 64 << 10  # with less than this left on the disk, nothing that was recorded is sure to be whole
MIRROR_BYTES = (
    64 << 20
)  # what a reader that is stopped may leave unread before it is given up (the spool has all of it)


# --- events ----------------------------------------------------------------------------------------------------------


class Journal:
    """Writes each event to the spool and to stdout, and lets neither hold up the other nor the trial.

    The disk may be full and the reader gone or stopped (Ctrl-Z): both are expected. A torn line, ours or that of a
    killed predecessor, is closed by starting on a fresh one.
    """

    def __init__(self, spool: str | None, seq: int = 0) -> None:
        self.seq, self.trouble, self.torn, self.fd = seq, "", False, -1
        self.backlog, self.unread, self.mirrored = deque[bytes](), 0, True
        if spool is None:
            return
        try:
            os.makedirs(spool, exist_ok=True)
            self.fd = os.open(os.path.join(spool, "events.jsonl"), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            size = os.fstat(self.fd).st_size
            self.torn = size > 0 and os.pread(self.fd, 1, size - 1) != b"\n"
        except OSError as trouble:
            self.trouble = "events.jsonl cannot be written: %s" % trouble

    def emit(self, kind: str, **fields: Any) -> None:
        """One event, one line, at once."""
        self.seq += 1
        event = {"schema": EVENT_SCHEMA, "kind": kind, "seq": self.seq, "mono": time.monotonic(), "wall": time.time()}
        line = json.dumps({**event, **fields}).encode() + b"\n"
        if self.fd >= 0:
            try:
                self._append(b"\n" + line if self.torn else line)
                self.torn = False
            except OSError as trouble:
                self.trouble = "events.jsonl could not be written: %s" % trouble
        if self.mirrored:
            self.backlog.append(line)
            self.unread += len(line)
            self.mirrored = self.unread <= MIRROR_BYTES
            self.flush()

    def _append(self, text: bytes) -> None:
        """All or nothing: what a full disk took of a long event is given back, so that a short `end` may still fit."""
        written = os.write(self.fd, text)
        if written < len(text):
            os.ftruncate(self.fd, os.fstat(self.fd).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def flush(self) -> None:
        """Mirrors as much as stdout takes without blocking: a pipe that polls writable takes 4096 bytes."""
        poll = select.poll()
        poll.register(1, select.POLLOUT)
        while self.backlog and self.mirrored:
            try:
                if not poll.poll(0):
                    return
                sent = os.write(1, self.backlog[0][:4096])
            except OSError:
                self.mirrored = False
                break
            self.unread -= sent
            rest = self.backlog[0][sent:]
            if rest:
                self.backlog[0] = rest
            else:
                self.backlog.popleft()
        if not self.mirrored:
            self.backlog.clear()

    def close(self, patience_s: float = 10.0) -> None:
        """Gives a slow reader the time to take the rest, as long as it takes something."""
        poll = select.poll()
        poll.register(1, select.POLLOUT)
        while self.backlog and poll.poll(patience_s * 1000):
            self.flush()


def room_trouble(spool: str) -> str:
    """Told if the disk is so full that the engine's log or our events may have been cut off; else nothing."""
    try:
        disk = os.statvfs(spool)
    except OSError as trouble:
        return "events.jsonl is gone: %s" % trouble
    full = disk.f_blocks > 0 and disk.f_bavail * disk.f_frsize < NO_ROOM
    return "no room was left on the disk of events.jsonl: what is recorded may be cut off" if full else ""


def read_events(path: str) -> list[Json]:
    """The events of a spool; what is no event (a torn line) is passed over, a missing file holds none."""
    events = []
    try:
        with open(path, "rb") as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if isinstance(event, dict) and "kind" in event:
                    events.append(event)
    except OSError:
        pass
    return events


# --- processes -------------------------------------------------------------------------------------------------------


class Process:
    """One process as /proc tells it. A pid is reused; a pid with its start time is one process until the next boot."""

    __slots__ = ("comm", "pid", "ppid", "sid", "start_time", "state")

    def __init__(self, pid: int, stat: bytes) -> None:
        name_ends = stat.rindex(b")")  # a name may hold anything, parentheses too
        fields = stat[name_ends + 2 :].split()
        self.pid = pid
        self.comm = stat[stat.index(b"(") + 1 : name_ends].decode("utf-8", "replace")
        self.state = fields[0].decode()
        self.ppid, self.sid, self.start_time = int(fields[1]), int(fields[3]), int(fields[19])

    @property
    def identity(self) -> tuple[int, int]:
        return self.pid, self.start_time

    @property
    def lives(self) -> bool:
        return self.state not in "ZX"

    def summary(self) -> Json:
        return {"pid": self.pid, "start_time": self.start_time, "sid": self.sid, "comm": self.comm}


def read_process(pid: int) -> Process | None:
    try:
        with open("/proc/%d/stat" % pid, "rb") as stat:
            return Process(pid, stat.read())
    except (OSError, ValueError, IndexError):
        return None


def all_processes() -> dict[int, Process]:
    found = (read_process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def descendants(processes: dict[int, Process], roots: Iterable[int]) -> list[Process]:
    """Everything below the roots, without them; zombies are passed through but not counted."""
    children: dict[int, list[Process]] = {}
    for process in processes.values():
        children.setdefault(process.ppid, []).append(process)
    found: dict[int, Process] = {}
    todo = list(roots)
    while todo:
        for child in children.get(todo.pop(), ()):
            if child.pid not in found:
                found[child.pid] = child
                todo.append(child.pid)
    return sorted((process for process in found.values() if process.lives), key=lambda process: process.pid)


def provable(recorded: dict[tuple[int, int], int], token: str | None) -> list[Process]:
    """What lives and is provably of a trial, its agent being dead: never by name.

    Recorded (pid and start time), or marked in its environment, or in a session that a recorded process still lives in
    (the kernel gives no session's number away while it has a member), or below one of these. Never ourselves, nor who
    started us.
    """
    processes = all_processes()
    known = [process for process in processes.values() if process.identity in recorded]
    sessions = {process.sid for process in known if recorded[process.identity] == process.sid}
    ours = {process.pid for process in known} | {p.pid for p in processes.values() if p.sid in sessions}
    if token:
        ours.update(pid for pid in processes if _marked(pid, token))
    ours.update(process.pid for process in descendants(processes, ours))
    ancestor = processes.get(os.getpid())
    while ancestor is not None:
        ours.discard(ancestor.pid)
        ancestor = processes.get(ancestor.ppid)
    return [processes[pid] for pid in sorted(ours) if processes[pid].lives]


def _marked(pid: int, token: str) -> bool:
    try:
        with open("/proc/%d/environ" % pid, "rb") as environ:
            return ("%s=%s" % (TOKEN_NAME, token)).encode() in environ.read().split(b"\0")
    except OSError:
        return False


def boot_id() -> str:
    return _text("/proc/sys/kernel/random/boot_id").strip()


def _text(path: str, limit: int = 1 << 16) -> str:
    with open(path, "rb") as file:
        return file.read(limit).decode("utf-8", "replace")


def command_line(pid: int) -> str:
    try:
        return _text("/proc/%d/cmdline" % pid).replace("\0", " ").strip()
    except OSError:
        return ""


def send(process: Process, number: int) -> bool:
    """Signals exactly this process: a pidfd held while the start time is compared cannot come to mean a successor."""
    handle = -1
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    except (AttributeError, OSError):
        pass  # an older kernel or a sandbox: the comparison alone has to do
    try:
        now = read_process(process.pid)
        if now is None or now.identity != process.identity:
            return False
        if handle >= 0:
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(process.pid, number)
        return True
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        if handle >= 0:
            os.close(handle)


def stop_tree(
    living: Callable[[], list[Process]], grace_s: Callable[[], float], pause: Callable[[float], None]
) -> list[Json]:
    """Asks every process to end, insists when the grace is over, and says who needed which signal after how long.

    `living` is asked again and again, for a tree may grow while it is felled; `grace_s` too, for patience may end.
    Asking first is not politeness: engines killed outright leave hundreds of megabytes in /dev/shm.
    """
    began = time.monotonic()
    insisting: float | None = None
    signals: list[Json] = []
    sent: set[tuple[tuple[int, int], int]] = set()
    nap = 0.005

    def deliver(process: Process, number: int) -> None:
        if send(process, number) and (process.identity, number) not in sent:
            name, after_s = signal.Signals(number).name, round(time.monotonic() - began, 3)
            signals.append({"pid": process.pid, "comm": process.comm, "signal": name, "after_s": after_s})
        sent.add((process.identity, number))

    while True:
        found = living()
        now = time.monotonic()
        if not found or (insisting is not None and now - insisting > STUBBORN_S):
            return signals
        if insisting is None and now - began >= grace_s():
            insisting, nap = now, 0.005
        for process in found:
            if insisting is not None:
                deliver(process, signal.SIGKILL)
            elif (process.identity, int(signal.SIGTERM)) not in sent:
                deliver(process, signal.SIGTERM)
            if process.state == "T":
                deliver(process, signal.SIGCONT)
        pause(nap)
        nap = min(nap * 1.5, TICK_S)


# --- the trial document ----------------------------------------------------------------------------------------------

DEFAULTS: Json = {
    "env": {"set": {}, "unset": []},
    "cwd": None,
    "mode": "serve",
    "host": "127.0.0.1",
    "port": None,
    "ready": {"path": "/health", "log": None, "timeout_s": 1200},
    "probes": [],
    "stop": {"grace_s": 10, "settle_s": 2},
    "lease": {"eof_grace_s": 3, "seconds": None},
    "gather": {"paths": ["/health", "/metrics"], "tools": []},
    "others": {"wait_s": 0, "gpus": 0},
    "limits": {"seconds": 3600, "log_bytes": 2 << 30, "silence_s": None, "body_bytes": 1 << 20},
}
PROBE_DEFAULTS: Json = {
    "step": 0,
    "name": "",
    "method": "GET",
    "path": "/",
    "headers": {},
    "body": None,
    "bodies": [],  # where requests differ: they take these in turn, instead of `body`
    "timeout_s": 60,
    "requests": 1,
    "concurrency": 1,
    "optional": False,  # not asked any more once an answer has failed
}
OPTIONAL_NUMBERS = ("lease.seconds", "limits.silence_s", "others.gpus")


def read_trial(line: bytes) -> Json:
    """The trial with its defaults filled in; ValueError says what is wrong with it."""
    given = json.loads(line.decode("utf-8"))
    if not isinstance(given, dict) or given.get("schema") != TRIAL_SCHEMA:
        raise ValueError("the first line of stdin has to be a document of schema %s" % TRIAL_SCHEMA)
    trial = {**DEFAULTS, **given}
    for name, section in DEFAULTS.items():
        if isinstance(section, dict):
            _require(isinstance(trial[name], dict), "%s has to be an object" % name)
            trial[name] = {**section, **trial[name]}
            for key, default in section.items():
                value, path = trial[name][key], "%s.%s" % (name, key)
                number = isinstance(default, int) and path not in OPTIONAL_NUMBERS
                if number or (path in OPTIONAL_NUMBERS and value is not None):
                    _require(_is_number(value), "%s has to be a number" % path)
    for name in ("spool", "token"):
        _require(isinstance(trial.get(name), str) and trial[name] != "", "%s has to be a text" % name)
    _require(os.path.isabs(trial["spool"]), "spool has to be an absolute path")
    _require(_are_texts(trial.get("argv")) and trial["argv"], "argv has to be a list of texts, the command first")
    _require(_are_texts(list(trial["env"]["set"].values())), "env.set has to map names to texts")
    _require(trial["mode"] in ("serve", "job"), "mode has to be serve or job")
    _require(trial["port"] is None or type(trial["port"]) is int, "port has to be null or a whole number")
    _require(isinstance(trial["probes"], list), "probes has to be a list")
    trial["probes"] = sorted(
        ({**PROBE_DEFAULTS, **probe} for probe in trial["probes"]), key=lambda probe: probe["step"]
    )
    for probe in trial["probes"]:
        _require(_is_number(probe["timeout_s"]) and probe["timeout_s"] > 0, "timeout_s of a probe is above 0")
        _require(_are_texts(probe["bodies"]), "bodies of a probe is a list of texts")
        _require(min(probe["requests"], probe["concurrency"]) >= 1, "requests and concurrency are at least 1")
    if trial["mode"] == "serve":
        ready = trial["ready"]
        _require(ready["path"] is not None or ready["log"] is not None, "ready needs a path or a log pattern")
        http = ready["path"] is not None or trial["probes"]
        _require(trial["port"] is not None or not http, "a server asked over HTTP needs a port")
        try:
            re.compile(ready["log"] or "")
        except re.error as trouble:
            raise ValueError("ready.log is no regular expression: %s" % trouble) from None
    return trial


def _require(holds: object, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


# --- the lease -------------------------------------------------------------------------------------------------------


class Lease:
    """Standard input: its end says that the parent is gone, its silence that the line is, its words what to do."""

    def __init__(self) -> None:
        self.rest, self.asked = b"", 0  # asked: 1 to stop, 2 or more to stop at once
        self.renewed = time.monotonic()
        self.gone: float | None = None

    def first_line(self) -> bytes:
        """Blocks until the trial is there; whatever came behind it is heard already."""
        pieces = []
        while True:
            piece = os.read(0, 1 << 16)
            head, newline, rest = piece.partition(b"\n")
            pieces.append(head)
            if newline or not piece:
                self._hear(rest)
                return b"".join(pieces)

    def read(self) -> None:
        try:
            piece = os.read(0, 1 << 16)
        except OSError:
            piece = b""
        if not piece:
            self.gone = time.monotonic()
        self._hear(piece)

    def _hear(self, piece: bytes) -> None:
        *lines, rest = (self.rest + piece).split(b"\n")
        self.rest = rest[-64:]
        for line in lines:
            self.renewed = time.monotonic()
            self.asked += {b"stop": 1, b"kill": 2}.get(line.strip(), 0)

    def lost(self, terms: Json, now: float) -> str:
        """Why the lease is over, or nothing."""
        if self.gone is not None and now - self.gone >= terms["eof_grace_s"]:
            return "standard input ended: the parent is gone"
        if terms["seconds"] is not None and now - self.renewed >= terms["seconds"]:
            return "the lease was not renewed within %s s" % terms["seconds"]
        return ""


# --- the engine's log ------------------------------------------------------------------------------------------------


class EngineLog:
    """server.log: the engine writes it, we look at its size and, for a readiness pattern, once at each new byte."""

    def __init__(self, path: str, pattern: str | None) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.size = self.offset = os.fstat(self.fd).st_size
        self.grown = time.monotonic()
        self.pattern = None if pattern is None else re.compile(pattern, re.MULTILINE)
        self.tail = b""

    def look(self, now: float) -> None:
        size = os.fstat(self.fd).st_size
        if size != self.size:
            self.size, self.grown = size, now

    def says_ready(self) -> bool:
        """Reads what is new, 256 KiB at a time, 32 MiB a turn; of an unfinished line the last 8 KiB are kept."""
        for _ in range(128):
            piece = os.pread(self.fd, 1 << 18, self.offset)
            if not piece or self.pattern is None:
                break
            self.offset += len(piece)
            text = self.tail + piece
            if self.pattern.search(text.decode("utf-8", "replace")):
                return True
            self.tail = text[text.rfind(b"\n") + 1 :][-8192:]
        return False


# --- requests --------------------------------------------------------------------------------------------------------


class Call:
    """One HTTP request and its raw answer. A thread sends it; the loop may cut it off, and then says why."""

    def __init__(self, probe: Json, number: int, address: tuple[str, int], body_bytes: int) -> None:
        self.probe, self.number, self.address, self.body_bytes = probe, number, address, body_bytes
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.body, self.truncated = bytearray(), False
        self.error: str | None = None
        self.detail = ""
        self.started: float | None = None
        self.seconds = 0.0
        self.over = False
        self.socket: socket.socket | None = None

    def send(self) -> None:
        import http.client

        self.started = time.monotonic()
        # The loop cuts off what is late; until it has looked where the engine hangs, the engine must not notice.
        connection = http.client.HTTPConnection(*self.address, timeout=self.probe["timeout_s"] + 2 * GATHER_S)
        try:
            self._exchange(connection)
        except socket.timeout:
            self.fail("timeout", "no complete answer within %s s" % self.probe["timeout_s"])
        except ConnectionRefusedError as trouble:
            self.fail("refused", str(trouble))
        except (ConnectionError, http.client.IncompleteRead) as trouble:
            self.fail("reset", "%s: %s" % (type(trouble).__name__, trouble))
        except Exception as trouble:  # whatever a broken server makes of HTTP is an answer to be recorded
            self.fail("other", "%s: %s" % (type(trouble).__name__, trouble))
        finally:
            connection.close()
        if not self.over:
            self.seconds, self.over = time.monotonic() - self.started, True

    def _exchange(self, connection: Any) -> None:
        probe = self.probe
        connection.connect()
        self.socket = connection.sock
        text = probe["bodies"][(self.number - 1) % len(probe["bodies"])] if probe["bodies"] else probe["body"]
        body = None if text is None else text.encode("utf-8", "surrogateescape")
        connection.request(probe["method"], probe["path"], body, probe["headers"])
        with connection.getresponse() as response:
            self.headers, self.status = dict(response.getheaders()), response.status
            expected = response.length
            while len(self.body) <= self.body_bytes:
                piece = response.read1(1 << 16)
                if not piece:
                    break
                self.body += piece
        if len(self.body) > self.body_bytes:
            self.truncated = True
        elif expected is not None and len(self.body) < expected:
            self.fail("reset", "the answer ended after %d of %d bytes" % (len(self.body), expected))

    def fail(self, error: str, detail: str) -> None:
        """What it failed of; the first reason stays."""
        if self.error is None:
            self.error, self.detail = error, detail

    def cut(self, error: str, detail: str) -> None:
        """Ends the call from outside; its thread wakes up because its socket is shut."""
        self.fail(error, detail)
        self.seconds = 0.0 if self.started is None else time.monotonic() - self.started
        self.over = True
        if self.socket is not None:
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)

    def answer(self) -> Json:
        return {
            "status": self.status,
            "headers": self.headers,
            "body": bytes(self.body[: self.body_bytes]).decode("utf-8", "replace"),
            "truncated": self.truncated,
            "error": self.error,
            "detail": self.detail,
            "started": self.started,
            "seconds": round(self.seconds, 6),
        }


class Calls:
    """Several calls, so many at a time. Threads do nothing but send; everything is decided and reported by the loop."""

    def __init__(self, calls: list[Call], concurrency: int, wake: Callable[[], None]) -> None:
        import threading

        self.waiting, self.finished, self.flying = deque(calls), deque[Call](), dict[Call, None]()
        self.open, self.wake = set(calls), wake
        for _ in range(min(concurrency, len(calls))):
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                call = self.waiting.popleft()
            except IndexError:
                return
            self.flying[call] = None
            call.send()
            self.flying.pop(call, None)
            self.finished.append(call)
            self.wake()

    def late(self, now: float) -> list[Call]:
        """The calls over their time: unanswered from now on, whatever still comes, though their connections stay."""
        late = [call for call in list(self.flying) if now - (call.started or now) >= call.probe["timeout_s"]]
        for call in late:
            call.fail("timeout", "no complete answer within %s s" % call.probe["timeout_s"])
        return late

    def harvest(self, now: float) -> list[Call]:
        """The calls that are over since the last look; the overdue are cut off here, for a server may drip for ever."""
        for call in self.late(now):
            call.cut("timeout", "")
            self.finished.append(call)
        return self._reap()

    def cut_all(self, error: str, detail: str, unsent: tuple[str, str] | None = None) -> list[Call]:
        """Ends all of them; those that were not sent yet count only if there is something to say about them."""
        unsent_calls = [self.waiting.popleft() for _ in range(len(self.waiting))]
        for call in list(self.flying):
            call.cut(error, detail)
            self.finished.append(call)
        if unsent is None:
            self.open.difference_update(unsent_calls)
        else:
            for call in unsent_calls:
                call.cut(*unsent)
            self.finished.extend(unsent_calls)
        return self._reap()

    def _reap(self) -> list[Call]:
        over = []
        while self.finished:
            call = self.finished.popleft()
            if call in self.open:
                self.open.discard(call)
                over.append(call)
        return over


# --- ports -----------------------------------------------------------------------------------------------------------


def bind_trouble(host: str, port: int) -> OSError | None:
    """What stands in the way of listening there. SO_REUSEADDR: an old connection is no obstacle, a listener is one."""
    try:
        with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
        return None
    except OSError as trouble:
        return trouble


def free_port(host: str) -> int:
    with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def port_holder(port: int) -> str:
    """Who listens on the port, as far as /proc shows it to us."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = _text(table, 1 << 24).splitlines()[1:]
        except OSError:
            continue
        for fields in (row.split() for row in rows):
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add("socket:[%s]" % fields[9])
    for process in all_processes().values():
        if any(target in inodes for target in _open_files(process.pid)):
            return told(process.pid)
    return "another process, which this user cannot see"


def _open_files(pid: int) -> list[str]:
    folder, targets = "/proc/%d/fd" % pid, []
    try:
        for name in os.listdir(folder):
            try:
                targets.append(os.readlink(os.path.join(folder, name)))
            except OSError:
                continue
    except OSError:
        pass
    return targets


# --- what a dead engine leaves ---------------------------------------------------------------------------------------


def shm_names() -> list[str]:
    try:
        return sorted(os.listdir("/dev/shm"))
    except OSError:
        return []


def shm_state(living: Iterable[Process]) -> Json:
    """How full /dev/shm is, its largest files, and how many bytes of it each process has mapped."""
    disk, files = os.statvfs("/dev/shm"), {}
    for name in shm_names():
        with suppress(OSError):
            files[name] = os.lstat("/dev/shm/" + name).st_size
    mapped = {process.pid: _shm_mapped(process.pid) for process in living}
    return {
        "size": disk.f_blocks * disk.f_frsize,
        "free": disk.f_bavail * disk.f_frsize,
        "files": dict(sorted(files.items(), key=lambda entry: -entry[1])[:100]),
        "mapped": {str(pid): size for pid, size in mapped.items() if size},
    }


def _shm_mapped(pid: int) -> int:
    """Also of files whose names are gone already: that is how most libraries share memory."""
    try:
        rows = [row.split(None, 5) for row in _text("/proc/%d/maps" % pid, 1 << 24).splitlines()]
    except OSError:
        return 0
    spans = [row[0].split("-") for row in rows if len(row) == 6 and row[5].startswith("/dev/shm/")]
    return sum(int(end, 16) - int(begin, 16) for begin, end in spans)


def held_shm(pid: int) -> set[str]:
    """The files in /dev/shm that a process has open or mapped."""
    found = {target for target in _open_files(pid) if target.startswith("/dev/shm/")}
    try:
        maps = _text("/proc/%d/maps" % pid, 1 << 24)
    except OSError:
        return found
    return found | {line[line.index("/dev/shm/") :] for line in maps.splitlines() if "/dev/shm/" in line}


def orphaned_shm(before: Iterable[str]) -> list[str]:
    """Files in /dev/shm that came since, are ours and are open or mapped by nobody: memory lost until a reboot."""
    new = {"/dev/shm/" + name for name in set(shm_names()) - set(before)}
    ours = {path for path in new if _file(path)[0] == os.getuid()}
    for pid in all_processes() if ours else ():
        ours -= held_shm(pid)
    return sorted(ours)


def remove_shm(before: Iterable[str], seen: dict[str, int]) -> list[str]:
    """Removes the orphans that are the trial's: a process of it was seen to hold this very file (path, inode)."""
    removed = []
    for path in orphaned_shm(before):
        if path in seen and _file(path)[1] == seen[path]:
            with suppress(OSError):
                os.unlink(path)
                removed.append(path)
    return removed


def _file(path: str) -> tuple[int, int]:
    """Owner and inode; (-1, -1) where there is nothing."""
    try:
        found = os.lstat(path)
    except OSError:
        return -1, -1
    return found.st_uid, found.st_ino


LONGEST_TMP = 70  # the path of a socket has 107 bytes, and engines name theirs by 36


def tmp_path(env: dict[str, str], token: str) -> str | None:
    """A folder for the trial's temporary files, where the engine would have put them; None where there can be none.

    Where the folder that is given is too long for sockets, that is how the deployment is, and it stays. Where only ours
    would be, the usual one has to do.
    """
    given = env.get("TMPDIR") or "/tmp"
    name = tmp_name(token)
    if len(given) > LONGEST_TMP or not os.path.isdir(given):
        return None
    return next((path for path in (os.path.join(given, name), "/tmp/" + name) if len(path) <= LONGEST_TMP), None)


def tmp_name(token: str) -> str:
    return "ruleout-" + re.sub(r"\W", "", token)[:16]


def remove_tmp(path: str | None, token: object) -> None:
    """Sockets, pipes and files of a dead engine; the folder is known by its name to be the trial's."""
    named = path is not None and isinstance(token, str) and os.path.basename(path) == tmp_name(token)
    if path is None or not named or _file(path)[0] != os.getuid():
        return
    try:
        os.rmdir(path)
    except OSError:
        import shutil

        shutil.rmtree(path, ignore_errors=True)


# --- accelerators ----------------------------------------------------------------------------------------------------

NVML = "libnvidia-ml.so.1"
UNKNOWN_BYTES = (1 << 64) - 1  # NVML's word for "not available"
# https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html; each takes the GPU and gives one number
GPU_NUMBERS = (
    ("temperature_c", "nvmlDeviceGetTemperature", (0,)),
    ("performance_state", "nvmlDeviceGetPerformanceState", ()),
    ("power_mw", "nvmlDeviceGetPowerUsage", ()),
    ("ecc_uncorrected", "nvmlDeviceGetTotalEccErrors", (1, 0)),  # since the driver was loaded
    ("throttled_by", "nvmlDeviceGetCurrentClocksThrottleReasons", ()),
)
GPU_QUERY = "--query-gpu=index,name,memory.used,memory.total,utilization.gpu,temperature.gpu,pstate"
GPU_PROCESSES_QUERY = "--query-compute-apps=gpu_uuid,pid,name,used_memory"


def has_nvidia(env: dict[str, str]) -> bool:
    """Whether there may be an NVIDIA driver: cheap, for every trial asks."""
    folders = env.get("LD_LIBRARY_PATH", "").split(":")
    return os.path.exists("/dev/nvidiactl") or any(os.path.exists(os.path.join(d, NVML)) for d in folders if d)


def nvml_gpus() -> list[Json]:
    """The GPUs and the processes that compute on them, by the driver's own library; it may hang if the driver does."""
    import ctypes

    class Memory(ctypes.Structure):
        _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]

    class Utilization(ctypes.Structure):
        _fields_ = [(name, ctypes.c_uint) for name in ("gpu", "memory")]

    class Running(ctypes.Structure):
        _fields_ = [
            ("pid", ctypes.c_uint),
            ("memory", ctypes.c_ulonglong),
            ("instance", ctypes.c_uint),
            ("compute_instance", ctypes.c_uint),
        ]

    library = ctypes.CDLL(NVML)

    def call(name: str, *arguments: Any) -> None:
        status = getattr(library, name)(*arguments)
        if status != 0:
            raise OSError("%s failed with NVML error %d" % (name, status))

    def text(name: str, device: Any) -> str:
        buffer = ctypes.create_string_buffer(96)
        call(name, device, buffer, 96)
        return buffer.value.decode("utf-8", "replace")

    def running(device: Any) -> list[Json]:
        count, table = ctypes.c_uint(256), (Running * 256)()
        newest = "nvmlDeviceGetComputeRunningProcesses_v3"
        name = newest if hasattr(library, newest) else "nvmlDeviceGetComputeRunningProcesses_v2"
        call(name, device, ctypes.byref(count), table)
        return [
            {"pid": one.pid, "bytes": None if one.memory == UNKNOWN_BYTES else one.memory}
            for one in table[: count.value]
        ]

    call("nvmlInit_v2")
    count = ctypes.c_uint()
    call("nvmlDeviceGetCount_v2", ctypes.byref(count))
    gpus = []
    for index in range(count.value):
        device, memory, load = ctypes.c_void_p(), Memory(), Utilization()
        call("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(device))
        call("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory))
        gpu: Json = {
            "index": index,
            "name": text("nvmlDeviceGetName", device),
            "uuid": text("nvmlDeviceGetUUID", device),
        }
        gpu.update(bytes_used=memory.used, bytes_total=memory.total, processes=running(device))
        with suppress(OSError, AttributeError):
            call("nvmlDeviceGetUtilizationRates", device, ctypes.byref(load))
            gpu["utilization_percent"] = load.gpu
        for what, name, given in GPU_NUMBERS:
            with suppress(OSError, AttributeError):  # not every GPU has everything
                number = ctypes.c_ulonglong()
                call(name, device, *given, ctypes.byref(number))
                gpu[what] = number.value
        gpus.append(gpu)
    return gpus


def gpus() -> int:
    """Tells them on stdout, each process with its command and its user."""
    try:
        found = nvml_gpus()
    except (OSError, AttributeError) as trouble:
        sys.stderr.write("no GPU is told of: %s\n" % trouble)
        return 1
    for gpu in found:
        for process in gpu["processes"]:
            process.update(told=told(process["pid"]))
    print(json.dumps(found), flush=True)
    return 0


def told(pid: int) -> str:
    """A process that is not ours, as far as this user sees it: its number, its command, its user."""
    process = read_process(pid)
    if process is None:
        return "process %d (of another container, or another user's)" % pid
    import pwd

    user = ""
    with suppress(OSError, KeyError):
        user = " of user %s" % pwd.getpwuid(os.stat("/proc/%d" % pid).st_uid).pw_name
    return "process %d (%s)%s" % (pid, command_line(pid)[:200] or process.comm, user)


def used_gpus(found: list[Json], visible: str | None, count: int | None) -> list[Json]:
    """The first `count` (None: all) of the GPUs that CUDA_VISIBLE_DEVICES leaves."""
    if visible is not None:
        chosen = []
        for word in (word.strip() for word in visible.split(",")):
            match = [g for g in found if str(g["index"]) == word or (word[:4] == "GPU-" and g["uuid"].startswith(word))]
            if not match:
                break  # as CUDA does: what stands behind a number that is none is not seen
            chosen += match
        found = chosen
    return found if count is None else found[:count]


# --- evidence gathered before the kill -------------------------------------------------------------------------------

KERNEL_WORDS = re.compile(r"oom|out of memory|killed process|xid|nvrm|segfault|general protection", re.IGNORECASE)
KERNEL_LINES = 80
PROCESSES, THREADS, FRAMES = 32, 64, 48  # how many are told of: processes, threads of one, frames of a stack
CGROUP_V2 = ("memory.events", "memory.max", "memory.current", "memory.peak")
CGROUP_V1 = ("memory.oom_control", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.max_usage_in_bytes")
BUSY_S = 0.2  # the least time over which it is measured who computes


def process_facts(process: Process) -> Json:
    """What a process is doing at this moment; wchan and the kernel's stack tell what it waits for in the kernel."""
    facts: Json = {**process.summary(), "state": process.state, "cmdline": command_line(process.pid)[:4096]}
    status = dict(line.split(":", 1) for line in _text("/proc/%d/status" % process.pid).splitlines() if ":" in line)
    facts["threads"] = int(status.get("Threads", "0"))
    for name, key in (("rss_kib", "VmRSS"), ("shm_kib", "RssShmem"), ("swap_kib", "VmSwap")):
        facts[name] = int(status.get(key, "0 kB").split()[0])
    for name in ("wchan", "stack"):
        try:
            facts[name] = _text("/proc/%d/%s" % (process.pid, name))
        except OSError as trouble:
            facts[name] = None
            facts.setdefault("untold", {})[name] = trouble.strerror
    return facts


def processes_facts(living: Iterable[Process]) -> list[Json]:
    """Of as many as are told of; one that dies meanwhile is left out."""
    found = []
    for process in list(living)[:PROCESSES]:
        with suppress(OSError, ValueError):
            found.append(process_facts(process))
    return found


def cpu_seconds(pid: int) -> float | None:
    """The CPU time a process has had, all threads together; None when it is gone."""
    try:
        fields = _text("/proc/%d/stat" % pid).rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def pythons(processes: Iterable[Process]) -> list[Process]:
    """Those that run Python, the largest first: engines have small helpers, and what hangs holds the model.

    By their executables, for engines rename their processes.
    """
    found = []
    for process in processes:
        with suppress(OSError, IndexError, ValueError):
            if "python" in os.path.basename(os.readlink("/proc/%d/exe" % process.pid)):
                found.append((int(_text("/proc/%d/statm" % process.pid).split()[1]), process))
    found.sort(key=lambda entry: -entry[0])
    return [process for _, process in found]


def find_tool(name: str, folders: Iterable[str]) -> str | None:
    """The first executable of that name."""
    paths = (os.path.join(folder, name) for folder in folders if os.path.isabs(folder))
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def threads_of(dump: str) -> list[Json]:
    """What py-spy prints as JSON, without what nobody reads: the innermost frame of each thread is the first."""
    threads = []
    for thread in json.loads(dump)[:THREADS]:
        frames = [
            "%s (%s:%s)" % (frame["name"][:200], frame.get("short_filename") or frame["filename"], frame["line"])
            for frame in thread["frames"][:FRAMES]
        ]
        told = {"thread": thread.get("os_thread_id"), "name": thread.get("thread_name")}
        threads.append({**told, "active": thread.get("active"), "gil": thread.get("owns_gil"), "frames": frames})
    return threads


def why_not_traced() -> str:
    """What keeps this user from looking into its own processes; empty when nothing is known of."""
    with suppress(OSError, ValueError, IndexError):
        effective = re.search(r"CapEff:\s*(\w+)", _text("/proc/self/status"))
        if effective and int(effective[1], 16) >> 19 & 1:  # CAP_SYS_PTRACE
            return ""
        scope = _text("/proc/sys/kernel/yama/ptrace_scope").strip()
        if scope != "0":
            return (
                "kernel.yama.ptrace_scope is %s and CAP_SYS_PTRACE is missing: set it to 0, or add the capability"
                % scope
            )
    return ""


def cgroup_memory() -> Json:
    """Limit, use and the OOM killer's counts: of the control group the trial runs in, and of the whole machine."""
    found: Json = {}
    for line in _text("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, names = ("/sys/fs/cgroup/memory", CGROUP_V1) if controllers else ("/sys/fs/cgroup", CGROUP_V2)
        for folder in (root + path.rstrip("/"), root):  # a container may see its own group as the root
            for name in names:
                try:
                    found.setdefault(name, _text(os.path.join(folder, name)).strip())
                except OSError:
                    continue
    with suppress(OSError):
        found["vmstat"] = "".join(line for line in _text("/proc/vmstat").splitlines() if line.startswith("oom_kill"))
    return found


class KernelLog:
    """What the kernel says from now on: read where it is written, or else as what `dmesg` prints more than before."""

    def __init__(self, dmesg: Callable[[], str]) -> None:
        self.dmesg, self.fd, self.before, self.trouble = dmesg, -1, 0, ""
        try:
            self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self.fd, 0, os.SEEK_END)
        except OSError:
            try:
                self.before = len(dmesg().splitlines())
            except (OSError, TimeoutError) as trouble:
                self.trouble = str(trouble)

    def news(self) -> list[str]:
        """Its lines about memory, crashes and GPUs since then, the last ones if there are many."""
        if self.trouble:
            raise OSError(self.trouble)
        lines = self.dmesg().splitlines()[self.before :] if self.fd < 0 else self._read()
        return [line for line in lines if KERNEL_WORDS.search(line)][-KERNEL_LINES:]

    def _read(self) -> list[str]:
        """One record a read: `priority,number,microseconds,flags;text`, then lines of details."""
        lines: list[str] = []
        while len(lines) < 1 << 16:
            try:
                head, _, text = os.read(self.fd, 1 << 13).decode("utf-8", "replace").partition(";")
            except BlockingIOError:
                break
            except BrokenPipeError:
                continue  # overwritten before it was read: what follows is there
            except OSError:
                break
            lines.append("[%12.6f] %s" % (int(head.split(",")[2]) / 1e6, text.partition("\n")[0]))
        return lines


# --- the trial -------------------------------------------------------------------------------------------------------


class Over(Exception):  # noqa: N818 - the end of a trial is no error
    """The trial is over, for one of the reasons of the `end` event."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


class Taken(Over):
    """What the trial needs is held by somebody else's process; it may look so for `passing_s` where it is not."""

    def __init__(self, detail: str, passing_s: float = 0.0) -> None:
        super().__init__("refused", detail)
        self.passing_s = passing_s


class Agent:
    """One trial from the launch to the proof that nothing is left.

    One thread decides: a loop that turns at least every 0.2 s and whenever a child, an answer or a word on the lease
    wakes it. What a client does is written as it reads, as a generator (`_serve`, `_job`) that hands the turn back at
    each `yield`.
    """

    def __init__(self, trial: Json, lease: Lease, journal: Journal) -> None:
        self.trial, self.lease, self.journal, self.emit = trial, lease, journal, journal.emit
        self.env: dict[str, str] = {}
        self.port: int | None = None
        self.pid: int | None = None
        self.exit: tuple[int | None, int | None] | None = None  # code, signal
        self.began = time.monotonic()
        self.subreaper: bool | str = False
        self.recorded: dict[tuple[int, int], int] = {}
        self.tree: list[Json] = []
        self.tree_due, self.tree_every = 0.0, TREE_EVERY_S
        self.log: EngineLog | None = None
        self.log_reported, self.log_due, self.silent = 0, 0.0, False
        self.shm_before = shm_names()
        self.cgroup_before: Json = {}
        self.kernel_log: KernelLog | None = None
        self.failed = self.examined = False  # an answer was none; what may be wrong was looked at
        self.shm_before, self.shm_seen = shm_names(), dict[str, int]()
        self.shm_looked, self.shm_due = frozenset[str](), 0.0
        self.tmp: str | None = None
        self.reason = ""
        self.poll = select.poll()
        self.wake_read, self.wake_write = os.pipe()

    def run(self) -> None:
        """Whatever happens in between, the engine is stopped and the last event is `end`."""
        try:
            self._settle_in()
            end = self._conduct()
        except Exception as trouble:
            end = _own_trouble(trouble)
        self.reason = end.reason
        for part in (self._gather, self._stop, self._prove):
            try:
                part()
            except Exception as trouble:
                end.detail = "; ".join(filter(None, (end.detail, _own_trouble(trouble).detail)))
        self.journal.trouble = self.journal.trouble or room_trouble(self.trial["spool"])
        if self.journal.trouble:
            end.detail = "; ".join(filter(None, (end.detail, self.journal.trouble)))
        self.emit("end", reason=end.reason, detail=end.detail)

    # The launch

    def _settle_in(self) -> None:
        """Session, signals, subreaper: what makes the agent the one that everything below it falls back to."""
        with suppress(OSError):  # it leads a session or a group already
            os.setsid()
        for fd in (self.wake_read, self.wake_write):
            os.set_blocking(fd, False)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._asked_by_signal)
        self.subreaper = _become_subreaper()
        self.poll.register(self.wake_read, select.POLLIN)
        self.poll.register(0, select.POLLIN)
        ourselves = read_process(os.getpid())
        self.emit(
            "agent",
            pid=os.getpid(),
            start_time=ourselves.start_time if ourselves else None,
            boot_id=boot_id(),
            python=sys.version.split()[0],
            host=socket.gethostname(),
            subreaper=self.subreaper,
            shm=self.shm_before,
        )

    def _asked_by_signal(self, number: int, frame: object) -> None:
        self.lease.asked += 1

    def _launch(self) -> None:
        trial = self.trial
        cwd = trial["cwd"] or trial["spool"]
        if not os.path.isdir(cwd):
            raise Over("refused", "the working folder %s is not there: create it or give another" % cwd)
        self.env = {name: value for name, value in os.environ.items() if name not in trial["env"]["unset"]}
        self.env.update(trial["env"]["set"])
        self._claim()
        argv = [self._with_port(word) for word in trial["argv"]]
        self.env.update({name: self._with_port(value) for name, value in trial["env"]["set"].items()})
        self.env[TOKEN_NAME] = trial["token"]
        self.kernel_log = KernelLog(lambda: self._run(["dmesg"], time.monotonic() + 2.0))
        with suppress(OSError):
            self.cgroup_before = cgroup_memory()
        self._make_tmp()
        self.log = EngineLog(os.path.join(trial["spool"], "server.log"), trial["ready"]["log"])
        self.log_reported = self.log.size
        try:
            engine = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=self.log.fd,
                stderr=self.log.fd,
                cwd=cwd,
                env=self.env,
                start_new_session=True,
            )
        except (OSError, ValueError) as trouble:
            raise Over("refused", _launch_trouble(argv[0], trouble)) from None
        engine.returncode = 0  # we wait for it ourselves, as for everything that falls back to us
        self.pid, self.began = engine.pid, time.monotonic()
        process = read_process(engine.pid)
        start_time = process.start_time if process else None
        self.emit("started", pid=engine.pid, start_time=start_time, boot_id=boot_id(), argv=argv, port=self.port)
        self._record_tree([process] if process else [])
        self.tree_due = self.began + 0.1

    def _claim(self) -> None:
        """Port and GPUs. What somebody else holds is named and never taken; the trial may say how long to wait."""
        began, told = time.monotonic(), ""
        while True:
            try:
                self.port = self._claim_port()
                self._claim_gpus()
                return
            except Taken as taken:
                wait_s = self.trial["others"]["wait_s"]
                until = began + max(wait_s, taken.passing_s)
                if time.monotonic() >= until:
                    if wait_s:
                        raise Over("refused", "after %g s, %s" % (wait_s, taken.detail)) from None
                    raise
                if wait_s and taken.detail != told:  # what only may pass in a moment is not worth a word
                    told = taken.detail
                    self.emit("waiting", detail=told)
                self._wait(min(WAIT_EVERY_S, max(0.0, until - time.monotonic())))
                self._reap_children()
                self._check_lease(time.monotonic())

    def _claim_gpus(self) -> None:
        """Memory that others hold on a GPU of the trial makes it fail, or makes theirs fail."""
        count = self.trial["others"]["gpus"]
        if count == 0 or not has_nvidia(self.env):
            return
        try:
            found = self._gpus(time.monotonic() + ASK_S)
        except (OSError, ValueError, TimeoutError):
            return  # a driver that does not answer is for the engine to fail of
        processes = all_processes()
        ours = {process.pid for process in descendants(processes, [os.getppid()])}  # other trials of the same command
        for gpu in used_gpus(found, self.env.get("CUDA_VISIBLE_DEVICES"), count):
            held = [one for one in gpu["processes"] if one["pid"] not in ours]
            held = [one for one in held if one["bytes"] is None or one["bytes"] >= HELD_BYTES]
            if held:
                size = "%.1f GiB" % (held[0]["bytes"] / (1 << 30)) if held[0]["bytes"] else "memory"
                raise Taken(
                    "GPU %d: %s is held by %s: wait for it, choose others by CUDA_VISIBLE_DEVICES, or let both share it"
                    % (gpu["index"], size, held[0]["told"]),
                    RELEASE_S,
                )

    def _gpus(self, until: float) -> list[Json]:
        """Asked by another process, for a driver that hangs is left only by leaving the process to it."""
        found: list[Json] = json.loads(
            self._run([sys.executable, "-S", "-E", os.path.abspath(__file__), "gpus"], until)
        )
        return found

    def _make_tmp(self) -> None:
        """A folder for temporary files that goes with the trial. What torch keeps there between starts stays."""
        path = tmp_path(self.env, self.trial["token"])
        if path is None:
            return
        self.emit("tmp", path=path)  # first: whoever reaps has to know
        try:
            os.mkdir(path, 0o700)
        except OSError:
            return
        import getpass

        kept = os.path.join(self.env.get("TMPDIR") or "/tmp", "torchinductor_" + re.sub(r"\W", "_", getpass.getuser()))
        self.tmp = self.env["TMPDIR"] = path
        self.env.setdefault("TORCHINDUCTOR_CACHE_DIR", kept)

    def _claim_port(self) -> int | None:
        port, host = self.trial["port"], self.trial["host"]
        try:
            if port == 0:
                return free_port(host)
            trouble = None if port is None else bind_trouble(host, port)
        except OSError as cannot:
            trouble = cannot
        if trouble is None:
            return None if port is None else int(port)
        if trouble.errno == errno.EADDRINUSE:
            raise Taken("port %d is taken by %s: stop it or give another port" % (port, port_holder(port)))
        raise Over(
            "refused", "cannot listen on %s port %s: %s: give another" % (host, port, trouble.strerror or trouble)
        )

    def _with_port(self, text: str) -> str:
        return text if self.port is None else text.replace("{port}", str(self.port))

    # The loop

    def _conduct(self) -> Over:
        script = self._serve() if self.trial["mode"] == "serve" else self._job()
        try:
            self._launch()
            while True:
                self._reap_children()
                now = time.monotonic()
                self._watch_log(now)
                next(script)
                self._check_lease(now)
                self._check_limits(now)
                self._watch_tree(now)
                self._watch_shm(now)
                self._wait(TICK_S)
        except Over as over:
            return over
        finally:
            script.close()

    def _wait(self, seconds: float) -> None:
        """Sleeps until something happens, but not longer than this."""
        self.journal.flush()
        if self.journal.backlog:
            self.poll.register(1, select.POLLOUT)
        for fd, _ in self.poll.poll(max(0.0, seconds) * 1000):
            if fd == 0:
                self.lease.read()
                if self.lease.gone is not None:
                    self.poll.unregister(0)
            elif fd == self.wake_read:
                os.read(fd, 1 << 16)
        if self.journal.backlog:
            self.poll.unregister(1)

    def _wake(self) -> None:
        with suppress(OSError):  # full: the loop is awake already
            os.write(self.wake_write, b".")

    def _reap_children(self) -> bool:
        """Takes in who has died; true if children are left. Without a child a subreaper has no descendant either."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | 0x40000000)  # __WALL: also children that signal nothing
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid and self.exit is None:
                code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
                self.exit = code, os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
                self.emit("exit", code=self.exit[0], signal=self.exit[1])

    def _living(self) -> list[Process]:
        """The trial's processes. An empty walk through /proc proves nothing, for they may fork meanwhile.

        A subreaper asks the kernel whether it has a child at all; without one, several walks have to agree.
        """
        for attempt in range(50):
            children = self._reap_children()
            if not children and self.subreaper is True:
                return []
            found = self._walk()
            if found or (not children and attempt >= 4):
                return found
            time.sleep(0.002 if self.subreaper is True else 0.02)
        return []

    def _walk(self) -> list[Process]:
        found = descendants(all_processes(), [os.getpid()])
        if self.subreaper is not True:
            known = {process.pid for process in found}
            found += [process for process in provable(self.recorded, self.trial["token"]) if process.pid not in known]
            self.recorded.update((process.identity, process.sid) for process in found)
        return found

    def _gone(self) -> bool:
        """The server is: it failed, or it ended well and left nobody behind who could be the server now (a daemon)."""
        return self.exit is not None and (self.exit != (0, None) or not self._living())

    def _watch_log(self, now: float) -> None:
        if self.log is None:
            return
        self.log.look(now)
        if self.log.size != self.log_reported and now >= self.log_due:
            self.log_reported, self.log_due = self.log.size, now + 1.0
            self.emit("log", bytes=self.log.size)
        still, limit = now - self.log.grown, self.trial["limits"]["silence_s"]
        if limit is not None and still >= limit and not self.silent:
            self.emit("silence", seconds=round(still, 3))
        self.silent = limit is not None and still >= limit

    def _watch_tree(self, now: float) -> None:
        """The tree is written down as it changes: should the agent be killed, this is what can still be proved."""
        if now < self.tree_due:
            return
        changed = self._record_tree(self._living())
        self.tree_every = min(TREE_AT_MOST_S, self.tree_every * 1.5) if changed else TREE_EVERY_S
        took = time.monotonic() - now
        self.tree_due = now + max(self.tree_every, 10 * took)

    def _watch_shm(self, now: float) -> None:
        """New shared memory is laid to the trial as soon as a process of it holds it; others' is looked at rarely."""
        new = frozenset(shm_names()).difference(self.shm_before, map(os.path.basename, self.shm_seen))
        if not new or (new == self.shm_looked and now < self.shm_due):
            return
        self.shm_looked, self.shm_due = new, now + TREE_AT_MOST_S
        held = set[str]().union(*(held_shm(process.pid) for process in self._living()))
        found = {path: _file(path)[1] for path in held if os.path.basename(path) in new}
        if found:
            self.shm_seen.update(found)
            self.emit("shm", files=found)

    def _record_tree(self, processes: list[Process]) -> bool:
        tree = [process.summary() for process in processes]
        if tree == self.tree:
            return False
        self.tree = tree
        self.recorded.update((process.identity, process.sid) for process in processes)
        self.emit("processes", members=tree)
        return True

    def _check_lease(self, now: float) -> None:
        if self.lease.asked:
            raise Over("interrupted", "asked to stop")
        lost = self.lease.lost(self.trial["lease"], now)
        if lost:
            raise Over("lease_lost", lost)

    def _check_limits(self, now: float) -> None:
        limits = self.trial["limits"]
        if now - self.began >= limits["seconds"]:
            raise Over("limit", "the trial ran for %.1f s; its limit is %s s" % (now - self.began, limits["seconds"]))
        if self.log is not None and self.log.size > limits["log_bytes"]:
            raise Over("limit", "the log grew to %d bytes; its limit is %d" % (self.log.size, limits["log_bytes"]))

    # What the client does

    def _job(self) -> Script:
        while self.exit is None:
            yield
        raise Over("done")

    def _serve(self) -> Script:
        yield from self._until_ready()
        failed = False
        for probe in self.trial["probes"]:
            if not (failed and probe["optional"]):
                failed = (yield from self._probe(probe)) or failed
        raise Over("done")

    def _until_ready(self) -> Script:
        ready = self.trial["ready"]
        http, log = ready["path"] is None, ready["log"] is None
        asking: Calls | None = None
        ask_at = self.began
        while True:
            now = time.monotonic()
            log = log or (self.log is not None and self.log.says_ready())
            if not http and asking is None and now >= ask_at:
                asking, ask_at = self._ask([ready["path"]], READY_ANSWER_S), now + TICK_S
            for call in asking.harvest(now) if asking is not None else ():
                asking, http = None, call.error is None and call.status is not None and 200 <= call.status < 300
            seconds = round(now - self.began, 3)
            if http and log:
                how = [name for name, asked in (("http", ready["path"]), ("log", ready["log"])) if asked is not None]
                self.emit("ready", seconds=seconds, how="+".join(how))
                return
            if self._gone():
                self.emit("not_ready", reason="exit", seconds=seconds)
                raise Over("exit", "the server exited before it was ready")
            if seconds >= ready["timeout_s"]:
                self.emit("not_ready", reason="timeout", seconds=seconds)
                raise Over("not_ready", "the server was not ready after %s s" % ready["timeout_s"])
            yield

    def _probe(self, probe: Json) -> Probing:
        """One step; true if an answer of it failed.

        After a failed answer the engine gets a moment to die of it: its last words are the evidence.
        """
        limit = self.trial["limits"]["body_bytes"]
        calls = [Call(probe, number + 1, self._address(), limit) for number in range(probe["requests"])]
        step = Calls(calls, probe["concurrency"], self._wake)
        failed, gone = False, 0.0
        try:
            while step.open:
                if not self.examined and step.late(time.monotonic()):
                    self._examine(time.monotonic() + GATHER_S)  # before its clients let go, for then it may go on
                over = step.harvest(time.monotonic())
                gone = gone or (time.monotonic() if self._gone() else 0.0)
                if gone and step.open and time.monotonic() - gone >= LAST_WORDS_S:
                    unsent = "refused", "not sent: the server had exited"
                    over += step.cut_all("reset", "the server exited while this was in flight", unsent)
                for call in over:
                    failed = failed or call.error is not None or (call.status or 0) >= 500
                    self.failed = self.failed or failed
                    self._report(call)
                if step.open:
                    yield
        finally:
            for call in step.cut_all("other", "given up: the trial ended"):
                self._report(call)
        settled = time.monotonic() + (self.trial["stop"]["settle_s"] if failed else 0)
        while not self._gone():
            if time.monotonic() >= settled:
                return failed
            yield
        raise Over("exit", "the server exited by itself")

    def _report(self, call: Call) -> None:
        probe = call.probe
        self.emit("probe", step=probe["step"], name=probe["name"], request=call.number, **call.answer())
        call.body = bytearray()  # a step of a thousand answers is not kept in memory

    def _address(self) -> tuple[str, int]:
        return self.trial["host"], self.port or 0

    def _ask(self, paths: list[str], timeout_s: float) -> Calls:
        asked = ({**PROBE_DEFAULTS, "path": path, "timeout_s": timeout_s} for path in paths)
        limit = self.trial["limits"]["body_bytes"]
        return Calls([Call(probe, 1, self._address(), limit) for probe in asked], len(paths), self._wake)

    # The end

    def _gather(self) -> None:
        """Before the kill, because a hang that was only killed was not diagnosed; a trial that went well pays little.

        Nobody waits for evidence once the lease is lost or a stop was asked for: what costs nothing is taken then.
        """
        if self.pid is None:
            return
        badly, until = self.reason != "done" or self.failed, time.monotonic() + GATHER_S
        serve, living = self.trial["mode"] == "serve", self._living()
        if self.examined:  # and something may have been killed since
            self._record("cgroup", self._cgroup)
            self._record_kernel_log()
        elif badly or self.exit not in (None, (0, None)):
            self._examine(until)
        elif serve:
            self._record("processes", processes_facts, living)
        if serve and living and self.port is not None and not self.examined:
            self._gather_pages(until)

    def _examine(self, until: float) -> None:
        """What may tell why it fails or hangs, once."""
        self.examined = True
        living, serve, began = self._living(), self.trial["mode"] == "serve", time.monotonic()
        if living or serve:
            self._record("processes", processes_facts, living)
        self._record("cgroup", self._cgroup)
        if self._hurried():
            return
        self._record_kernel_log()
        self._record("shm", shm_state, living)
        used = {process.pid: cpu_seconds(process.pid) for process in living[:PROCESSES]}
        if living and serve and self.port is not None:
            self._gather_pages(until)
        if living:
            while time.monotonic() - began < BUSY_S:
                self._wait(BUSY_S)
            self._record("busy", self._busy, used, time.monotonic() - began)
            self._gather_stacks(pythons(living)[:PROCESSES], until)
        if living or has_nvidia(self.env):
            self._gather_gpus(until)

    def _record_kernel_log(self) -> None:
        if self.kernel_log is not None and not self._hurried():
            self._record("kernel_log", self.kernel_log.news)

    def _cgroup(self) -> Json:
        return {"before": self.cgroup_before, "after": cgroup_memory()}

    def _busy(self, used: dict[int, float | None], seconds: float) -> Json:
        """How many cores each process has kept busy since: a hang that computes is another than one that waits."""
        now = {pid: cpu_seconds(pid) for pid in used}
        pairs = ((pid, used[pid], now[pid]) for pid in used)
        cores = {str(pid): round((b - a) / seconds, 2) for pid, a, b in pairs if a is not None and b is not None}
        return {"seconds": round(seconds, 3), "cores": cores}

    def _gather_gpus(self, until: float) -> None:
        if self._record("gpus", self._asked_gpus, until) or self._hurried():
            return
        if find_tool("nvidia-smi", self._path()) is not None:
            for what, query in (("gpus", GPU_QUERY), ("gpu_processes", GPU_PROCESSES_QUERY)):
                if not self._record(what, self._run, ["nvidia-smi", query, "--format=csv"], until):
                    break

    def _asked_gpus(self, until: float) -> list[Json]:
        if not has_nvidia(self.env):
            raise OSError("no NVIDIA driver here: neither /dev/nvidiactl nor %s" % NVML)
        return self._gpus(until)

    def _path(self) -> list[str]:
        return self.env.get("PATH", os.defpath).split(os.pathsep)

    def _gather_stacks(self, processes: list[Process], until: float) -> None:
        """Where Python stands, in every process of the tree; where that cannot be had, why not."""
        path = self._path()
        program = find_tool(self.trial["argv"][0], path) or self.trial["argv"][0]
        beside = [os.path.dirname(command_line(process.pid).split(" ")[0]) for process in processes]
        tool = find_tool("py-spy", [os.path.dirname(program), *beside, *self.trial["gather"]["tools"], *path])
        for process in processes:
            self._record("stack", self._stack, tool, process, until, pid=process.pid, comm=process.comm)

    def _stack(self, tool: str | None, process: Process, until: float) -> Json:
        """Without a pause where the process cannot be paused, and where pausing it has failed."""
        if tool is None:
            raise OSError("py-spy was not found beside the engine, beside ruleout or on the PATH: pip install py-spy")
        dump = [tool, "dump", "--json", "--pid", str(process.pid)]
        now = read_process(process.pid)
        try:
            if now is not None and now.state not in "TtD":
                with suppress(OSError, TimeoutError):
                    return {"threads": threads_of(self._run(dump, until))}
            return {"threads": threads_of(self._run([*dump, "--nonblocking"], until))}
        except (OSError, TimeoutError) as trouble:
            raise OSError("; ".join(filter(None, (str(trouble)[:500], why_not_traced())))) from None

    def _record(self, what: str, look: Callable[..., Any], *args: Any, **fields: Any) -> bool:
        """One piece of evidence; that it could not be had is recorded too, and answered with false."""
        data, error = None, None
        try:
            data = look(*args)
        except Exception as trouble:
            error = "%s: %s" % (type(trouble).__name__, trouble)
        self.emit("gathered", what=what, data=data, error=error, **fields)
        return error is None

    def _hurried(self) -> bool:
        return self.lease.gone is not None or self.lease.asked > 0 or self.reason == "lease_lost"

    def _gather_pages(self, until: float) -> None:
        paths = self.trial["gather"]["paths"]
        pages = self._ask(paths, ASK_S)
        while pages.open and time.monotonic() < until and not self._hurried():
            self._report_pages(pages.harvest(time.monotonic()))
            if pages.open:
                self._wait(TICK_S)
                self._reap_children()
        self._report_pages(pages.cut_all("other", "given up: the trial has to end", ("other", "not asked")))

    def _report_pages(self, calls: list[Call]) -> None:
        for call in calls:
            error = None if call.error is None else "%s: %s" % (call.error, call.detail)
            self.emit("gathered", what="page", path=call.probe["path"], data=call.answer(), error=error)

    def _run(self, argv: list[str], until: float, seconds: float = ASK_S) -> str:
        """The output of a helper that may hang as the engine does: it is given up in time, and at once when hurried."""
        until = min(until, time.monotonic() + seconds)
        if self._hurried() or time.monotonic() >= until:
            raise TimeoutError("not asked: the trial has to end")
        helper = subprocess.Popen(
            argv, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        while True:
            try:
                output = helper.communicate(timeout=TICK_S)[0].decode("utf-8", "replace")[: 1 << 22]
                break
            except subprocess.TimeoutExpired:
                self._wait(0)
                if time.monotonic() >= until or self._hurried():
                    helper.kill()
                    helper.returncode = -9  # it is reaped, or found left over, with all the others
                    raise TimeoutError("%s did not answer within %s s" % (argv[0], seconds)) from None
        if helper.returncode != 0:
            raise OSError("%s exited with %d: %s" % (argv[0], helper.returncode, output.strip()[-500:]))
        return output

    def _grace_s(self) -> float:
        if self.lease.asked > 1:
            return 0.0
        grace = float(self.trial["stop"]["grace_s"])
        return min(grace, LOST_GRACE_S) if self.lease.gone is not None or self.reason == "lease_lost" else grace

    def _stop(self) -> None:
        if self.pid is None:
            return
        self._watch_shm(math.inf)
        self.emit("stopped", signals=stop_tree(self._living, self._grace_s, self._wait))
        self._reap_children()

    def _prove(self) -> None:
        """What is left, normally nothing: processes, the port, shared memory."""
        if self.pid is None:
            remove_tmp(self.tmp, self.trial["token"])
            return
        if self.log is not None and os.fstat(self.log.fd).st_size != self.log_reported:
            self.emit("log", bytes=os.fstat(self.log.fd).st_size)
        left = self._living()
        removed = remove_shm(self.shm_before, self.shm_seen)
        if not left:
            remove_tmp(self.tmp, self.trial["token"])
        _emit_left_over(self.emit, left, self.trial["host"], self.port, self.shm_before, removed)


def _emit_left_over(
    emit: Callable[..., None],
    left: list[Process],
    host: str,
    port: int | None,
    shm_before: Iterable[str] | None,
    removed: list[str],
) -> None:
    processes = [{**process.summary(), "state": process.state} for process in left]
    free = None if port is None else bind_trouble(host, port) is None
    shm = [] if shm_before is None else orphaned_shm(shm_before)
    emit("left_over", processes=processes, port_free=free, shm=shm, shm_removed=removed)


def _become_subreaper() -> bool | str:
    """True, or why not. Without it, what daemonises is found by what was recorded of it."""
    try:
        import ctypes

        if ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0) == 0:  # PR_SET_CHILD_SUBREAPER
            return True
        return os.strerror(ctypes.get_errno())
    except Exception as trouble:
        return "%s: %s" % (type(trouble).__name__, trouble)


def _launch_trouble(command: str, trouble: Exception) -> str:
    if isinstance(trouble, FileNotFoundError):
        return "%s was not found (or the interpreter in its first line): install it or give its full path" % command
    if isinstance(trouble, PermissionError):
        return "%s is not executable by this user: chmod +x it, or start it through its interpreter" % command
    return "%s cannot be started: %s: correct the command" % (command, trouble)


def _own_trouble(trouble: Exception) -> Over:
    import traceback

    where = traceback.extract_tb(trouble.__traceback__)[-1]
    return Over("failed", "the agent: %s: %s (line %s)" % (type(trouble).__name__, trouble, where.lineno))


def run() -> int:
    """Reads the trial and runs it. 2 if it was no trial."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    lease, line = Lease(), b""
    try:
        line = lease.first_line()
        trial = read_trial(line)
    except (OSError, ValueError, TypeError, AttributeError) as trouble:
        journal = Journal(_spool_of(line))
        journal.emit("end", reason="failed", detail="this is no trial: %s" % trouble)
        journal.close()
        return 2
    journal = Journal(trial["spool"])
    Agent(trial, lease, journal).run()
    journal.close()
    return 0


def _spool_of(line: bytes) -> str | None:
    """Where a refusal can be written down, if the document says that much."""
    try:
        spool = json.loads(line)["spool"]
        return spool if isinstance(spool, str) and os.path.isdir(spool) else None
    except (ValueError, TypeError, KeyError):
        return None


# --- after the agent's own death -------------------------------------------------------------------------------------


class Remains:
    """What a spool says about a trial whose agent may be dead."""

    def __init__(self, spool: str) -> None:
        self.path = os.path.join(spool, "events.jsonl")
        try:
            self.trial = json.loads(_text(os.path.join(spool, "trial.json"), 1 << 26))
        except (OSError, ValueError):
            self.trial = {}
        self.extra: dict[tuple[int, int], int] = {}
        self.read()

    def read(self) -> None:
        self.events = read_events(self.path)
        self.agent = self._last("agent")
        self.started = self._last("started")
        self.tmp = (self._last("tmp") or {}).get("path")
        self.ended = self._last("end") is not None
        self.same_boot = self.agent is None or self.agent.get("boot_id") == boot_id()

    def _last(self, kind: str) -> Json | None:
        return next((event for event in reversed(self.events) if event["kind"] == kind), None)

    def shm(self) -> dict[str, int]:
        """The files in /dev/shm that processes of the trial were seen to hold, with their inodes."""
        return {
            path: inode for event in self.events if event["kind"] == "shm" for path, inode in event["files"].items()
        }

    def recorded(self) -> dict[tuple[int, int], int]:
        """Each process the agent wrote down, and its session."""
        found = dict(self.extra)
        if self.started is not None:
            found[self.started["pid"], self.started["start_time"]] = self.started["pid"]
        for event in self.events:
            for member in event["members"] if event["kind"] == "processes" else ():
                found[member["pid"], member["start_time"]] = member["sid"]
        return found

    def living(self) -> list[Process]:
        token = self.trial.get("token") if isinstance(self.trial, dict) else None
        found = provable(self.recorded(), token) if self.same_boot else []
        self.extra.update((process.identity, process.sid) for process in found)  # its parent may be gone the next time
        return found

    def living_agent(self) -> Process | None:
        if self.agent is None or not self.same_boot:
            return None
        process = read_process(self.agent["pid"])
        same = process is not None and process.identity == (self.agent["pid"], self.agent["start_time"])
        return process if process is not None and same and process.lives else None

    def wait_for_agent(self, seconds: float) -> bool:
        """True as soon as the agent has written its end or is dead."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.living_agent() is None:
                self.read()
                return True
            self.read()
            if self.ended:
                return True
            time.sleep(0.1)
        return False

    def end_agent(self) -> None:
        """A live agent is waited for, then asked, then killed; what it had below it then is ours to stop."""
        agent = self.living_agent()
        if agent is None or self.wait_for_agent(20.0):
            return
        send(agent, signal.SIGTERM)
        if not self.wait_for_agent(10.0):
            below = descendants(all_processes(), [agent.pid])
            self.extra.update((process.identity, process.sid) for process in below)
            send(agent, signal.SIGKILL)
            self.wait_for_agent(5.0)


def reap(spool: str) -> int:
    """Ends what is provably left of a trial and writes the end that its agent could not. Twice does no harm."""
    import fcntl

    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    remains = Remains(spool)
    remains.end_agent()
    journal = Journal(spool, max((event.get("seq", 0) for event in remains.events), default=0))
    if journal.fd >= 0:
        fcntl.flock(journal.fd, fcntl.LOCK_EX)  # two commands may find the same wreck
        remains.read()
    if remains.ended:
        if not remains.living():
            return 0
        journal.fd = -1  # the spool ends with its end: what follows goes to stdout only
    signals = stop_tree(remains.living, lambda: LOST_GRACE_S, time.sleep)
    journal.emit("stopped", signals=signals)
    started, trial = remains.started or {}, remains.trial if isinstance(remains.trial, dict) else {}
    shm_before = remains.agent.get("shm") if remains.agent is not None and remains.same_boot else None
    host = trial.get("host") or DEFAULTS["host"]
    removed = [] if shm_before is None else remove_shm(shm_before, remains.shm())
    left = remains.living()
    if not left:
        remove_tmp(remains.tmp, trial.get("token"))
    _emit_left_over(journal.emit, left, host, started.get("port"), shm_before, removed)
    if not remains.ended:
        why = "the agent died before its end" if remains.same_boot else "the machine was restarted during the trial"
        journal.emit("end", reason="reaped", detail=why if remains.agent else "the agent never wrote anything")
    journal.close()
    return 0


def main(argv: list[str]) -> int:
    if argv[1:] == ["run"]:
        return run()
    if len(argv) == 3 and argv[1] == "reap":
        return reap(argv[2])
    if argv[1:] == ["gpus"]:
        return gpus()
    sys.stderr.write("usage: agent.py run < TRIAL | agent.py reap SPOOL | agent.py gpus\n")
    return 2


if __name__ == "__main__":
    status = main(sys.argv)
    os._exit(status)  # not through the interpreter's end: a thread may still wait for an answer
