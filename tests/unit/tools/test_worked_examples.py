"""The page of worked examples holds what was printed, each example in its place, and is complete."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TOOL = runpy.run_path(str(ROOT / "tools" / "worked_examples.py"))
PAGE = (ROOT / "docs" / "how-to" / "real-engines.md").read_text(encoding="utf-8")


def test_a_transcript_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    page = "a\n\n<!-- example: one -->\n```console\nold\n```\n\nb <!-- example: two -->\n```console\nkept\n```\n"
    (tmp_path / "one.txt").write_text("$ new \\1  \n  second\n")
    filled = TOOL["filled"](page, tmp_path)
    assert filled == page.replace("old", "$ new \\1\n  second")
    assert TOOL["filled"](filled, tmp_path) == filled


def test_the_page_has_every_example_that_the_tests_run() -> None:
    tests = (ROOT / "tests" / "e2e" / "test_real_engines.py").read_text(encoding="utf-8")
    run = re.findall(r'investigate\("([\w-]+)"', tests)
    assert run
    assert re.findall(r"<!-- example: ([\w-]+) -->", PAGE) == run
    for name in run:
        assert re.search(rf"<!-- example: {name} -->\n```console\n\$ ruleout investigate -- ", PAGE), name


def test_nothing_on_the_page_tells_of_the_machine_it_was_made_on() -> None:
    assert not re.search(r"/(?:root|home|work|tmp)/", PAGE)
