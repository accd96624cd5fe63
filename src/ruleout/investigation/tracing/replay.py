"""A replay is a gift to whoever maintains the operation; that it cannot be made is no reason for a trace to fail."""

from __future__ import annotations

from pathlib import Path

from ruleout.model import UsageError
from ruleout.model.trace import OperationBirth
from ruleout.numerics.replay import write_replay


def replay(operation: OperationBirth | None, folder: Path) -> Path | None:
    """The script that runs the operation alone, in the folder with its tensors; None where there can be none."""
    if operation is None or operation.tensors is None:
        return None
    try:
        return write_replay(operation, folder)
    except (UsageError, OSError, ValueError, KeyError):  # what it takes cannot be written down, or was cut off
        return None
