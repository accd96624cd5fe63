"""The page says what was measured, and names what ruleout got wrong."""

from __future__ import annotations

from benchmarks.numerics.cases import draw
from benchmarks.numerics.page import Run, page
from benchmarks.numerics.scoring import Score
from benchmarks.numerics.slowdown import Ratio

CASES = draw(0, 10, 10)
TRUTH = {"module": "model.norm", "operations": ["mul"], "parameter": None, "phase": "prefill", "step": 0, "rank": 0}
FAULT, HEALTHY = CASES[0], CASES[10]


def run(**scores: Score) -> Run:
    """All right with ruleout, but for the cases that are given by the kind of case."""
    right = Score(True, module=True, operation=True, moment=True)
    silent = Score(False, module=True, operation=True)
    ours = {case.name: right if case.faulty else silent for case in CASES}
    ours |= {FAULT.name: scores["fault"]} if "fault" in scores else {}
    ours |= {HEALTHY.name: scores["healthy"]} if "healthy" in scores else {}
    ratios = [Ratio("ruleout, watching", "large", "decode", 1.05, 1.01, 1.09, 54_500_000)]
    return Run(CASES, {FAULT.name: TRUTH}, {"ruleout": ours}, ratios, ["a setting"], {"msprobe": "not there"}, 3)


def test_all_right_is_said_in_one_row() -> None:
    text = page(run())
    assert "| **ruleout, watching** | 10 of 10 (100%) | 10 of 10 (100%) | 0 of 10 |" in text
    assert "1.05 (1.01–1.09)" in text
    assert "54 M parameters: 1.05× at most, to reach 1.15×: reached" in text
    assert text.endswith("Nowhere.\n")


def test_a_wrong_module_lowers_the_share_and_is_named() -> None:
    text = page(run(fault=Score(True, module=False, operation=False, said="lm_head mm")))
    assert "9 of 10 (90%)" in text
    assert f"| {FAULT.name} |" in text
    assert "`model.norm mul prefill 0` | `lm_head mm` |" in text


def test_a_report_on_a_healthy_run_is_counted_and_named() -> None:
    text = page(run(healthy=Score(True, said="lm_head unseen")))
    assert "| 1 of 10 |" in text
    assert f"| {HEALTHY.name} |" in text


def test_an_instrument_that_is_not_there_is_told() -> None:
    assert "msprobe is not in the table: not there." in page(run())
