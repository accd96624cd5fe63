"""Right is: that module, and one of those operations or that parameter; and nothing at all of a healthy run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.numerics.scoring import by_peer, by_ruleout, operation, score

MODULE = "model.layers.1.mlp.gate"
TRUTH = {
    "module": MODULE,
    "operations": ["div", "_scaled_dot_product_*"],
    "parameter": None,
    "phase": "decode",
    "step": 2,
    "rank": 1,
}
WEIGHT = {**TRUTH, "operations": [], "parameter": "weight", "phase": "prefill", "step": 0}
RIGHT = {"module": MODULE, "operation": "div", "parameter": "", "phase": "decode", "step": 2, "rank": 1}


def test_a_right_answer_is_right() -> None:
    got = score(TRUTH, RIGHT)
    assert (got.answered, got.module, got.operation, got.moment, got.rank) == (True, True, True, True, True)


def test_the_module_around_it_is_wrong_and_so_is_its_operation() -> None:
    got = score(TRUTH, {**RIGHT, "module": "model.layers.1.mlp"})
    assert (got.module, got.operation) == (False, False)


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("div", True),
        ("_scaled_dot_product_flash_attention_for_cpu", True),
        ("mul", False),
        ("", False),
        ("divide", False),
    ],
)
def test_an_operation_is_among_the_truths(said: str, right: bool) -> None:
    assert score(TRUTH, {**RIGHT, "operation": said}).operation is right


def test_a_weight_is_right_by_its_name_alone() -> None:
    assert score(WEIGHT, {**RIGHT, "parameter": "weight"}).operation
    assert not score(WEIGHT, {**RIGHT, "parameter": "bias"}).operation
    assert not score(WEIGHT, {**RIGHT, "operation": "mm"}).operation


def test_a_weight_is_no_answer_where_the_weights_are_good() -> None:
    assert not score(TRUTH, {**RIGHT, "parameter": "weight"}).operation


def test_the_moment_and_the_rank_are_judged_where_they_are_told() -> None:
    assert score(TRUTH, {**RIGHT, "step": 1}).moment is False
    assert score(TRUTH, {**RIGHT, "rank": 0}).rank is False
    silent = score(TRUTH, {**RIGHT, "phase": "", "step": None, "rank": None})
    assert (silent.moment, silent.rank) == (None, None)


def test_silence_is_right_of_a_healthy_run_alone() -> None:
    assert not score(None, None).answered
    assert score(None, RIGHT).answered
    missed = score(TRUTH, None)
    assert (missed.answered, missed.module, missed.operation) == (False, False, False)


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("aten.div.Tensor", "div"),
        ("aten.div_.Tensor", "div"),
        ("aten._softmax.default", "_softmax"),
        ("c10d.allreduce_.default", "allreduce"),
        ("unseen", "unseen"),
        ("", ""),
    ],
)
def test_operations_are_compared_without_namespace_overload_and_place(name: str, bare: str) -> None:
    assert operation(name) == bare


def test_a_peer_is_asked_for_what_it_said_first_on_any_rank() -> None:
    ranks: list[dict[str, Any]] = [
        {"answer": {"module": "late", "at": 9.0}},
        {"answer": {"module": "early", "at": 7.0}},
        {"answer": None},
    ]
    first = by_peer(ranks)
    assert first is not None
    assert first["module"] == "early"
    assert by_peer([{"answer": None}, {"wrong": ""}]) is None


def test_only_records_of_the_cases_own_processes_count(tmp_path: Path) -> None:
    moment = {"class": "Gate", "non_finite": "nan", "phase": "decode", "step": 2, "rank": 1}
    for pid, module in ((41, "theirs"), (42, MODULE)):
        records = [
            {"kind": "hello", "argv": [], "python": "", "ppid": 1, "wall": 1.0},
            {"kind": "born", "module": module, **moment},
            {"kind": "operation", "module": module, "op": "aten.div.Tensor", **moment},
        ]
        lines = [json.dumps({"t": float(pid), "pid": pid, **record}) + "\n" for record in records]
        (tmp_path / f"{pid}-7.jsonl").write_text("".join(lines))
    answer = by_ruleout([{"pid": 42}], tmp_path)
    assert answer == RIGHT
    assert by_ruleout([{"pid": 43}], tmp_path) is None
