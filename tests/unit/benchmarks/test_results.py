"""A benchmark can be interrupted, its results belong to the code they are from, and its tables say what they hold."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from benchmarks.planted import results as results_module
from benchmarks.planted.bench import Answer, Bench
from benchmarks.planted.contenders import CONTENDERS, ONE_FACTOR, RULEOUT
from benchmarks.planted.page import page
from benchmarks.planted.results import Result, collect, measure, read, tasks
from benchmarks.planted.statistics import calibration, cell, minutes_ratio, wilson
from benchmarks.planted.tables import goals, promises, tables

RESULT = Result(
    strategy=RULEOUT, family="single", seed=0, wrong="", status="isolated", probability=0.995, trials=10, minutes=100.0,
    masked=1, seconds=2.0, causes=({"a": ["a0"]},), refuted=(), code="c", scenario="s",
)  # fmt: skip
WALKER = next(one for one in CONTENDERS if one.name == ONE_FACTOR)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.jsonl"
    wanted = tasks([WALKER], ["single", "two"], range(2))
    first = [result for result, _ in collect(wanted[:3], path, jobs=1)]
    path.write_text(path.read_text() + '{"strategy": "one fac')  # the power went while this was written
    monkeypatch.setattr(results_module, "measure", _unexpected)
    again = [result for result, _ in collect(wanted[:3], path, jobs=1)]
    assert sorted(map(_key, again)) == sorted(map(_key, first))


def _unexpected(task: object) -> Result:
    raise AssertionError(f"{task} was run again")


def _key(result: Result) -> tuple[str, str, int]:
    return result.strategy, result.family, result.seed


def test_a_result_of_other_code_is_run_again(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    ((name, family, seed, code),) = tasks([WALKER], ["single"], [0])
    stale = replace(measure((name, family, seed, code)), code="older", trials=999)
    path.write_text(json.dumps(asdict(stale)) + "\n")
    ((fresh, left),) = collect([(name, family, seed, code)], path, jobs=1)
    assert (fresh.code, left) == (code, 0)
    assert fresh.trials != 999
    assert [result.code for result in read(path)] == ["older", code]


def test_a_line_that_was_cut_short_ends_where_the_next_begins(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('{"strategy": "one fac')
    list(collect(tasks([WALKER], ["single"], [0]), path, jobs=1))
    assert [_key(result) for result in read(path)] == [(ONE_FACTOR, "single", 0)]


def test_a_strategy_that_breaks_is_a_result_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = replace(WALKER, strategy=_breaks)
    monkeypatch.setattr(results_module, "CONTENDERS", (broken,))
    found = measure((ONE_FACTOR, "single", 0, "c"))
    assert found.status == "broken"
    assert "ZeroDivisionError" in found.wrong


def _breaks(bench: Bench) -> Answer:
    raise ZeroDivisionError


def test_histories_are_for_those_who_can_read_them() -> None:
    part = {name for name, *_ in tasks(CONTENDERS, ["history-20"], [0])}
    assert {RULEOUT, ONE_FACTOR, "git bisect"} <= part
    assert "delta debugging" not in part


def test_a_cell_is_a_share_and_means() -> None:
    found = cell([RESULT, replace(RESULT, wrong="said b", trials=20, minutes=200.0)])
    assert found is not None
    assert (found.count, found.right, found.trials, found.minutes, found.falsely_isolated) == (2, 0.5, 15, 150, 1)
    assert cell([]) is None


def test_calibration_counts_each_verdict_once_in_its_range() -> None:
    told = [(0.5, True), (0.79, False), (0.99, True), (1.0, True), (None, True)]
    bins = calibration([replace(RESULT, probability=p, wrong="" if right else "x") for p, right in told])
    assert [(one.low, one.count, one.right) for one in bins] == [(0.5, 2, 1), (0.99, 2, 2)]


def test_the_interval_of_a_share_holds_it_and_narrows_with_more() -> None:
    low, high = wilson(9, 10)
    assert low < 0.9 < high
    assert low == pytest.approx(0.5958, abs=1e-3)
    assert high == pytest.approx(0.9821, abs=1e-3)
    assert wilson(10, 10)[1] == 1.0
    assert wilson(900, 1000)[0] > low


def test_minutes_are_compared_on_scenarios_that_both_have_met() -> None:
    other = replace(RESULT, strategy=ONE_FACTOR, minutes=400.0)
    alone = replace(RESULT, seed=1, minutes=9999.0)
    assert minutes_ratio([RESULT, other, alone], RULEOUT, ONE_FACTOR, ("single",)) == 0.25
    assert minutes_ratio([RESULT], RULEOUT, ONE_FACTOR, ("single",)) is None


def test_isolated_and_wrong_is_counted() -> None:
    false = replace(RESULT, seed=1, wrong="said b, is a")
    text = promises([RESULT, false])
    assert "| isolated and wrong, five deterministic families | 0 | 1 of 2 |" in text
    assert "| right, of verdicts with probability ≥ 0.95 | ≥ 95 % | 50.0% (1 of 2) |" in text


def test_goals_stand_beside_what_was_measured() -> None:
    assert "| single | 50% of 2 | 100 % | 2 | 15.0 | ≤ 11 | 9 |" in goals(
        [RESULT, replace(RESULT, wrong="x", trials=20)]
    )
    assert goals([replace(RESULT, family="crowded")]) == ""


def test_tables_say_who_did_not_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "BugDoc did not take part: bugdoc is not installed." in tables([RESULT])


def test_the_page_names_its_command_its_seeds_and_its_commit(tmp_path: Path) -> None:
    text = page([RESULT, replace(RESULT, seed=4)], "make bench-planted SEEDS=5", tmp_path / "r", tmp_path)
    assert "make bench-planted SEEDS=5" in text
    assert "2 seeds a family (0 to 4)" in text
    assert ", commit " in text
    assert "(r/minutes.svg)" in text
    assert "| **100% · 10.0 · 100** |" in text


def test_both_plots_are_drawn_for_light_and_dark_pages(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from benchmarks.planted.plots import INK, draw

    for path in draw([RESULT, replace(RESULT, family="history-20", wrong="x")], tmp_path):
        text = path.read_text()
        assert "<text" in text
        assert INK in text
        assert "#000000" not in text
