"""Probabilities and times in one style, in whatever sentence they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ruleout
from ruleout.model.figures import minutes, percent


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0.0, "0 %"),
        (0.0004, "< 1 %"),
        (0.01, "1 %"),
        (0.5, "50 %"),
        (0.9849, "98 %"),
        (0.99, "99.0 %"),
        (0.994, "99.4 %"),
        (0.99951, "> 99.9 %"),
        (0.999999, "> 99.9 %"),
        (1.0, "> 99.9 %"),
    ],
)
def test_a_probability_is_never_certainty(probability: float, text: str) -> None:
    assert percent(probability) == text


@given(st.floats(0, 1, exclude_min=True))
def test_no_probability_is_told_as_0_or_100(probability: float) -> None:
    assert percent(probability) not in ("0 %", "100 %", "100.0 %")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0:00"),
        (0.005, "< 0:01"),
        (0.5 / 60, "< 0:01"),
        (0.8, "0:48"),
        (12, "12:00"),
        (59.999, "1:00:00"),
        (200, "3:20:00"),
    ],
)
def test_minutes_are_told_as_a_clock_does(value: float, text: str) -> None:
    assert minutes(value) == text


def test_no_module_has_a_style_of_its_own() -> None:
    own = re.compile(r"\{[^{}]*:[^{}]*%\}|:\.\dg\} min\b")
    sources = Path(ruleout.__file__).parent.rglob("*.py")
    assert [f"{p.name}: {found}" for p in sources for found in own.findall(p.read_text("utf-8"))] == []
