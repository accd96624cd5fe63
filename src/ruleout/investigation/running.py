"""Which trials are under way on this machine, in the cache folder: so that whatever command comes next can clean up.

The agent ends a trial when its parent dies, and its parent reaps when the agent dies. If both were killed, nobody is
left; then the note that was made before the launch is the only trace, and the next ruleout command follows it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from ruleout.engines.making import cache_folder
from ruleout.runners.base import Runner, read_events


def _notes() -> Path:
    return cache_folder() / "running"


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None when there is no such process, or only its zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


@contextlib.contextmanager
def noted(token: str, spool: Path) -> Iterator[None]:
    """Note that a trial is about to be launched, until it is over."""
    folder = _notes()
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / f"{token}.json"
    owner = {"spool": str(spool), "pid": os.getpid(), "start_time": start_time(os.getpid())}
    temporary = note.with_suffix(".tmp")
    temporary.write_text(json.dumps(owner))
    temporary.replace(note)
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def agent_alive(spool: Path) -> bool:
    """Whether the agent of this trial is still at work."""
    for event in read_events(spool / "events.jsonl"):
        if event["kind"] == "agent":
            started = start_time(int(event["pid"]))
            return started is not None and bool(started == event.get("start_time"))
    return False


def under_way() -> bool:
    """Whether there is a note of any trial."""
    return any(_notes().glob("*.json"))


def reap_orphans(runner: Runner) -> list[Path]:
    """Stop what trials of dead commands left behind. The spools of those that were reaped.

    A trial whose command lives is left alone; so is one whose agent does, which ends it by itself in a few seconds.
    """
    reaped = []
    for note in sorted(_notes().glob("*.json")):
        try:
            owner = json.loads(note.read_text())
            spool = Path(owner["spool"])
            alive = start_time(int(owner["pid"])) == owner["start_time"]
        except (OSError, ValueError, KeyError, TypeError):
            note.unlink(missing_ok=True)
            continue
        if alive or agent_alive(spool):
            continue
        if spool.is_dir():
            runner.recover(spool)
            reaped.append(spool)
        note.unlink(missing_ok=True)
    return reaped
