"""What a failing trial's processes, memory and devices say about why: the log of a hang says nothing, its stacks do.

A kill for memory is a fact, not a suspicion: the kernel names whom it killed. Everything else is an observation with an
address; where it speaks for a component, that moves the order of the trials, and no verdict rests on it alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from signal import Signals
from typing import Any

from ruleout.diagnosis.stacks import Place, place_of
from ruleout.investigation.evidence import FOLDER, Gathered, Process, Thread
from ruleout.model import Component, Evidence, FailureClass, Observation
from ruleout.model.redaction import SECRETS, Redactor

KILLED = re.compile(r"Killed process (\d+) \((.+?)\)")
_LIMIT = re.compile(r"(?i)memory cgroup")
FULL = 0.01
"""With a smaller share of /dev/shm free, the next segment does not fit."""
BUSY = 0.5
"""Cores from which on a process computes instead of waiting."""
HUNG = frozenset({FailureClass.HANG, FailureClass.NCCL_TIMEOUT_HANG})
_FRAME = re.compile(r"(.*?) \(((?:.*/)?[^/]*)\)$")

Event = Mapping[str, Any]


def killed_for_memory(seen: Gathered, events: Sequence[Event]) -> Evidence | None:
    """The kernel's word that it killed a process of this trial for want of memory; None when it did not.

    Either its log names one of ours. Or, since in a container it names other numbers or cannot be read, the counter of
    the trial's control group rose, and one of ours was killed outright or is gone that bore the name which it tells.
    """
    ours = {int(m["pid"]): str(m.get("comm")) for e in events if e["kind"] == "processes" for m in e.get("members", ())}
    started = [int(e["pid"]) for e in events if e["kind"] == "started" and "pid" in e]
    ours |= {pid: ours.get(pid, "") for pid in started}
    named = [(line, found) for line in seen.kernel if (found := KILLED.search(line.text))]
    line = next((line for line, found in named if int(found[1]) in ours), None)
    if line is not None or not seen.oom_kills:
        return line
    gone = {name for pid, name in ours.items() if pid not in {p.pid for p in seen.processes}}
    line = next((line for line, found in named if found[2] in gone), None)
    if line is None and (_killed_outright(events) or (gone and "kernel_log" in seen.untold)):
        text = f"oom_kill rose by {seen.oom_kills} in the trial's control group"
        return named[0][0] if named else Evidence(f"{FOLDER}/memory.txt", 1, text)
    return line


def _killed_outright(events: Sequence[Event]) -> bool:
    left = next((e for e in reversed(events) if e["kind"] == "exit"), None)
    return left is not None and (left.get("signal") == Signals.SIGKILL or left.get("code") == 128 + Signals.SIGKILL)


def observed(class_: FailureClass, seen: Gathered, killed: Evidence | None) -> tuple[Observation, ...]:
    """What is worth saying of a trial that failed, the most telling first."""
    plain = Redactor(SECRETS)
    found = [*_memory(killed), *_kernel(seen, killed), *_stopped(seen)]
    if class_ in HUNG:
        found += [*_waiting(seen), *_working(seen)]
    found += [*_room(seen), *_pages(seen)]
    if class_ in HUNG and seen.processes and not any(p.threads for p in seen.processes) and "stack" in seen.untold:
        found.append(Observation(f"no Python stack could be had: {seen.untold['stack']}"))
    return tuple(Observation(plain(one.text), one.component, one.weight, one.evidence) for one in found)


# -- what the kernel says --------------------------------------------------------------------------------------


def _memory(killed: Evidence | None) -> Iterator[Observation]:
    if killed is not None:
        what = KILLED.search(killed.text)
        whom = f"{what[2]} (process {what[1]})" if what else "a process of the trial"
        limit = "at its control group's limit" if _LIMIT.search(killed.text) else "since the host had none left"
        where = limit if what else "in its control group"
        text = f"the kernel's OOM killer ended {whom}, {where}"
        yield Observation(text, Component.MEMORY, 0.95, (killed,))


def _kernel(seen: Gathered, killed: Evidence | None) -> Iterator[Observation]:
    ours = {p.pid for p in seen.processes}
    for line in seen.kernel:
        crashed = re.search(r"(\S+?)\[(\d+)\]: segfault|traps: (\S+?)\[(\d+)\] general protection", line.text)
        if re.search(r"NVRM: Xid|fallen off the bus", line.text):
            text = f"the GPU's driver reported an error during the trial: {_said(line)}"
            yield Observation(text, Component.OTHER, 0.5, (line,))
        elif crashed and int(crashed[2] or crashed[4]) in ours:
            yield Observation(f"a process crashed in native code: {_said(line)}", None, 0.0, (line,))


def _said(line: Evidence) -> str:
    return line.text.partition("] ")[2] or line.text


def _stopped(seen: Gathered) -> Iterator[Observation]:
    for process in seen.processes:
        at = (_table(process),)
        if process.state in "Tt":
            yield Observation(
                f"{process.label} was stopped (SIGSTOP or a debugger): it did not run at all", None, 0.0, at
            )
        elif process.state == "D":
            text = f"{process.label} waited in the kernel ({process.wchan or 'where is not told'}): a disk or a driver"
            yield Observation(text, None, 0.0, at)


# -- what Python says ------------------------------------------------------------------------------------------


def _waiting(seen: Gathered) -> Iterator[Observation]:
    """Who waits where; if most wait for one another, whoever does not is the one to look at."""
    places = [(process, *found) for process in seen.processes if (found := _deciding(process)) is not None]
    groups: dict[str, list[tuple[Process, Place | None, Evidence]]] = {}
    for process, place, frame in places:
        groups.setdefault(place.name if place else frame.text, []).append((process, place, frame))
    together = next((name for name, members in groups.items() if members[0][1] and members[0][1].component), None)
    if not groups and any(process.threads for process in seen.processes) and not list(_stopped(seen)):
        yield Observation("every Python thread waits for work: none of them is at the request", None, 0.0)
    for name, members in groups.items():
        place, frames = members[0][1], tuple(frame for _, _, frame in members)
        who = _who([process for process, _, _ in members], len(places))
        if place is None:
            apart = ", while others wait for it" if together and len(groups) > 1 else ""
            yield Observation(f"{who} in {_short(frames[0].text)}{apart}", None, 0.0, frames)
        else:
            alone = len(groups) == 1 or name != together or not place.component
            component = place.component if alone else None
            waited = place.doing.format(frame=_short(frames[0].text))
            yield Observation(f"{who} for {waited}", component, place.weight if component else 0.0, frames)


def _deciding(process: Process) -> tuple[Place | None, Evidence] | None:
    """The place of the process's most telling thread: a known one, else the one that is deepest in its own code."""
    told = [(*place_of(thread.frames), thread) for thread in process.threads]
    telling = [entry for entry in told if entry[1] >= 0]
    if not telling:
        return None
    place, at, thread = min(telling, key=lambda e: (e[0] is None, e[1], e[2].name != "MainThread"))
    return place, _frame(thread, at)


def _frame(thread: Thread, at: int) -> Evidence:
    return Evidence(f"{FOLDER}/stacks.txt", thread.line + at, thread.frames[at])


def _who(processes: Sequence[Process], of: int) -> str:
    labels = [process.label for process in processes]
    if len(labels) > 1:
        ranks = "ranks" if all(label.startswith("rank") for label in labels) else "processes"
        return f"all {of} {ranks} wait" if len(labels) == of else f"{', '.join(labels)} wait"
    return f"{labels[0]} waits"


def _short(frame: str) -> str:
    """A frame with the last parts of its path."""
    found = _FRAME.fullmatch(frame)
    return f"{found[1]} ({'/'.join(found[2].split('/')[-3:])})" if found else frame


def _working(seen: Gathered) -> Iterator[Observation]:
    measured = [process for process in seen.processes if process.cores is not None]
    busy = [process for process in measured if (process.cores or 0.0) >= BUSY]
    if busy:
        cores = ", ".join(f"{process.label} keeps {process.cores:.1f} cores busy" for process in busy[:4])
        yield Observation(f"{cores}: it computes, or spins", None, 0.0, tuple(_table(process) for process in busy[:4]))
    elif measured:
        yield Observation("no process computes: it waits, and is not just slow", None, 0.0, (_table(measured[0]),))


def _table(process: Process) -> Evidence:
    return Evidence(f"{FOLDER}/processes.txt", process.line, f"{process.pid} {process.state} {process.wchan}".strip())


# -- room, devices, pages --------------------------------------------------------------------------------------


def _room(seen: Gathered) -> Iterator[Observation]:
    size, free = seen.shm.get("size"), seen.shm.get("free")
    if isinstance(size, int) and isinstance(free, int) and size and free < FULL * size:
        text = f"/dev/shm is full: {free >> 20} of {size >> 20} MiB are free"
        yield Observation(text, Component.MEMORY, 0.5, (Evidence(f"{FOLDER}/shm.txt", 1, text),))
    ours = {process.pid for process in seen.processes}
    for gpu in seen.gpus:
        for other in gpu.get("processes", ()):
            if ours and other.get("pid") not in ours and (other.get("bytes") or 0) >= 1 << 30:
                text = f"GPU {gpu.get('index')}: {other['bytes'] / (1 << 30):.1f} GiB are held by {other.get('told')}"
                yield Observation(text, Component.MEMORY, 0.3, (Evidence(f"{FOLDER}/gpus.txt", 1, text),))


def _pages(seen: Gathered) -> Iterator[Observation]:
    """A server that lives and whose own page says that it is not well."""
    for path, answer in seen.pages.items():
        status, error = answer.get("status"), answer.get("error")
        ill = error == "timeout" or (isinstance(status, int) and status >= 500)
        if ill and "health" in path and seen.processes:
            said = f"answered {status}" if status else "did not answer"
            where = Evidence(f"{FOLDER}/page{re.sub(r'[^A-Za-z0-9]+', '_', path)}.txt", 1, f"GET {path}")
            yield Observation(f"its own {path} {said} while its processes lived", None, 0.0, (where,))
