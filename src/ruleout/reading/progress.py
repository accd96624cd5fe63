"""An error after which its own process went on with its start is not what the run failed of later.

Engines report at the level of an error what they then do otherwise: a file list that cannot be had of a local path, a
kernel that an autotuner leaves out. Such a line counts for nothing once something else has failed; as long as nothing
has, it is the best that there is. Only a process can tell of itself that it went on: other ranks go on for a while.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ruleout.model import FailureClass, Stage
from ruleout.reading.oneliners import LATE
from ruleout.reading.records import Record
from ruleout.reading.signature import normalise
from ruleout.reading.spotted import Spotted, Weight

_HANDLED = re.compile(
    r"\b[Rr]etrying\b|\b[Ii]gnor(?:ed|ing)\b|\b[Ff]all(?:ing|s)? ?back|\b[Ss]kipp(?:ed|ing)\b"
    r"|[Ww]ill (?:retry|continue|be (?:ignored|skipped))|^(?:\[\d+/\d+\] )?No valid triton configs"
)
"""What became of it, in the line itself. An autotuner of torch's says so in the line below
(https://github.com/pytorch/pytorch/blob/main/torch/_inductor/select_algorithm.py)."""
_DIES = re.compile(r"failed to start|hit an exception|fatal|[Kk]illed|exitcode|terminate called")
_ENDS = (*LATE, FailureClass.NCCL_TIMEOUT_HANG, FailureClass.HOST_OOM_KILL, FailureClass.HANG)
_NO_PROGRESS = (Stage.ARG_PARSING, Stage.SHUTDOWN)
_QUOTED = 60
"""Characters of a message by which a later line is known to speak of it again."""


class Progress:
    """Where each process was last seen going on."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def line(self, record: Record, stage: Stage | None) -> None:
        """A line in which a process began a stage, or said a fact."""
        if record.raw != record.text and record.level in ("", "INFO", "WARNING") and stage not in _NO_PROGRESS:
            self._last[record.source] = record.line

    def passed(self, candidates: Sequence[Spotted]) -> list[Spotted]:
        """Those of the candidates that their process has dealt with, and that no later one speaks of."""
        found = [c for c in candidates if self._went_on(c)]
        others = [c for c in candidates if c not in found]
        return [c for c in found if not _again(c, others)]

    def _went_on(self, candidate: Spotted) -> bool:
        alone = candidate.start == candidate.line and not candidate.frames and not candidate.deadly
        if not alone or candidate.asynchronous or candidate.weight is Weight.CONSEQUENCE:
            return False
        if candidate.class_ in _ENDS or _DIES.search(candidate.text):
            return False
        logged = self._last.get(candidate.rank, 0) > candidate.line and candidate.logged
        return logged or bool(_HANDLED.search(candidate.text))


def _again(candidate: Spotted, others: Sequence[Spotted]) -> bool:
    said = normalise(candidate.message)[:_QUOTED]
    return any(said and said in normalise(c.message) for c in others if c.start > candidate.line)
