"""How wide an answer is, and how many lines an error has."""

from __future__ import annotations

import io
import json
import sys

import pytest
from rich.text import Text

from ruleout.interfaces.cli.output import WIDTH, answer_console
from ruleout.interfaces.cli.streams import tell_error, tell_json, tell_text, tolerate_any_streams


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


@pytest.mark.parametrize("name", ["a\nb", "a\r\nb", "a\x1b[2Jb", "a\u2028b", "a\u202eb"])
def test_an_error_has_two_lines_whatever_is_in_a_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    tell_error(f"{name} größer: gone", f"Look at {name}.")
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 2
    assert name not in err
    assert "größer: gone" in err


def test_where_the_locale_lacks_our_signs_others_stand_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))
    monkeypatch.setattr(sys, "stderr", None)
    tolerate_any_streams()
    tell_text("✓ “a” · 2 × b …, ü 中\n")
    assert written.getvalue() == b'+ "a" - 2 x b .., \\xfc \\u4e2d\n'


@pytest.mark.parametrize("shown", [str, Text])
def test_what_is_shown_is_neither_obeyed_nor_taken_for_markup(shown: type, capsys: pytest.CaptureFixture[str]) -> None:
    answer_console().print(shown("serve '[bold]x' [red]\x1b[2J\x9bb\u202e"))
    assert capsys.readouterr().out == "serve '[bold]x' [red]b\n"


def test_a_json_document_holds_nothing_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"a": "\x1b[2J\x9b31m\u202e\u2028\ufeff\U000e0041ü中"}
    tell_json(document)
    out = capsys.readouterr().out
    assert json.loads(out) == document
    assert all(line.isprintable() for line in out.splitlines())
    assert "ü中" in out
