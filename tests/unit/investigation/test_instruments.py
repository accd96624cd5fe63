"""When a trial is watched, what is put on its command for it, and what it then says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ruleout.diagnosis.ladder import waiting_for_each
from ruleout.investigation.instruments import changes, instrument, offered, seen_by, watched, watched_baseline
from ruleout.model import (
    Case,
    Component,
    Configuration,
    Exposure,
    Factor,
    Failure,
    FailureClass,
    Goal,
    Mechanism,
    Observation,
    Outcome,
    OutcomeKind,
    Stage,
    Trial,
    Verdict,
    VerdictStatus,
)
from ruleout.model.outcome import Evidence

GRAPH = Factor("graph", Mechanism.FLAG, "--disable-cuda-graph", ("absent", "present"), "absent")
CASE = Case("c", "sglang", ("python", "-m", "sglang.launch_server", "--model-path", "m"), env={"A": "b"})
LATE = Failure(
    FailureClass.ILLEGAL_MEMORY_ACCESS, Exposure(Stage.DECODE), "an illegal memory access", "s", asynchronous=True
)
STEP = waiting_for_each("sglang")
CHANGE = Configuration({"CUDA_LAUNCH_BLOCKING": "1", "--disable-cuda-graph": "present"})


def test_a_failure_that_is_reported_late_is_watched_once() -> None:
    assert instrument(CASE, LATE, ()) == STEP
    assert instrument(CASE, LATE, (Trial(2, Configuration(), "", instruments=CHANGE),)) is None


@pytest.mark.parametrize(
    ("case", "target"),
    [
        (CASE, None),
        (CASE, replace(LATE, asynchronous=False)),
        (replace(CASE, env={"CUDA_LAUNCH_BLOCKING": "1"}), LATE),
        (replace(CASE, engine="command"), LATE),
        (replace(CASE, goal=Goal.WORKAROUND), LATE),
    ],
    ids=["no target", "on time", "watched already", "unknown engine", "a way out is wanted"],
)
def test_it_is_not_watched_where_that_tells_nothing(case: Case, target: Failure | None) -> None:
    assert instrument(case, target, ()) is None


def test_instruments_go_onto_the_command_and_into_the_environment() -> None:
    assert changes(STEP) == CHANGE
    seen = watched(CASE, CHANGE)
    assert seen.command == (*CASE.command, "--disable-cuda-graph")
    assert seen.env == {"A": "b", "CUDA_LAUNCH_BLOCKING": "1"}
    assert watched(CASE, Configuration()) == CASE


def test_a_factor_that_sets_the_same_is_moved_instead() -> None:
    case = replace(CASE, factors=(GRAPH,))
    assert watched_baseline(case, CHANGE) == Configuration({"graph": "present"})
    assert watched(case, CHANGE).command == CASE.command


def outcome(kind: OutcomeKind, failure: Failure | None = None) -> Outcome:
    return Outcome(kind, Stage.DECODE, "", failure)


def test_in_a_container_a_variable_is_set_where_the_engine_runs() -> None:
    command = ("docker", "run", "--gpus", "all", "lmsysorg/sglang", "sglang", "serve", "--model-path", "m")
    seen = watched(replace(CASE, command=command), CHANGE)
    assert seen.command == (*command[:4], "-e", "CUDA_LAUNCH_BLOCKING=1", *command[4:], "--disable-cuda-graph")
    assert seen.env == CASE.env


def test_a_failure_that_is_gone_while_it_is_watched_is_an_observer_effect() -> None:
    seen = seen_by(STEP, outcome(OutcomeKind.CLEAN), None)
    assert seen is not None
    assert seen.component is Component.CUDA_GRAPH
    assert seen.text.startswith("observer effect: with CUDA_LAUNCH_BLOCKING=1 --disable-cuda-graph the failure did not")
    assert seen_by(STEP, outcome(OutcomeKind.UNRESOLVED), None) is None


@pytest.mark.parametrize("status", [VerdictStatus.NARROWED, VerdictStatus.ELSEWHERE, VerdictStatus.EXHAUSTED])
def test_what_is_left_open_offers_what_may_tell_more(status: VerdictStatus) -> None:
    found = offered(CASE, Verdict(status, 0.5, failure=LATE, trials=(Trial(1, Configuration(), "", minutes=12.0),)))
    assert [dict(step.change) for step in found.next] == [
        dict(CHANGE),
        {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "1", "CUDA_COREDUMP_FILE": "/tmp/cuda-%h-%p.core"},
    ]
    assert all("price: " in step.why and "observer effect: " in step.why for step in found.next)
    assert [step.minutes for step in found.next] == [12.0, 12.0]


def test_ranks_that_wait_for_one_another_are_offered_the_words_of_nccl() -> None:
    line = Evidence("evidence/stacks.txt", 3, "barrier (torch/distributed/distributed_c10d.py:1)")
    waits = Observation("all 2 ranks wait", Component.NCCL, 0.6, (line,))
    hangs = replace(LATE, class_=FailureClass.HANG, asynchronous=False)
    trials = (Trial(1, Configuration(), "", replace(outcome(OutcomeKind.REPRODUCED, hangs), observed=(waits,))),)
    found = offered(CASE, Verdict(VerdictStatus.ELSEWHERE, 0.9, failure=hangs, trials=trials))
    assert [dict(step.change) for step in found.next] == [{"NCCL_DEBUG": "INFO"}]
    assert offered(CASE, Verdict(VerdictStatus.ELSEWHERE, 0.9, failure=hangs)).next == ()


def test_a_cause_that_is_known_needs_no_ladder() -> None:
    verdict = Verdict(VerdictStatus.ISOLATED, 0.99, failure=LATE)
    assert offered(CASE, verdict) == verdict
