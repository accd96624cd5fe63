"""What was read in notes, as rows whose columns stand below one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleout.interfaces.cli.main import run

NOTES = "1. baseline: crash in decode\n2. --kv-cache-dtype bf16: no crash\n3. --tp 4: crash in decode\n"


def test_what_was_changed_stands_in_one_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.md").write_text(NOTES)
    assert run(["findings", "notes.md"]) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    places = [row.index(what) for row, what in zip(rows, ("baseline", "--kv-cache-dtype", "--tp"), strict=True)]
    assert len(set(places)) == 1
