"""report.html: whole by itself, the conclusion first, safe against what engines print, told without colour too."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from tests.support.strategies import verdicts
from tests.unit.model.test_redaction import PLANTED
from tests.unit.report.samples import CASE, CLEAN, ISOLATED, MASKED, NOT_REPRODUCED, REPRODUCED, trial

from ruleout.model import Evidence, Stage, Verdict
from ruleout.model.course import Belief, BirthPlace, Course, Excerpt, Lap
from ruleout.report.page import page
from ruleout.report.summary import facts, headline

VOID = {"meta", "br"}
EMPTY = {"path", "rect", "polyline"}
"""Elements of a drawing that close themselves."""


COURSE = Course(
    (
        Belief(1, (("cuda_graph=absent", 0.6), ("kv_cache_dtype=auto", 0.3))),
        Belief(3, (("kv_cache_dtype=auto", 0.91), ("cuda_graph=absent", 0.05))),
    ),
    {1: (Lap("weight_load", 0.0), Lap("decode", 600.0))},
    (Excerpt("trials/0001/server.log", 812, 811, ("before", "Assertion", "behind"), "the failure to explain"),),
)


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

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in EMPTY
        self.tags.append(tag)

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
        assert "".join(fact.split()) in text.replace(" ", "")  # links part it


def test_a_trial_says_its_outcome_and_each_setting_once() -> None:
    masked = replace(MASKED, reason="masked: another failure came first", resolved={"deep_gemm": "0", "dtype": "bf16"})
    text = shown(page(CASE, replace(ISOLATED, trials=(trial(1, REPRODUCED), trial(2, masked, deep_gemm="0")))))
    assert "Masked: another failure came first: assert not a | b fp8" in text
    assert "dtype bf16 says the engine" in text
    assert "deep_gemm 0 says the engine" not in text


def test_nothing_is_fetched_and_logs_are_linked_where_they_lie() -> None:
    found = Page(page(CASE, ISOLATED))
    assert not {"script", "link", "img", "iframe"} & set(found.tags)
    files = [link for link in found.links if not link.startswith("#")]
    assert files == [trial.log for trial in ISOLATED.trials]
    assert "url(" not in page(CASE, ISOLATED)


def test_every_place_that_a_link_goes_to_is_in_the_page_once() -> None:
    text = page(CASE, ISOLATED, COURSE)
    places = re.findall(r' id="([^"]+)"', text)
    assert len(places) == len(set(places))
    assert {link[1:] for link in Page(text).links if link.startswith("#")} <= set(places)


def test_a_trial_has_a_cell_for_each_factor_that_moved_and_says_its_outcome_in_words() -> None:
    text = page(CASE, ISOLATED)
    rows = text.split('<tr id="t')[1:]
    assert len(rows) == len(ISOLATED.trials)
    assert all(row.split("<details>")[0].count('<td class="c') == len(CASE.factors) for row in rows)
    assert "reproduced" in rows[0]
    assert '<td class="c moved" title="kv_cache_dtype: fp8_e4m3">▒</td>' in rows[1]


def test_what_the_engine_set_instead_is_marked_and_told() -> None:
    outcome = replace(REPRODUCED, effective={"kv_cache_dtype": "fp8_e4m3"}, resolved={"page_size": "64"})
    changed = replace(ISOLATED, trials=(trial(1, REPRODUCED), trial(2, outcome, kv_cache_dtype="bf16")))
    text = page(CASE, changed)
    assert 'title="kv_cache_dtype: bf16 asked for, fp8_e4m3 in effect">≠<' in text
    assert "kv_cache_dtype bf16 in effect: fp8_e4m3" in shown(text)
    assert "page_size 64 says the engine" in shown(text)


def test_evidence_opens_the_lines_around_it_and_names_the_file() -> None:
    text = page(CASE, ISOLATED, COURSE)
    assert '<a href="#e1">trials/0001/server.log:812</a>' in text
    assert re.search(r'<mark><span class="no">812</span>Assertion', text)
    assert '<a href="trials/0001/server.log">trials/0001/server.log</a>, line 812' in text


def test_beliefs_are_drawn_over_the_trials_and_said_in_words() -> None:
    text = page(CASE, ISOLATED, COURSE)
    assert text.count("<polyline") == 2
    assert "kv_cache_dtype=auto: 91 % at most, 91 % in the end" in shown(text)
    assert "<polyline" not in page(CASE, ISOLATED, replace(COURSE, beliefs=COURSE.beliefs[:1]))


def test_stages_of_a_trial_are_pieces_of_its_bar_and_stand_in_its_label() -> None:
    text = page(CASE, ISOLATED, COURSE)
    assert 'aria-label="Trial 1, reproduced: weight_load 10:00, decode 2:06"' in text
    assert "no time of a stage is known" in text  # of the other trials


def test_the_module_in_which_a_bad_number_was_born_is_shown_in_its_layer() -> None:
    birth = BirthPlace(
        "model.layers.2.mlp", "Mlp", "aten.div.Tensor", "decode, step 1", "told", "traces/0001/trace.json"
    )
    text = page(CASE, ISOLATED, replace(COURSE, birth=birth))
    assert "<li>layers</li><li>2</li><li>mlp</li><li>aten.div.Tensor</li>" in text


def test_of_very_many_trials_those_that_count_have_a_row_and_all_a_line() -> None:
    outcomes = (REPRODUCED, CLEAN, MASKED)
    many = tuple(trial(n, outcomes[n % 3], deep_gemm="0" if n % 2 else "unset") for n in range(1, 10_001))
    text = page(CASE, replace(ISOLATED, trials=many))
    assert text.count('<tr id="t') < 200
    assert text.count("<td") < 5000
    lines = [line for part in text.split("<pre tabindex")[1:] for line in part.split("</pre>")[0].splitlines()]
    numbers = {int(found[1]) for line in lines if (found := re.search(r"(?:^|>) *(\d+) [✗✓▒?]", line))}
    assert numbers == set(range(1, 10_001))


@pytest.mark.parametrize(
    "evil",
    ["<script>alert(1)</script> & \"'", "a\x1b[31mred\x1b]0;title\x07", "abc\u202egpj.exe\u2066", "x" * 2_000_000],
)
def test_hostile_text_is_inert_wherever_it_stands(evil: str) -> None:
    assert ISOLATED.failure is not None
    failure = replace(ISOLATED.failure, message=evil, client=evil)
    made = replace(trial(1, replace(REPRODUCED, failure=failure, reason=evil)), purpose=evil, log=f"javascript:{evil}")
    verdict = replace(ISOLATED, failure=failure, why=evil, trials=(made,), never_varied=(evil,))
    excerpts = (Excerpt("trials/0001/server.log", 1, 1, (evil,), evil),)
    text = page(replace(CASE, command=(evil,)), verdict, replace(COURSE, excerpts=excerpts))
    found = Page(text)
    assert "script" not in found.tags
    assert not any("javascript" in link for link in found.links)
    assert not {"\x1b", "\x07", "\u202e", "\u2066"} & set(text)
    assert len(text) < 200_000


def test_none_of_the_planted_secrets_is_in_a_page() -> None:
    assert ISOLATED.failure is not None
    for line, secret in (pair for pairs in PLANTED.values() for pair in pairs):
        lines = ("before", *line.split("\n"), "behind")
        failure = replace(ISOLATED.failure, message=line, client=line, evidence=(Evidence("server.log", 2, line),))
        excerpts = (Excerpt("trials/0001/server.log", 2, 1, lines, line),)
        outcome = replace(REPRODUCED, failure=failure, reason=line, resolved={"said": line})
        told = replace(trial(1, outcome), purpose=line, why=(line,))
        text = page(
            replace(CASE, command=(line,), env={"SAID": line}),
            replace(ISOLATED, failure=failure, trials=(told,), why=line, never_varied=(line,)),
            replace(COURSE, excerpts=excerpts),
        )
        assert secret not in html.unescape(text), line


def test_a_key_over_several_lines_takes_no_other_line_from_its_place() -> None:
    key = ("-----BEGIN RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEAuPlanted1", "-----END RSA PRIVATE KEY-----")
    excerpts = (Excerpt("trials/0001/server.log", 6, 2, ("first", *key, "last"), "it"),)
    text = page(CASE, ISOLATED, replace(COURSE, excerpts=excerpts))
    assert re.search(r'<mark><span class="no">6</span>last</mark>', text)
    assert "Planted1" not in text


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


def test_what_notes_told_has_no_time_and_no_bar_and_is_counted_apart() -> None:
    told = replace(MASKED, hearsay=True, failure=None, reached=Stage.UNKNOWN)
    verdict = replace(ISOLATED, trials=(*ISOLATED.trials, trial(7, told, 0.0, deep_gemm="0")))
    text = page(CASE, verdict)
    assert "6 trials and 1 told in notes" in text
    row = text.split('<tr id="t7"')[1].split("</tr>")[0]
    assert "told in notes" in row
    assert "unknown" not in row
    assert 'href="#t6">#6' in text
    assert 'href="#t7">#7' not in text


def test_a_log_that_runs_longer_than_its_trial_is_said_to_have_taken_has_no_stages_in_its_bar() -> None:
    laps = {1: (Lap("weight_load", 0.0), Lap("decode", 60 * 12.2))}
    assert "weight_load" not in page(CASE, ISOLATED, replace(COURSE, laps=laps)).split('id="time"')[1]


def test_where_only_what_led_is_known_dots_stand_in_the_legend_as_in_the_plot() -> None:
    course = replace(COURSE, beliefs=tuple(Belief(n, (("cuda_graph=absent", n / 4),)) for n in (1, 2, 3)))
    legend = page(CASE, ISOLATED, course).split('<ul class="legend">')[1].split("</ul>")[0]
    assert 'class="dots s0"' in legend
    assert "series" not in legend


def test_without_a_factor_that_was_varied_no_columns_are_explained() -> None:
    text = shown(page(CASE, NOT_REPRODUCED))
    assert "A column for each factor" not in text
    assert "Never changed: kv_cache_dtype, cuda_graph, deep_gemm." in text


def test_no_line_is_broken_within_a_flag() -> None:
    text = page(CASE, ISOLATED)
    assert '<dt>Workaround</dt><dd><span class="flag">--kv-cache-dtype</span> bf16' in text
    verdict = replace(ISOLATED, why='--x"><img> -y&lt;')
    assert "<img>" not in page(CASE, verdict)


def test_trials_of_a_hypothesis_lead_to_their_rows() -> None:
    table = page(CASE, ISOLATED).split('id="hypotheses"')[1].split("</table>")[0]
    assert '<a href="#t3">3</a>, <a href="#t4">4</a>' in table
