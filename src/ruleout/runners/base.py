"""A runner carries the agent to where the hardware is and brings its events back; what they mean is not its business.

The spool on the agent's side is the truth, the stream of events a convenience: who loses the stream reads the spool.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

Event = Mapping[str, Any]


class Runner(Protocol):
    """One way to a host."""

    def run(self, trial: Mapping[str, Any], on_event: Callable[[Event], None]) -> list[Event]:
        """Runs a `ruleout.trial/1` to its end, calling back at each event; all its events, the last being `end`."""

    def interrupt(self) -> None:
        """Ends all trials that run in other threads, as a Ctrl-C does the one in the main thread; for good."""

    def recover(self, spool: Path) -> list[Event]:
        """Ends what an earlier run left behind in its spool, and gives back its events; harmless when repeated."""


def parse_event(line: bytes | str) -> Event | None:
    """The event of a line, or None for what is none (a line torn by a full disk or a kill)."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("kind"), str) else None


def read_events(path: Path) -> list[Event]:
    """The events of a spool file; torn and foreign lines are passed over, a missing file holds none."""
    try:
        with path.open("rb") as lines:
            return [event for event in map(parse_event, lines) if event is not None]
    except OSError:
        return []


def merged(spool: Iterable[Event], mirror: Iterable[Event]) -> list[Event]:
    """Each event once, the end last: a full disk keeps events from the spool, a lost stream from the mirror."""
    found = list(spool)
    known = {event.get("seq") for event in found}
    found += [event for event in mirror if event.get("seq") not in known]
    return sorted(found, key=lambda event: (event["kind"] == "end", event.get("seq", 0)))


def ended(events: Iterable[Event]) -> bool:
    """Whether the trial's last word has been said."""
    return any(event["kind"] == "end" for event in events)
