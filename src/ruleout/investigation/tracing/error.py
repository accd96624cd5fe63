"""The command's own failure, as its log and its client tell of it, with the frame that raised it."""

from __future__ import annotations

import re
from pathlib import Path

from ruleout.investigation.comparing import ANOTHER_TEXT
from ruleout.investigation.suspecting import diagnosis_of
from ruleout.investigation.tracing.launch import Launched
from ruleout.model import DiagnosedFailure, Failure, FailureClass
from ruleout.model.traced import EngineError

FRAMES = 8
"""How many are kept."""
_FRAME = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')


def of_numbers(failure: Failure) -> bool:
    """Whether numbers that are not finite would explain a failure. Another text than a reference's is finite."""
    if failure.class_ is FailureClass.WRONG_OUTPUT:
        return failure.message != ANOTHER_TEXT
    probabilities = failure.class_ is FailureClass.DEVICE_SIDE_ASSERT and "probability tensor" in failure.message
    return failure.class_ is FailureClass.NAN_INF or probabilities


def engine_error(launched: Launched, folder: Path) -> EngineError | None:
    """The failure of a launch; None when nothing failed. Its log is named relative to `folder`."""
    failure = launched.run.failure
    if failure is None:
        return None
    told = diagnosis_of(launched.log).failure if launched.log.is_file() else None
    line = next((one.line for one in failure.evidence if one.line), 0)
    frames = told.frames[-FRAMES:] if told is not None and line else ()
    return EngineError(
        failure.class_,
        failure.exposure.stage,
        failure.message,
        failure.exception,
        line,
        _raised_at(launched.log, told) if told is not None and frames else "",
        frames,
        failure.client,
        str(launched.log.relative_to(folder)),
    )


def _raised_at(log: Path, told: DiagnosedFailure) -> str:
    """The innermost frame, `path:line:function`, by the line of the log that prints it last before the error."""
    name, _, function = told.frames[-1].partition(":")
    found = ""
    with log.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            frame = _FRAME.search(line)
            if frame and frame["function"] == function and frame["path"].replace("\\", "/").endswith(name):
                found = f"{frame['path']}:{frame['line']}:{function}"
                if number >= told.line:
                    break
    return found or told.frames[-1]
