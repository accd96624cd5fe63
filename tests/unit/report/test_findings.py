"""FINDINGS.md: the headings in their order, one line a fact, the same for the same verdict."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from tests.support.strategies import verdicts
from tests.unit.report.samples import CASE, CLEAN, ISOLATED, MASK, NOT_REPRODUCED

from ruleout.model import Carrier, Component, Elsewhere, Verdict, VerdictStatus
from ruleout.report.findings import findings
from ruleout.report.summary import facts

HEADINGS = [
    "Question",
    "Setting",
    "Answer",
    "Trials",
    "Ruled out",
    "Looks ruled out, is not",
    "Hypotheses over time",
    "Assumptions",
    "What is left",
]
TEXT = findings(CASE, ISOLATED)


def headings(text: str) -> list[str]:
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


def section(text: str, title: str) -> list[str]:
    """The lines of a section that say something."""
    body = text.split(f"## {title}\n")[1].split("\n## ")[0]
    return [line for line in body.splitlines() if line]


def test_the_headings_are_those_agreed_on_in_their_order() -> None:
    assert TEXT.startswith("# glm5\n")
    assert headings(TEXT) == HEADINGS


@settings(max_examples=60, deadline=None)
@given(verdicts)
def test_any_verdict_has_all_headings_and_no_section_is_empty(verdict: Verdict) -> None:
    text = findings(CASE, verdict)
    assert headings(text) == HEADINGS
    assert all(section(text, title) for title in HEADINGS)
    assert findings(CASE, verdict) == text


def test_the_question_is_what_fails_and_how_a_client_sees_it() -> None:
    assert section(TEXT, "Question") == [
        "What in the deployment causes this failure (device_side_assert in decode)?",
        "- Engine: `Assertion 'probability tensor contains either 'inf', 'nan' or element < 0' failed`",
        "- Found in: trials/0001/server.log:812",
        "- Client: completion 1 of 2: HTTP 500",
        "- Reported late: the stack in the log is where it was noticed, and need not be where it was born",
    ]


def test_the_setting_is_the_engine_the_command_and_what_may_vary() -> None:
    lines = section(TEXT, "Setting")
    assert "- Engine: sglang" in lines
    assert "- Command: `python3 -m sglang.launch_server --tp 8`" in lines
    assert "- Environment: `NCCL_P2P_LEVEL=SYS`" in lines
    assert "- Factor kv_cache_dtype (flag --kv-cache-dtype): auto, bf16, fp8_e4m3; baseline auto" in lines


def test_the_answer_is_the_verdict_its_probability_its_trials_and_the_workarounds() -> None:
    lines = section(TEXT, "Answer")
    assert lines[0].startswith("**isolated** (99.4 %)")
    assert "- Cause: kv_cache_dtype=auto|fp8_e4m3 together with cuda_graph=absent" in lines
    assert "- Sufficient (everything else changed, the cause alone fails): trial 4" in lines
    assert "- Necessary (from there, each factor of it changed, clean): trials 3, 5" in lines
    assert "- Complete (only the cause neutralised, clean): trial 3" in lines
    assert "- Baseline again: trial 6" in lines
    assert "- Workaround: `--kv-cache-dtype bf16` (clean in 1 of 1, trial 3; took 12:06)" in lines
    assert "- Workaround: `--disable-cuda-graph` (clean in 1 of 1, trial 5; took 12:06)" in lines
    assert any("62 %" in line for line in lines)


@pytest.mark.parametrize(
    ("status", "label"), [(VerdictStatus.ISOLATED, "- Cause 1: "), (VerdictStatus.NARROWED, "- Likeliest cause 1: ")]
)
def test_what_is_not_isolated_is_called_likeliest_only(status: VerdictStatus, label: str) -> None:
    two = (*ISOLATED.causes, (Carrier("deep_gemm", ("unset",)),))
    lines = section(findings(CASE, replace(ISOLATED, status=status, causes=two)), "Answer")
    assert len([line for line in lines if line.startswith(label)]) == 1


def test_when_it_shows_stands_with_the_answer() -> None:
    text = findings(CASE, replace(ISOLATED, shows="with 8 requests at once. It speaks for a race."))
    assert "- When it shows: with 8 requests at once. It speaks for a race." in text
    assert "When it shows" not in TEXT


def test_a_way_out_after_which_something_else_fails_says_so() -> None:
    another = replace(CLEAN, failure=replace(MASK, message="no room"), reason="another failure, later")
    trials = tuple(replace(t, outcome=another) if t.id == 3 else t for t in ISOLATED.trials)
    text = findings(CASE, replace(ISOLATED, trials=trials))
    assert "(clean in 1 of 1, trial 3; another failure comes later: AssertionError: no room; took 12:06)" in text
    assert "(clean in 1 of 1, trial 5; took 12:06)" in text


def test_an_answer_of_elsewhere_says_that_no_factor_is_it() -> None:
    verdict = replace(ISOLATED, status=VerdictStatus.ELSEWHERE, causes=())
    assert "- The cause is in none of the factors that were varied." in section(findings(CASE, verdict), "Answer")


def test_what_is_only_narrowed_says_what_the_log_speaks_for() -> None:
    told = Elsewhere(
        0.2, Component.MEMORY, "the cause is in none of them; the log speaks for memory: there is too little"
    )
    narrowed = replace(ISOLATED, status=VerdictStatus.NARROWED, elsewhere=told)
    assert "- The evidence speaks for memory: there is too little." in findings(CASE, narrowed)
    assert ("Evidence speaks for", "memory: there is too little") in list(facts(CASE, narrowed, ""))
    isolated = replace(ISOLATED, elsewhere=told)
    assert "speaks for" not in findings(CASE, isolated) + str(list(facts(CASE, isolated, "")))


def test_each_trial_is_a_row_of_one_table() -> None:
    header, rule, *rows = section(TEXT, "Trials")
    assert header.startswith("| trial | changed against the baseline | outcome | stage | minutes |")
    assert set(rule) == {"|", "-"}
    assert len(rows) == len(ISOLATED.trials)
    assert rows[0] == "| 1 | baseline | reproduced | decode | 12.10 | as planned | trials/0001/server.log |"
    assert rows[1].startswith("| 2 | kv_cache_dtype=fp8_e4m3 deep_gemm=0 | masked | model_config | 0.50 |")


@settings(max_examples=60, deadline=None)
@given(verdicts)
def test_whatever_a_purpose_says_a_row_has_as_many_cells_as_the_table(verdict: Verdict) -> None:
    rows = [line for line in findings(CASE, verdict).splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) <= 1
    assert len(rows) == (len(verdict.trials) + 2 if verdict.trials else 0)


def test_what_is_ruled_out_names_its_trials() -> None:
    assert section(TEXT, "Ruled out") == ["- deep_gemm: trial 4"]


def test_what_only_looks_ruled_out_is_listed_with_what_is_untried() -> None:
    assert section(TEXT, "Looks ruled out, is not") == [
        "- Masked: kv_cache_dtype=fp8_e4m3 deep_gemm=0 failed otherwise (`assert not 'fp8'`, trial 2)",
        "- attention: tried eager; untried: fa3, trtllm",
        "- Never varied: the machine and its driver",
    ]


def test_pivots_assumptions_and_what_is_left_are_lines_of_their_own() -> None:
    assert section(TEXT, "Hypotheses over time")[0] == (
        "- After trial 3: from “cuda_graph=absent” to “kv_cache_dtype=auto” (trial 3 was clean)"
    )
    assert section(TEXT, "Assumptions") == ["- refuted: it shows every time (by the planner; test: no clean run)"]
    assert section(TEXT, "What is left") == ["- deep_gemm=0: tells most (about 12:00)"]


def test_where_nothing_failed_the_question_says_so() -> None:
    text = findings(CASE, NOT_REPRODUCED)
    assert section(text, "Question") == ["- the baseline failed in 0 of 1 runs"]
    assert section(text, "Answer")[0].startswith("**not_reproduced**")
    assert section(text, "Ruled out") == ["Nothing."]


def test_no_line_of_a_hypothesis_is_a_quotation_to_markdown() -> None:
    sure = tuple(replace(one, probability=0.9999) for one in ISOLATED.hypotheses)
    lines = section(findings(CASE, replace(ISOLATED, hypotheses=sure)), "Hypotheses over time")
    assert "- ruled out: elsewhere (> 99.9 %; trials 3, 5)" in lines
    assert not [line for line in lines if line.startswith("- >")]


def test_names_in_what_lies_elsewhere_are_written_as_they_are() -> None:
    elsewhere = Elsewhere(0.99, claim="the cause is in none of the factors; the log speaks for MLA on SM120")
    verdict = replace(ISOLATED, status=VerdictStatus.ELSEWHERE, elsewhere=elsewhere, causes=())
    assert "- The cause is in none of the factors; the log speaks for MLA on SM120." in findings(CASE, verdict)
