"""The stacks that Python dumps when it dies of a signal: the thread that died is the one called current.

They are printed the other way round than a traceback, the innermost frame first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

FATAL = "Fatal Python error: "
"""What the dump begins with."""
_MOST, _LINES = 64, 4000
_THREAD = re.compile(r"^(Current thread|Thread) 0x[0-9a-f]+.*\(most recent call first\):")
_FRAME = re.compile(r'^\s+File "([^"]*)", line \d+ in (.+)')


@dataclass(slots=True)
class Fault:
    """A dump that is being read; its first line is `line`, the frames of the current thread are `frames`."""

    line: int
    frames: list[str] = field(default_factory=list)
    _current: bool = False

    def take(self, line: int, text: str) -> bool:
        """Read a line; whether it is part of the dump."""
        if line - self.line > _LINES:
            return False
        if thread := _THREAD.match(text):
            self._current = thread[1] == "Current thread"
            return True
        if frame := _FRAME.match(text):
            if self._current and len(self.frames) < _MOST:
                self.frames.append(f"{frame[1].replace(chr(92), '/').rpartition('/')[2]}:{frame[2].strip()}")
            return True
        return not text.strip() or text.startswith(("Python runtime state", "  ...", "  <no Python frame>"))
