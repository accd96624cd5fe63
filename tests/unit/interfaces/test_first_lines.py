"""Who reads only the first ten lines of a diagnosis knows what to do next; and what can be copied runs as it stands."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ruleout.diagnosis.diagnose import diagnosed
from ruleout.interfaces.cli.diagnosis import FIRST, SCREEN, screen
from ruleout.interfaces.cli.rows import clause, pasteable
from ruleout.model import Diagnosis
from ruleout.reading.diagnose import read_run

FIXTURES = Path(__file__).parents[1] / "reading" / "fixtures"
CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "logs"
LOGS = [*sorted(FIXTURES.glob("*.log")), *sorted(CORPUS.glob("*.log"))]


def told(path: Path) -> Diagnosis:
    run = read_run([path])
    return diagnosed(run.diagnosis, run.near, run.lines)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: str(path.stem))
def test_the_first_step_stands_within_ten_lines_of_a_terminal_of_80_columns(path: Path) -> None:
    found = told(path)
    rows = [text for text, _ in screen(found, 80)]
    assert len(rows) <= SCREEN
    assert max(map(len, rows)) <= 80
    if not found.suspects:
        assert not any(row.startswith("Try next") for row in rows)
        return
    assert found.next
    first = rows[:FIRST]
    assert any(row.startswith(("✗", "✓", "?")) for row in first)
    assert any(f"line {found.failure.line}" in row for row in first) if found.failure and found.failure.line else True
    title = next(n for n, row in enumerate(first) if row.startswith("Try next"))
    assert first[title + 1].startswith("  1  ")


def read_by_a_shell(command: str) -> list[str]:
    done = subprocess.run(["sh", "-c", f"printf '%s\\n' {command}"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "command",
    [
        """python3 -m x --model "some folder/m" --json '{"a": 1, "b": 2}' --tp 8 --escaped a\\ b""",
        """python3 -c "import x as t; print(t.__version__, 'a' in t)" --more""",
    ],
)
def test_a_command_is_broken_so_that_a_shell_still_reads_it_as_one(command: str) -> None:
    rows = pasteable(command, 40, 5)
    assert len(rows) > 1
    assert max(map(len, rows)) <= 40
    typed = read_by_a_shell("\n     ".join(rows))
    assert [" ".join(word.split()) for word in typed] == read_by_a_shell(command)


def test_a_command_that_does_not_fit_is_left_out_as_a_whole() -> None:
    assert pasteable("a " * 50, 40, 1) == []
    assert pasteable("x" * 50, 40, 5) == []


def test_a_claim_is_cut_between_clauses() -> None:
    assert clause("graphs are captured: capturing or replaying CUDA graphs breaks it", 40) == "graphs are captured …"
    assert clause("short", 40) == "short"
    assert len(clause("word " * 30, 40)) <= 40
