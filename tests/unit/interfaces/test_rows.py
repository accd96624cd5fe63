"""Rows of a terminal: where they may be broken."""

from __future__ import annotations

import pytest

from ruleout.interfaces.cli.rows import folded, wrapped
from ruleout.interfaces.cli.verdict import rows_of


@pytest.mark.parametrize("width", range(24, 60))
def test_no_number_is_torn_from_what_it_counts(width: int) -> None:
    text = "clean in 13 of 13 (trial 5), likeliest with 99.4 % or > 99.9 %, took < 0:01, by trials 11, 12, line 812"
    for rows in (folded(text, width), rows_of(text, width), wrapped(text, width, 2, 99)):
        assert " ".join(row.strip() for row in rows) == text
        for whole in ("trial 5", "99.4 %", "> 99.9 %", "< 0:01", "trials 11", "line 812"):
            assert any(whole in row for row in rows)
        assert max(map(len, rows)) <= width
