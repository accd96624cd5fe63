"""What is told while a trial runs."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from ruleout.interfaces.cli.notes import tell_notes
from ruleout.interfaces.cli.progress import Progress
from ruleout.investigation.folder import Folder
from ruleout.investigation.listener import Plan
from ruleout.model import Budget, Case, Configuration
from ruleout.reading.notes import read_notes


def test_whom_a_trial_waits_for_is_told_and_how_long_it_runs(tmp_path: Path) -> None:
    out = io.StringIO()
    told = Progress(Case("c", "command", ("serve",)), Folder(tmp_path), Budget(), Console(file=out, width=200))
    told.started(1, Plan(Configuration(), "the baseline"), None)
    told.event(1, {"kind": "waiting", "detail": "port 8000 is held by serve [12]"})
    assert out.getvalue() == "  #1   waiting: port 8000 is held by serve [12]\n"
    assert told.running[1].shown.endswith(" · 0:00"), "a clock begins at nothing"
    told.running[1].began -= 90
    assert told.running[1].shown.endswith("waiting: port 8000 is held by serve [12] · 1:30")


def test_on_a_terminal_what_is_told_keeps_its_width_and_elsewhere_its_line(tmp_path: Path) -> None:
    case = Case("c", "command", ("serve",))
    plan = Plan(Configuration(), "the baseline", why=("It changes nothing, " * 20,))
    for terminal in (True, False):
        out = io.StringIO()
        console = Console(file=out, width=80, force_terminal=terminal, no_color=True, color_system=None)
        Progress(case, Folder(tmp_path), Budget(), console, explain=True).started(1, plan, None)
        rows = out.getvalue().splitlines()
        assert (max(map(len, rows)) <= 80) is terminal
        assert len(rows) == (2 + 6 if terminal else 3)


def test_notes_are_told_within_the_width_of_a_terminal_and_a_line_each_elsewhere() -> None:
    notes = read_notes(b"# notes\n- `--a-long-flag 1`: crashed " + b"with the same assert " * 6 + b"\n", "notes.md")
    for terminal in (True, False):
        out = io.StringIO()
        tell_notes(Console(file=out, width=60, force_terminal=terminal, no_color=True, color_system=None), notes)
        first, *rows = out.getvalue().splitlines()
        assert first == "notes.md: 1 trial"
        assert (max(map(len, rows)) <= 60) is terminal
        assert all(row == row.rstrip() for row in rows)
        assert not terminal or rows[1].startswith(" " * 9)
