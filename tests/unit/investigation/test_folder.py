"""The folder of an investigation, and what may stand in it before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleout.investigation.folder import TRACES, Folder
from ruleout.model import UsageError


def test_traces_that_were_made_before_are_no_obstacle_and_stay(tmp_path: Path) -> None:
    (tmp_path / TRACES / "0001").mkdir(parents=True)
    folder = Folder(tmp_path)
    folder.create()
    (tmp_path / "case.yaml").write_text("x")
    (tmp_path / "trials" / "0001").mkdir(parents=True)
    folder.remove()
    assert [path.name for path in tmp_path.iterdir()] == [TRACES]


def test_anything_else_is_an_obstacle(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(UsageError, match="exists already"):
        Folder(tmp_path).create()


def test_without_traces_nothing_of_it_stays(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "mine")
    folder.create()
    (folder.path / "case.yaml").write_text("x")
    folder.remove()
    assert not folder.path.exists()
