"""A start that goes on has got over what it complained of: a trouble before a later stage began is not why it failed.

That a package could not be imported, a disk was full or a connection was refused ends a start where it strikes, or not
at all. So a warning, or an error that was ignored, says nothing of a failure that came stages later. Two things remain:
a failure that shows in the numbers alone, which began before anybody looked, and lines that a rule asks for
by themselves (`lines`), whatever came between.
"""

from __future__ import annotations

import re

from ruleout.model import Evidence, FailureClass, Stage
from ruleout.model.diagnosis import SURVIVED, Diagnosis

F = FailureClass

_SILENT = frozenset({F.WRONG_OUTPUT, F.NAN_INF, F.ACCURACY_LOSS, F.DEVICE_SIDE_ASSERT})
"""Failures of which a warning at the start may well speak: nothing ended when the numbers went wrong."""
_NO_IMPORT = frozenset({F.OOM, F.HOST_OOM_KILL, F.ILLEGAL_MEMORY_ACCESS, F.NCCL_TIMEOUT_HANG, F.HANG, F.MEMORY_LEAK})
"""What no import that fails ends in, wherever it stands."""
_TROUBLE = re.compile(
    r"(?i)\bwarn(?:ing)?\b|error|exception|\bfail|ignor|cannot|could ?n[o']t|unable|not (?:found|available|supported)"
    r"|no (?:space|module|such)|undefined|missing|denied|refused|Invalid|fall(?:ing|s)? ?back"
)
_IMPORT = re.compile(
    r"ImportError|ModuleNotFoundError|cannot import name|undefined symbol|No module named|[Ff]ailed to import"
    r"|[Ii]gnore import error|in inspecting model architecture|cannot open shared object"
)
_IGNORED = re.compile(r"^\W*Ignor(?:e|ed|ing)\b|\(ignored\)")
_ORDER = {stage: place for place, stage in enumerate(Stage)}


class Overcome:
    """What of a run's lines says nothing of its failure."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        failure = diagnosis.failure
        self._failure = failure
        self._class = failure.class_ if failure else F.NONE
        self._warns = {(warning.source, warning.line) for warning in diagnosis.warnings}
        self._survived = {(warning.source, warning.line) for warning in diagnosis.warnings if warning.why == SURVIVED}
        source = failure.source if failure else ""
        self._began = [
            (span.line, _ORDER[Stage(span.name)])
            for span in diagnosis.stages
            if failure and span.line <= failure.line and span.name in _ORDER and span.source in ("", source)
        ]

    def __call__(self, line: Evidence) -> bool:
        """Whether the start went on after this line, which tells of a trouble."""
        failure, address = self._failure, (line.source, line.line)
        if failure is None or failure.inferred or line.source != failure.source or line.line >= failure.line:
            return False
        if self._class in _NO_IMPORT and _IMPORT.search(line.text):
            return True
        if not (address in self._warns or _TROUBLE.search(line.text)) or not self._went_on(line.line):
            return False
        return self._class not in _SILENT or address in self._survived or bool(_IGNORED.search(line.text))

    def _went_on(self, line: int) -> bool:
        before = [order for begin, order in self._began if begin <= line]
        return bool(before) and any(begin > line and order > max(before) for begin, order in self._began)
