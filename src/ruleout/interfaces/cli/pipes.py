"""A named pipe that nobody writes to has no end and no beginning: whoever waits for it should know for what.

To open it the plain way would wait without a word; so it is opened at once, and asked whether there is something to
read.
"""

from __future__ import annotations

import os
import select
from pathlib import Path
from typing import TYPE_CHECKING

from ruleout.interfaces.cli.streams import tell_progress

if TYPE_CHECKING:
    from ruleout.reading.diagnose import Stream

_PATIENCE = 2.0
"""Seconds without a word."""


def piped(path: Path) -> Stream:
    """The pipe as a stream, once something was written or its writer has gone. Raises OSError if it cannot be read."""
    from ruleout.reading.diagnose import Stream

    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        waiting = select.poll()
        waiting.register(pipe, select.POLLIN)
        if not waiting.poll(_PATIENCE * 1000):
            tell_progress(f"ruleout: {path}: a pipe to which nobody has written yet: waiting (Ctrl-C ends it)")
            waiting.poll()
        os.set_blocking(pipe, True)
    except BaseException:
        os.close(pipe)
        raise
    return Stream(path.name, os.fdopen(pipe, "rb"))
