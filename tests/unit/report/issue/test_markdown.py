"""Whatever a log holds: in a report it closes nothing, mentions nobody, hides nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleout.model.inert import inert
from ruleout.report.issue.markdown import LONGEST, block, cell, clipped, code, folded, one_line, prose

HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;https://evil.example\x07click\x1b]8;;\x07",
    "left\u202eright\u2066x\u2069",
    "zero\u200bwidth\ufeff",
    "a\x00b\x07c\x9bd",
    "tag\U000e0041s",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_unseen_is_left(text: str) -> None:
    shown = inert(text)
    assert all(c.isprintable() or c in "\n\t" for c in shown)
    assert "evil.example" not in shown or "click" in shown


@given(st.text(alphabet=st.sampled_from(list("`~a \n<>&@#|\\")), max_size=60))
def test_a_block_is_closed_by_its_own_fence_only(text: str) -> None:
    lines = block(text).split("\n")
    fence = lines[-1]
    assert set(fence) == {"`"}
    assert lines[0] == f"{fence}text"
    assert not any(line.strip().startswith(fence) for line in lines[1:-1])


@given(st.text(alphabet=st.sampled_from(list("`a |")), min_size=1, max_size=30))
def test_code_in_a_line_holds_what_it_is_given(text: str) -> None:
    shown = code(text)
    fence = re.match("`+", shown)
    assert fence is not None
    assert shown.endswith(fence[0])
    inner = shown[len(fence[0]) : -len(fence[0])]
    assert fence[0] not in inner
    assert one_line(text) in inner


@pytest.mark.parametrize(
    "text",
    ["<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", "@torvalds", "see #12", "https://evil.example/x"],
)
def test_prose_shows_as_code_what_would_be_read_otherwise(text: str) -> None:
    outside = re.sub(r"(`+).*?\1", "", prose(text))
    assert not re.search(r"[<>@#\[\]]|://", outside)


def test_prose_leaves_sentences_and_their_punctuation_alone() -> None:
    assert prose("it needs kv_cache_dtype, and (a=b_c).") == "it needs `kv_cache_dtype`, and (`a=b_c`)."


def test_a_cell_cannot_end_its_table() -> None:
    assert "|" not in cell("a|b\nc")
    assert "\n" not in cell("a|b\nc")
    assert cell("") == ""


def test_a_line_of_a_megabyte_is_cut_and_says_so() -> None:
    shown = clipped("x" * (1 << 20))
    assert len(shown) < LONGEST + 60
    assert "characters left out" in shown
    assert len(block("y" * (1 << 20))) < LONGEST + 120


def test_what_is_folded_is_closed() -> None:
    assert folded("a", "b").count("<details>") == folded("a", "b").count("</details>") == 1
