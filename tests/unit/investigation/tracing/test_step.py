"""When an investigation traces, what is put on its trial for that, and what that says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.traced import DOWN, HELLO, born, checkpoint, model_process, operation, write

from ruleout.engines import recognise
from ruleout.investigation.comparing import ANOTHER_TEXT
from ruleout.investigation.instruments import watched
from ruleout.investigation.suspecting import with_observed
from ruleout.investigation.tracing.step import is_trace, trace_step, traced
from ruleout.model import (
    Case,
    Component,
    Configuration,
    Diagnosis,
    EngineId,
    Exposure,
    Failure,
    FailureClass,
    Goal,
    Installation,
    LogOutcome,
    Outcome,
    OutcomeKind,
    Stage,
    Trial,
)
from ruleout.numerics.starting import records_folder

CASE = Case("c", "vllm", ("vllm", "serve", "m"))
EMPTY = Failure(FailureClass.WRONG_OUTPUT, Exposure(Stage.DECODE, 1), "HTTP 200, empty content", "s")
TORCH = (Installation("/venv/bin/python", {"torch": "2.13.0"}, "environments/1.txt"),)
LEVELS = Configuration({"RULEOUT_TRACE_MODE": "watch", "--enforce-eager": "present"})
REPRODUCED = Outcome(OutcomeKind.REPRODUCED, Stage.DECODE, "the same", EMPTY)
CLEAN = Outcome(OutcomeKind.CLEAN, Stage.DECODE, "every probe passed")


def test_a_failure_of_numbers_is_traced_once_in_eager_mode() -> None:
    assert trace_step(CASE, EMPTY, (), TORCH) == LEVELS
    assert trace_step(CASE, EMPTY, (Trial(2, Configuration(), "", instruments=LEVELS),), TORCH) is None


@pytest.mark.parametrize(
    ("class_", "message", "worth"),
    [
        (FailureClass.NAN_INF, "HTTP 200 with logprob nan", True),
        (FailureClass.DEVICE_SIDE_ASSERT, "probability tensor contains either `inf`, `nan` or element < 0", True),
        (FailureClass.DEVICE_SIDE_ASSERT, "index out of bounds", False),
        (FailureClass.WRONG_OUTPUT, ANOTHER_TEXT, False),
        (FailureClass.ACCURACY_LOSS, "the reference's text with other logprobs", False),
        (FailureClass.SHAPE_MISMATCH, "shape mismatch", False),
        (FailureClass.OOM, "CUDA out of memory", False),
    ],
)
def test_which_failures_are_of_numbers(class_: FailureClass, message: str, worth: bool) -> None:
    found = trace_step(CASE, replace(EMPTY, class_=class_, message=message), (), TORCH)
    assert (found is not None) is worth


@pytest.mark.parametrize(
    ("case", "installed"),
    [
        (CASE, ()),
        (CASE, (Installation("/venv/bin/python", {"numpy": "2.0"}, ""),)),
        (replace(CASE, engine="command"), TORCH),
        (replace(CASE, engine="llama.cpp"), TORCH),
        (replace(CASE, goal=Goal.WORKAROUND), TORCH),
        (replace(CASE, env={"RULEOUT_TRACE_MODE": "record"}), TORCH),
        (replace(CASE, command=("docker", "run", "--network", "host", "vllm/vllm-openai:v1", "--model", "m")), TORCH),
    ],
    ids=["nothing is known of it", "no torch", "any command", "no torch at all", "a way out", "traced", "a container"],
)
def test_where_it_would_tell_nothing_it_is_not_traced(case: Case, installed: tuple[Installation, ...]) -> None:
    assert trace_step(case, EMPTY, (), installed) is None


def test_flags_that_hide_modules_are_taken_off_and_nothing_behind_them() -> None:
    found = recognise(("transformers", "serve", "--compile", "m"))
    case = Case("c", found.engine, found.command)
    levels = trace_step(case, EMPTY, (), TORCH)
    assert levels is not None
    assert is_trace(levels)
    assert watched(case, levels).command == ("transformers", "serve", "m")
    assert watched(CASE, LEVELS).command == ("vllm", "serve", "m", "--enforce-eager")
    behind = replace(CASE, command=("vllm", "serve", "--no-enforce-eager", "m"))
    assert watched(behind, LEVELS).command == ("vllm", "serve", "m", "--enforce-eager")


def test_a_birth_moves_the_odds_of_its_place_and_settles_nothing(tmp_path: Path) -> None:
    place = "model.layers.2.mlp.experts"
    model_process(records_folder(tmp_path), born(place), operation(place, "aten._grouped_mm.default"))
    seen = traced(CASE, LEVELS, REPRODUCED, tmp_path)
    assert seen.component is Component.MOE_RUNNER
    assert 0 < seen.weight < 1
    assert seen.text == f"NaN born in {place} (Linear) by aten._grouped_mm.default, in prefill"
    (line,) = seen.evidence
    assert (line.source, line.line) == ("evidence/trace.txt", 1)
    written = (tmp_path / line.source).read_text().splitlines()
    assert written[0] == seen.text
    assert "at /venv/lib/models/llama.py:90 forward" in written
    before = Diagnosis(EngineId("vllm"), LogOutcome.WRONG_OUTPUT, Stage.DECODE)
    after = with_observed(before, [seen])
    assert [(s.component, s.probability) for s in after.suspects] == [(Component.MOE_RUNNER, seen.weight)]
    assert after.unexplained == pytest.approx(1 - seen.weight)


def test_a_weight_speaks_for_the_checkpoint(tmp_path: Path) -> None:
    model_process(records_folder(tmp_path), checkpoint(), born())
    seen = traced(CASE, LEVELS, REPRODUCED, tmp_path)
    assert seen.component is Component.WEIGHTS_CHECKPOINT
    assert f"{DOWN}.weight" in seen.text


def test_a_failure_that_is_gone_without_graphs_is_an_observer_effect(tmp_path: Path) -> None:
    model_process(records_folder(tmp_path))
    seen = traced(CASE, LEVELS, CLEAN, tmp_path)
    assert seen.text == "observer effect: with --enforce-eager the failure did not show, and all was finite"
    assert seen.component is Component.CUDA_GRAPH
    plain = traced(CASE, Configuration({"RULEOUT_TRACE_MODE": "watch"}), CLEAN, tmp_path)
    assert plain.component is None
    assert plain.text.startswith("nothing failed")


def test_a_failure_without_bad_numbers_speaks_for_nothing(tmp_path: Path) -> None:
    model_process(records_folder(tmp_path))
    seen = traced(CASE, LEVELS, REPRODUCED, tmp_path)
    assert (seen.component, seen.weight) == (None, 0.0)
    assert seen.text.startswith("no number was bad before it failed")


def test_a_trace_that_nobody_took_in_is_said_to_be_none(tmp_path: Path) -> None:
    write(records_folder(tmp_path), HELLO)
    seen = traced(CASE, LEVELS, REPRODUCED, tmp_path)
    assert (seen.text, seen.component) == ("not traced: 1 Python process carried it, and none imported torch", None)


def test_another_failure_than_the_target_s_is_an_observer_effect(tmp_path: Path) -> None:
    other = replace(REPRODUCED, kind=OutcomeKind.OTHER, failure=replace(EMPTY, message="no such flag"))
    seen = traced(CASE, LEVELS, other, tmp_path)
    assert (seen.text, seen.component) == (
        "observer effect: with --enforce-eager it fails otherwise: no such flag",
        None,
    )


def test_a_trial_that_was_broken_off_is_no_trace(tmp_path: Path) -> None:
    broken = Outcome(OutcomeKind.UNRESOLVED, Stage.UNKNOWN, "the host was restarted")
    assert traced(CASE, LEVELS, broken, tmp_path).text == "not traced: the host was restarted"
