"""report.html in a real browser: nothing runs over its edge, no picture is empty, axe finds nothing, it opens at once.

Skipped where Chromium (`apt-get install chromium`) is missing.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright
from tests.support import long
from tests.unit.report.samples import CASE, ISOLATED, NOT_REPRODUCED, REPRODUCED, trial
from tests.unit.report.test_page import COURSE

from ruleout.model import Verdict, VerdictStatus
from ruleout.model.course import Belief, BirthPlace, Course
from ruleout.report.page import page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")]

WIDTHS = (320, 400, 768, 1000, 1800)
BEYOND = """() => [...document.querySelectorAll('body *')].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width && box.right > document.documentElement.clientWidth + 1 && !e.closest('.wide') && !e.closest('pre');
}).map(e => e.outerHTML.slice(0, 120))"""
EMPTY = """() => [...document.querySelectorAll('svg')].filter(e =>
  e.getBoundingClientRect().width < 10 || !e.querySelector('path, rect, polyline')
).map(e => e.outerHTML.slice(0, 120))"""

SCROLLED = """() => [...document.querySelectorAll('.matrix')].map(e => e.parentElement).filter(e =>
  e.scrollWidth > e.clientWidth).map(e => `${e.scrollWidth} of ${e.clientWidth}`)"""

NARROW = """() => [...document.querySelectorAll('.claim, .what')].filter(e => e.getBoundingClientRect().width < 120)
  .map(e => e.outerHTML.slice(0, 120))"""
TORN = """() => [...document.querySelectorAll('.matrix tbody th, .time a')].filter(e => {
  const text = document.createRange(); text.selectNodeContents(e);
  return new Set([...text.getClientRects()].map(row => Math.round(row.top))).size > 1;
}).map(e => e.outerHTML.slice(0, 120))"""
APART = """() => [...document.querySelectorAll('.matrix tbody tr')].filter(e =>
  Math.abs(e.querySelector('th').getBoundingClientRect().top - e.querySelector('.o').getBoundingClientRect().top) > 3)
  .map(e => e.id)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, ended afterwards."""
    with sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


def long_page() -> str:
    """Of ten thousand trials and sixteen factors."""
    case = long.case_of()
    trials = long.trials(case, 10_000)
    beliefs = tuple(Belief(t.id, (("f2=a", t.id / 10_000), ("f3=a", 0.1))) for t in trials)
    return page(case, Verdict(VerdictStatus.NARROWED, 0.5, failure=long.SHOWN, trials=trials), Course(beliefs))


def pages() -> dict[str, str]:
    """A page of each kind."""
    birth = BirthPlace("model.layers.2.mlp", "Mlp", "aten.div.Tensor", "decode", "told", "traces/0001/trace.json")
    leaders = replace(COURSE, beliefs=tuple(Belief(n, (("kv_cache_dtype=auto", n / 9),)) for n in (1, 3, 6)))
    case = long.case_of()
    forty = Verdict(VerdictStatus.NARROWED, 0.5, failure=long.SHOWN, trials=long.trials(case, 40))
    return {
        "isolated": page(CASE, ISOLATED, replace(COURSE, birth=birth)),
        "several causes": page(CASE, replace(ISOLATED, causes=tuple((one,) for one in ISOLATED.causes[0])), leaders),
        "not reproduced": page(CASE, NOT_REPRODUCED),
        "nothing yet": page(CASE, replace(NOT_REPRODUCED, trials=())),
        "nothing to vary": page(replace(CASE, factors=()), replace(ISOLATED, trials=(trial(1, REPRODUCED),))),
        "forty trials": page(case, forty),
        "long words": page(CASE, replace(ISOLATED, why="x" * 900, never_varied=("y" * 900,))),
        "long": long_page(),
    }


def complaints_of(shown: Page) -> list[str]:
    """What the browser will say in its console of a page."""
    said: list[str] = []
    shown.on("console", lambda message: said.append(message.text))
    return said


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_every_width_and_axe_finds_nothing(
    browser: Browser, scheme: Literal["light", "dark"], tmp_path: Path
) -> None:
    for name, text in pages().items():
        file = tmp_path / f"{name}.html"
        file.write_text(text)
        for width in WIDTHS:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
            )
            shown = context.new_page()
            complaints = complaints_of(shown)
            shown.goto(file.as_uri())
            assert shown.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            assert shown.evaluate(BEYOND) == [], (name, width)
            assert shown.evaluate(EMPTY) == [], (name, width)
            assert shown.evaluate(SCROLLED) == [], (name, width)
            assert shown.evaluate(NARROW) == [], (name, width)
            assert shown.evaluate(APART) == [], (name, width)
            assert shown.evaluate(TORN) == [], (name, width)
            if width in (WIDTHS[0], WIDTHS[-1]):
                found = Axe().run(shown).response["violations"]
                assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], (name, width)
            assert complaints == [], (name, width)
            context.close()


def test_settings_of_a_trial_and_evidence_can_be_reached_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(CASE, ISOLATED, COURSE))
    shown = browser.new_page()
    shown.goto(file.as_uri())
    for _ in range(60):
        shown.keyboard.press("Tab")
        if shown.evaluate("document.activeElement.closest('#t2 summary') !== null"):
            break
    assert not shown.get_by_text("baseline: auto").first.is_visible()
    shown.keyboard.press("Enter")
    assert shown.get_by_text("baseline: auto").first.is_visible()


def test_a_page_of_ten_thousand_trials_opens_at_once(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(long_page())
    shown = browser.new_page()
    began = time.monotonic()
    shown.goto(file.as_uri(), wait_until="load")
    assert shown.evaluate("document.querySelectorAll('td').length") > 100
    assert time.monotonic() - began < 3.0


def test_nothing_hostile_runs(browser: Browser, tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)><script>document.title='owned'</script><a href='javascript:alert(1)'>x</a>"
    assert ISOLATED.failure is not None
    verdict = replace(ISOLATED, why=evil, failure=replace(ISOLATED.failure, message=evil, client=evil))
    file = tmp_path / "page.html"
    file.write_text(page(replace(CASE, name=evil), verdict))
    shown = browser.new_page()
    dialogs: list[str] = []
    asked: list[str] = []
    shown.on("dialog", lambda dialog: dialogs.append(dialog.message))
    shown.on("request", lambda request: asked.append(request.url))
    shown.goto(file.as_uri())
    assert (dialogs, asked) == ([], [file.as_uri()])
    assert shown.title() != "owned"
    assert shown.evaluate("document.querySelectorAll('img, script, a[href^=javascript]').length") == 0
