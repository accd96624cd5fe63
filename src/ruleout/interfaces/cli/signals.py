"""A Ctrl-C, a SIGTERM and a terminal that is closed are one thing: stop what was started, keep what was learnt."""

from __future__ import annotations

import signal
import time
from types import FrameType

HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_S = 5.0
"""So long after one of them no other is heard where it could only cut off what is cleaned up."""


def hear(*, patiently: bool) -> None:
    """Have each of them raise KeyboardInterrupt, but for those that whoever started us had ignored (`nohup`).

    Args:
        patiently: only one of them in some seconds, so that impatience leaves nothing half cleaned up.
    """
    heard = _Patient() if patiently else _interrupted
    for number in HEARD:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, heard)


def hear_no_more() -> None:
    """What is left to do is short: nothing must cut it off."""
    for number in HEARD:
        signal.signal(number, signal.SIG_IGN)


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


class _Patient:
    def __init__(self) -> None:
        self._again = 0.0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now >= self._again:
            self._again = now + PATIENCE_S
            raise KeyboardInterrupt
