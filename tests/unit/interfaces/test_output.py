"""How wide an answer is."""

from __future__ import annotations

import pytest

from ruleout.interfaces.cli.output import WIDTH, answer_console


@pytest.mark.parametrize("told", ["0", "00", "-5", "wide", "", "²", "9" * 30])
def test_columns_that_are_no_width_tell_nothing(
    told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", told)
    console = answer_console()
    console.print("the answer")
    assert (console.width, capsys.readouterr().out) == (WIDTH, "the answer\n")


def test_columns_that_are_a_width_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert answer_console().width == 60
