"""What was gathered of a trial before it was stopped, as texts that a person reads, and as facts with their addresses.

The agent's events are the record; the files in the trial's folder `evidence/` say the same, and can be written again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruleout.investigation.folder import write_whole
from ruleout.model import Evidence

FOLDER = "evidence"
LINES = 4000
"""The most lines of one file."""
_RANK = re.compile(r"(?i)(?:\b|_)(?:TP|rank)[ _=:]?(\d+)")

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread's Python stack, `function (file:line)`, the innermost first; `line` is that of the innermost frame."""

    name: str
    frames: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the trial, as it was seen.

    Attributes:
        state: as the kernel's letter: R runs, S sleeps, D waits in the kernel, T is stopped.
        wchan: where it sleeps in the kernel; empty when that was not told.
        cores: how many it kept busy; None when that was not measured.
        line: its line in evidence/processes.txt.
    """

    pid: int
    name: str
    state: str
    wchan: str
    cores: float | None
    line: int
    threads: tuple[Thread, ...] = ()

    @property
    def label(self) -> str:
        """Its rank where its name tells, else its number."""
        rank = _RANK.search(self.name)
        return f"rank {rank[1]}" if rank else f"process {self.pid}"


@dataclass(frozen=True, slots=True)
class Gathered:
    """All that was gathered.

    Attributes:
        kernel: what the kernel said during the trial.
        oom_kills: by how much the OOM killer's counter of the trial's control group rose; None when it is not known.
        untold: what could not be had, and why.
        files: the lines of each file, by its path relative to the trial's folder.
    """

    processes: tuple[Process, ...] = ()
    kernel: tuple[Evidence, ...] = ()
    oom_kills: int | None = None
    shm: Mapping[str, Any] = field(default_factory=dict)
    gpus: tuple[Mapping[str, Any], ...] = ()
    pages: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    untold: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def keep(self, spool: Path) -> None:
        """Write the files into the trial's folder. Raises MissingError when there is no room."""
        for path, lines in self.files.items():
            write_whole(spool / path, "".join(f"{line}\n" for line in lines))


def gathered(events: Sequence[Event]) -> Gathered:
    """What the `gathered` events of a trial hold."""
    found: dict[str, list[Event]] = {}
    for event in events:
        if event["kind"] == "gathered":
            found.setdefault(str(event.get("what")), []).append(event)
    files: dict[str, list[str]] = {}
    kernel = _kernel(found.get("kernel_log", ()))
    processes = _processes(found, files)
    for name, lines in (
        ("kernel.log", kernel),
        ("memory.txt", _plain(found.get("cgroup", ()))),
        ("shm.txt", _plain(found.get("shm", ()))),
        ("gpus.txt", _plain([*found.get("gpus", ()), *found.get("gpu_processes", ())])),
        *((f"page{_file_name(str(e.get('path')))}.txt", _page(e)) for e in found.get("page", ())),
    ):
        if lines:
            files[f"{FOLDER}/{name}"] = list(lines)
    untold = {what: _why(e) for what, told in found.items() for e in told if e.get("error")}
    return Gathered(
        processes=processes,
        kernel=tuple(Evidence(f"{FOLDER}/kernel.log", number, line) for number, line in enumerate(kernel, 1)),
        oom_kills=_oom_kills(found.get("cgroup", ())),
        shm=_data(found.get("shm", ()), dict) or {},
        gpus=tuple(gpu for gpu in _data(found.get("gpus", ()), list) or () if isinstance(gpu, dict)),
        pages={str(e.get("path")): e["data"] for e in found.get("page", ()) if isinstance(e.get("data"), dict)},
        untold=untold,
        files={path: tuple(lines[:LINES]) for path, lines in files.items()},
    )


# -- processes and stacks --------------------------------------------------------------------------------------


def _processes(found: Mapping[str, Sequence[Event]], files: dict[str, list[str]]) -> tuple[Process, ...]:
    facts = [f for f in _data(found.get("processes", ()), list) or () if isinstance(f, dict) and "pid" in f]
    cores = (_data(found.get("busy", ()), dict) or {}).get("cores", {})
    stacks = {event.get("pid"): event for event in found.get("stack", ())}
    table: list[str] = []
    dumped: list[str] = []
    seen = []
    for one in facts:
        pid = int(one["pid"])
        busy = cores.get(str(pid))
        name = str(one.get("cmdline") or one.get("comm"))
        wchan = str(one.get("wchan") or "").strip("0\n")
        used = "" if busy is None else f", {busy:.2f} cores busy"
        size = f"{int(one.get('rss_kib') or 0) >> 10} MiB, {one.get('threads')} threads"
        table.append(f"{pid} {one.get('comm')} {one.get('state')} {wchan or '-'}: {size}{used}: {name}")
        line = len(table)
        table += [f"    {frame}" for frame in str(one.get("stack") or "").splitlines()[:24]]
        threads = tuple(_threads(pid, name, stacks[pid], dumped)) if pid in stacks else ()
        seen.append(Process(pid, name, str(one.get("state") or ""), wchan, busy, line, threads))
    for name, lines in (("processes.txt", table), ("stacks.txt", dumped)):
        if lines:
            files[f"{FOLDER}/{name}"] = lines
    return tuple(seen)


def _threads(pid: int, name: str, event: Event, lines: list[str]) -> Iterator[Thread]:
    """The threads in a `gathered` event, each written down first."""
    lines.append(f"process {pid}: {name}")
    data = event.get("data")
    if not isinstance(data, dict):
        lines.append(f"  no stack: {_why(event)}")
        return
    for thread in data.get("threads", ()):
        frames = tuple(str(frame) for frame in thread.get("frames", ()))
        holds = ", holds the interpreter's lock" if thread.get("gil") else ""
        active = "active" if thread.get("active") else "idle"
        lines.append(f'  thread {thread.get("thread")} "{thread.get("name")}" {active}{holds}')
        line = len(lines) + 1
        lines += [f"    {frame}" for frame in frames]
        yield Thread(str(thread.get("name") or ""), frames, line)


# -- memory, devices, pages ------------------------------------------------------------------------------------


def _kernel(told: Iterable[Event]) -> list[str]:
    """Each line once: where the kernel's log is asked twice, the second answer may hold the first."""
    said = [event["data"] for event in told if isinstance(event.get("data"), list)]
    return list(dict.fromkeys(str(line) for lines in said for line in lines))


def _oom_kills(told: Sequence[Event]) -> int | None:
    """By how much the counter rose until it was last looked at."""
    data = _data(told[-1:], dict) or {}
    counts = [_counter(data.get(when)) for when in ("before", "after")]
    before, after = counts
    return None if before is None or after is None else max(0, after - before)


def _counter(limits: object) -> int | None:
    if not isinstance(limits, dict):
        return None
    text = f"{limits.get('memory.events', '')}\n{limits.get('memory.oom_control', '')}"
    count = re.search(r"(?m)^oom_kill (\d+)$", text)
    return int(count[1]) if count else None


def _page(event: Event) -> list[str]:
    data = event["data"] if isinstance(event.get("data"), dict) else {}
    head = f"GET {event.get('path')}: {data.get('status') or data.get('error')} after {data.get('seconds')} s"
    return [head, *str(data.get("body") or data.get("detail") or "").splitlines()]


def _plain(told: Sequence[Event]) -> list[str]:
    """The data of some events; what was asked several times, as it was last."""
    last = {str(event.get("what")): event for event in told}
    return [
        line
        for event in last.values()
        for line in (
            f"not told: {_why(event)}"
            if event.get("error")
            else event["data"]
            if isinstance(event.get("data"), str)
            else json.dumps(event.get("data"), indent=1)
        ).splitlines()
    ]


def _why(event: Event) -> str:
    """Why a piece of evidence could not be had, without the name of an exception."""
    return re.sub(r"^\w+Error: ", "", " ".join(str(event.get("error")).split()))


def _data(told: Sequence[Event], kind: type) -> Any:
    """The first data of that type; None when there is none."""
    return next((event["data"] for event in told if isinstance(event.get("data"), kind)), None)


def _file_name(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", path)[:60].rstrip("_")
