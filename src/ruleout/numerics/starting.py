"""How the tracer gets into an engine's processes without a change to its installation.

Python imports a module named `sitecustomize` when it starts, from wherever it is found first: a folder that goes first
on `PYTHONPATH` is enough, and every process that the engine starts inherits it. Options -I, -E and -S turn that off,
and a command that sets its own `PYTHONPATH` loses it: such a process never says hello.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

_TRACER = Path(__file__).with_name("tracer.py")
_MODULE = "_ruleout_tracer.py"
_FOLDER = "ruleout-tracer"
_SITECUSTOMIZE = '''"""Starts ruleout's tracer, then whatever sitecustomize this one stands in front of."""

try:
    import _ruleout_tracer

    _ruleout_tracer.start()
    _ruleout_tracer.next_sitecustomize(__file__)
except Exception as trouble:  # the engine comes first: without its tracer it still has to start
    import sys

    print("ruleout: the tracer did not start: %s: %s" % (type(trouble).__name__, trouble), file=sys.stderr)
'''


class TraceMode(StrEnum):
    """`watch`: looks for the first number that is not finite; `record`: writes down every call of every module too."""

    WATCH = "watch"
    RECORD = "record"


def carry(
    folder: Path, mode: TraceMode = TraceMode.WATCH, arm: str = "", step: int | None = None, path: str | None = None
) -> Mapping[str, str]:
    """Puts the tracer into a folder and returns the environment variables that make every Python process load it.

    Args:
        folder: holds what is carried, and `records`, into which each process writes a file of its own.
        arm: the path of a module (`*`: of any): every operation is looked at from the start, not only once a module
            was caught. Much slower; for engines that die of the first bad number.
        step: with `arm`, the decode step from which on.
        path: the `PYTHONPATH` that the command would have; by default that of this process.
    """
    carried, written = folder.resolve() / _FOLDER, folder.resolve() / "records"
    carried.mkdir(parents=True, exist_ok=True)
    written.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_TRACER, carried / _MODULE)
    (carried / "sitecustomize.py").write_text(_SITECUSTOMIZE)
    before = os.environ.get("PYTHONPATH", "") if path is None else path
    variables = {
        "PYTHONPATH": os.pathsep.join([str(carried), *([before] if before else [])]),
        "RULEOUT_TRACE_DIR": str(written),
        "RULEOUT_TRACE_MODE": mode.value,
    }
    if arm:
        variables["RULEOUT_TRACE_ARM"] = arm
        if step is not None:
            variables["RULEOUT_TRACE_STEP"] = str(step)
    return variables


def records_folder(folder: Path) -> Path:
    """Where the processes write that were started with what `carry` returned for the folder."""
    return folder.resolve() / "records"
