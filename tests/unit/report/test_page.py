"""report.html: whole by itself, the conclusion first, safe against what engines print, told without colour too."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

from hypothesis import given, settings
from tests.support.strategies import verdicts
from tests.unit.report.samples import CASE, ISOLATED, NOT_REPRODUCED

from ruleout.model import Verdict
from ruleout.report.page import page
from ruleout.report.summary import facts, headline

VOID = {"meta", "br"}


class Page(HTMLParser):
    """The text of a page, its links and elements; complains where elements are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def shown(text: str) -> str:
    return " ".join(" ".join(Page(text).text).split())


def test_the_conclusion_comes_first_and_all_that_bears_it_follows() -> None:
    text = shown(page(CASE, ISOLATED))
    places = [text.index(" ".join(part.split())) for part in (headline(CASE, ISOLATED), "Trials", "Hypotheses")]
    assert places == sorted(places)
    for label, fact in facts(CASE, ISOLATED, ""):
        assert label in text
        assert " ".join(fact.split()) in text


def test_nothing_is_fetched_and_logs_are_linked_where_they_lie() -> None:
    found = Page(page(CASE, ISOLATED))
    assert not {"script", "link", "img", "iframe"} & set(found.tags)
    assert found.links == [trial.log for trial in ISOLATED.trials]
    assert "url(" not in page(CASE, ISOLATED)


def test_a_trial_has_a_cell_for_each_factor_and_says_its_outcome_in_words() -> None:
    text = page(CASE, ISOLATED)
    rows = text.split("<tbody>")[1].split("</tbody>")[0].split("<tr>")[1:]
    assert len(rows) == len(ISOLATED.trials)
    assert all(row.count("<td") == 4 + len(CASE.factors) for row in rows)
    assert "✗ reproduced" in rows[0]


def test_what_an_engine_prints_cannot_change_the_page() -> None:
    evil = "<script>alert(1)</script> & \"'"
    assert ISOLATED.failure is not None
    verdict = replace(ISOLATED, failure=replace(ISOLATED.failure, message=evil, client=evil), why=evil)
    text = page(CASE, verdict)
    assert "<script" not in text
    assert "<script>alert(1)</script>" in shown(text)


def test_without_any_trial_there_is_a_page_all_the_same() -> None:
    assert "Not reproduced" in shown(page(CASE, replace(NOT_REPRODUCED, trials=())))


@settings(max_examples=30, deadline=None)
@given(verdicts)
def test_any_verdict_gives_a_well_formed_page_and_always_the_same(verdict: Verdict) -> None:
    text = page(CASE, verdict)
    Page(text)
    assert page(CASE, verdict) == text
