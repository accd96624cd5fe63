"""What is told while a trial runs."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from ruleout.interfaces.cli.progress import Progress
from ruleout.investigation.folder import Folder
from ruleout.investigation.listener import Plan
from ruleout.model import Budget, Case, Configuration


def test_whom_a_trial_waits_for_is_told_and_how_long_it_runs(tmp_path: Path) -> None:
    out = io.StringIO()
    told = Progress(Case("c", "command", ("serve",)), Folder(tmp_path), Budget(), Console(file=out, width=200))
    told.started(1, Plan(Configuration(), "the baseline"), None)
    told.event(1, {"kind": "waiting", "detail": "port 8000 is held by serve [12]"})
    assert out.getvalue() == "  #1   waiting: port 8000 is held by serve [12]\n"
    told.running[1].began -= 90
    assert told.running[1].shown.endswith("waiting: port 8000 is held by serve [12] · 1:30")
