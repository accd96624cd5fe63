"""When a traced launch has told all that it can: by the records, which grow while it is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ruleout.engines import Request
from ruleout.numerics.conclusion import concluded
from ruleout.runners.base import Event

BORN = frozenset({"born", "operation"})
"""Kinds of records that ask for a second look."""


class Enough(Exception):  # noqa: N818 - no error
    """Nothing is left to learn from this launch."""


class Watch:
    """Hears what the agent reports, and ends the launch when the records hold all that it can tell."""

    def __init__(
        self, records: Path, usual: int, record: bool, requests: Sequence[Request], on_event: Callable[[Event], None]
    ) -> None:
        self.following, self.usual, self.record, self.on_event = _Following(records), usual, record, on_event
        self.open = {request.step: request.requests for request in requests}
        self.last = 0
        self.enough = False

    def __call__(self, event: Event) -> None:
        self.on_event(event)
        step = event.get("step")
        if event["kind"] != "probe" or not isinstance(step, int) or step not in self.open:
            return
        self.open[step] -= 1
        if self.open[step]:
            return
        self.last = step
        kinds = self.following.kinds()
        if "hooks" not in kinds or self._all_is_told(kinds, step):
            self.enough = True
            raise Enough

    def _all_is_told(self, kinds: frozenset[str], step: int) -> bool:
        if self.record and step < self.usual:  # who records wants each request at least once
            return False
        if not kinds & BORN:
            return step == self.usual
        found = concluded(self.following.folder)
        return found.born is not None and found.born.explained


@dataclass
class _Following:
    """Which kinds of records there are so far, read as they grow."""

    folder: Path
    _offsets: dict[Path, int] = field(default_factory=dict)
    _kinds: set[str] = field(default_factory=set)

    def kinds(self) -> frozenset[str]:
        """All kinds but `call`, of which there may be millions."""
        for path in self.folder.glob("*.jsonl"):
            with path.open("rb") as lines:
                lines.seek(self._offsets.get(path, 0))
                for line in lines:
                    if not line.endswith(b"\n"):
                        break
                    self._offsets[path] = self._offsets.get(path, 0) + len(line)
                    if b'"kind": "call"' not in line[:200]:
                        self._kinds.add(_kind(line))
        return frozenset(self._kinds - {""})


def _kind(line: bytes) -> str:
    try:
        record = json.loads(line)
    except ValueError:
        return ""
    return str(record.get("kind", "")) if isinstance(record, dict) else ""
