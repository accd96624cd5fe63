"""What a run says about the target: never coerced, and clean only past the moment at which the target shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ruleout.investigation.judging import judge
from ruleout.investigation.run import Run
from ruleout.model import Exposure, Failure, FailureClass, Outcome, OutcomeKind, Stage, Target

LOAD, CACHE, DECODE, PREFILL = Stage.WEIGHT_LOAD, Stage.KV_CACHE_ALLOC, Stage.DECODE, Stage.PREFILL


def failure(
    stage: Stage,
    step: int = 0,
    message: str = "shape mismatch: value tensor of shape [35, 4, 64]",
    class_: FailureClass = FailureClass.SHAPE_MISMATCH,
    exception: str = "RuntimeError",
    asynchronous: bool = False,
) -> Failure:
    return Failure(class_, Exposure(stage, step), message, "", exception, asynchronous)


def run(failed: Failure | None, *sequence: Stage, steps: int = 0, broken_off: str = "") -> Run:
    return Run(failed, sequence[-1] if sequence else Stage.UNKNOWN, sequence, steps, broken_off, 1.0)


def judged(target: Failure | None, failed: Failure | None, *sequence: Stage) -> OutcomeKind:
    return judge(target, run(failed, *sequence)).kind


OOM = FailureClass.OOM


def other(stage: Stage, step: int = 0) -> Failure:
    return failure(stage, step, "CUDA out of memory", OOM, "OutOfMemoryError")


def test_the_same_failure_at_the_same_exposure_is_reproduced() -> None:
    assert judged(failure(DECODE, 1), failure(DECODE, 1), LOAD, DECODE) is OutcomeKind.REPRODUCED


def test_the_same_failure_with_other_numbers_is_reproduced() -> None:
    again = failure(DECODE, 1, "shape mismatch: value tensor of shape [17, 8, 128]")
    assert judged(failure(DECODE, 1), again, DECODE) is OutcomeKind.REPRODUCED


def test_prefill_and_decode_of_one_probe_step_are_one_exposure() -> None:
    assert judged(failure(PREFILL, 2), failure(DECODE, 2), DECODE) is OutcomeKind.REPRODUCED


@pytest.mark.parametrize(
    "found",
    [
        failure(DECODE, 1, "no kernel for head size 96 in this build of the extension"),
        failure(DECODE, 1, class_=OOM),
        failure(DECODE, 1, exception="KeyError"),
    ],
    ids=["message", "class", "exception"],
)
def test_another_failure_is_never_still_failing(found: Failure) -> None:
    assert judged(failure(DECODE, 1), found, DECODE) is OutcomeKind.OTHER


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ("HTTP 500", "HTTP 503"),
        ("HTTP 500: error in the engine", "HTTP 404: error in the engine"),
        ("exited with code 1", "exited with code 3"),
        ("was ended by SIGSEGV", "was ended by SIGBUS"),
    ],
)
def test_a_status_an_exit_code_and_a_signal_tell_failures_apart(one: str, another: str) -> None:
    target, found = (failure(DECODE, 1, m, FailureClass.OTHER, "") for m in (one, another))
    assert judged(target, found, DECODE) is OutcomeKind.OTHER
    assert judged(target, target, DECODE) is OutcomeKind.REPRODUCED


def test_names_in_quotes_tell_failures_apart() -> None:
    target = failure(LOAD, 0, "cannot find 'model.layers.experts.w13' in the file", FailureClass.MISSING_WEIGHTS)
    found = failure(LOAD, 0, "cannot find 'model.layers.gate.bias' in the file", FailureClass.MISSING_WEIGHTS)
    assert judged(target, found, LOAD) is OutcomeKind.OTHER


def test_of_an_asynchronous_error_only_the_assertion_counts() -> None:
    asserted = "Assertion `probability tensor contains either `inf`, `nan` or element < 0` failed"
    device = FailureClass.DEVICE_SIDE_ASSERT
    target = failure(DECODE, 1, asserted, device, "AcceleratorError", True)
    again = failure(DECODE, 1, asserted, device, "RuntimeError", True)
    different = failure(DECODE, 1, "Assertion `index out of bounds` failed", device, "AcceleratorError", True)
    assert judged(target, again, DECODE) is OutcomeKind.REPRODUCED
    assert judged(target, different, DECODE) is OutcomeKind.OTHER


def test_the_same_failure_at_another_exposure_is_not_it() -> None:
    assert judged(failure(DECODE, 1), failure(LOAD), LOAD) is OutcomeKind.OTHER


@pytest.mark.parametrize(
    ("signature", "kind"), [("5f2c", OutcomeKind.REPRODUCED), ("9a01", OutcomeKind.OTHER)], ids=["same", "another"]
)
def test_of_a_start_the_same_message_is_no_pass_in_whatever_stage_and_the_same_stack_is_the_same_failure(
    signature: str, kind: OutcomeKind
) -> None:
    target = replace(failure(LOAD), signature="5f2c")
    assert judged(target, replace(failure(CACHE), signature=signature), LOAD, CACHE) is kind


def test_nothing_failed_is_clean() -> None:
    outcome = judge(failure(DECODE, 1), run(None, LOAD, DECODE, steps=2))
    assert outcome == Outcome(OutcomeKind.CLEAN, DECODE, "every probe passed")
    assert judge(failure(LOAD), run(None, LOAD)).reason == "it ended with 0"


@pytest.mark.parametrize(
    ("target", "found", "sequence", "kind"),
    [
        pytest.param(failure(DECODE, 1), other(DECODE, 2), (LOAD, DECODE), OutcomeKind.CLEAN, id="a later probe"),
        pytest.param(failure(DECODE, 2), other(DECODE, 1), (LOAD, DECODE), OutcomeKind.OTHER, id="an earlier probe"),
        pytest.param(failure(DECODE, 1), other(DECODE, 1), (LOAD, DECODE), OutcomeKind.OTHER, id="the same probe"),
        pytest.param(failure(DECODE, 1), other(LOAD), (LOAD,), OutcomeKind.OTHER, id="the start before a probe"),
        pytest.param(failure(LOAD), other(DECODE, 1), (LOAD, DECODE), OutcomeKind.CLEAN, id="a probe after the start"),
        pytest.param(failure(LOAD), other(CACHE), (LOAD, CACHE), OutcomeKind.CLEAN, id="a later stage"),
        pytest.param(failure(CACHE), other(LOAD), (LOAD,), OutcomeKind.OTHER, id="an earlier stage"),
        pytest.param(failure(LOAD), other(LOAD), (LOAD,), OutcomeKind.OTHER, id="the same stage"),
        pytest.param(failure(LOAD), other(CACHE), (CACHE, LOAD), OutcomeKind.OTHER, id="by the run's own order"),
        pytest.param(failure(CACHE), other(LOAD), (CACHE, LOAD), OutcomeKind.CLEAN, id="against the usual order"),
        pytest.param(failure(LOAD), other(CACHE), (CACHE,), OutcomeKind.OTHER, id="the target's stage was never seen"),
        pytest.param(failure(LOAD), other(Stage.UNKNOWN), (LOAD, CACHE), OutcomeKind.OTHER, id="an unknown place"),
        pytest.param(failure(Stage.UNKNOWN), other(CACHE), (LOAD, CACHE), OutcomeKind.OTHER, id="an unknown target"),
    ],
)
def test_another_failure_is_clean_only_after_the_exposure_was_over(
    target: Failure, found: Failure, sequence: tuple[Stage, ...], kind: OutcomeKind
) -> None:
    assert judged(target, found, *sequence) is kind


def test_a_masked_trial_says_so_and_keeps_the_failure_that_struck() -> None:
    outcome = judge(failure(DECODE, 1), run(other(LOAD), LOAD))
    assert outcome.masked
    assert outcome.failure == other(LOAD)
    assert outcome.reason == "masked: another failure (oom in weight_load) before the target could show"


def test_a_run_that_was_broken_off_is_unresolved_whatever_it_shows() -> None:
    for failed in (None, failure(DECODE, 1)):
        outcome = judge(failure(DECODE, 1), run(failed, DECODE, broken_off="the lease was lost"))
        assert (outcome.kind, outcome.reason) == (OutcomeKind.UNRESOLVED, "the lease was lost")


def test_the_first_failure_of_the_baseline_is_the_target() -> None:
    outcome = judge(None, run(failure(DECODE, 1), DECODE))
    assert outcome.kind is OutcomeKind.REPRODUCED
    assert outcome.failure == failure(DECODE, 1)


def test_a_baseline_that_does_not_fail_is_clean() -> None:
    assert judged(None, None, DECODE) is OutcomeKind.CLEAN


@pytest.mark.parametrize(
    ("wanted", "kind"),
    [
        (Target(FailureClass.SHAPE_MISMATCH), OutcomeKind.REPRODUCED),
        (Target(FailureClass.SHAPE_MISMATCH, DECODE), OutcomeKind.REPRODUCED),
        (Target(FailureClass.SHAPE_MISMATCH, PREFILL), OutcomeKind.OTHER),
        (Target(OOM), OutcomeKind.OTHER),
        (Target(OOM, DECODE), OutcomeKind.OTHER),
    ],
)
def test_a_first_failure_that_is_not_the_one_asked_for_is_another(wanted: Target, kind: OutcomeKind) -> None:
    assert judge(None, run(failure(DECODE, 1), DECODE), wanted).kind is kind
