"""When a failure shows, and what of the workload is worth a trial for it."""

from __future__ import annotations

from typing import Any

import pytest

from ruleout.engines import engine_named
from ruleout.investigation.showing import shows, workloads
from ruleout.model import (
    Carrier,
    Case,
    Configuration,
    Exposure,
    Factor,
    Failure,
    FailureClass,
    Mechanism,
    Mode,
    Outcome,
    OutcomeKind,
    Probe,
    Recorded,
    Reference,
    RuledOut,
    ServedModel,
    Stage,
    Trial,
    Verdict,
    VerdictStatus,
    probe_of,
)

ENGINE = engine_named("vllm")
COMMAND = ("vllm", "serve", "m", "--max-model-len", "512")
USUAL = Case("c", "vllm", COMMAND)
STEPS = {r.name: r.step for r in ENGINE.requests(USUAL, Configuration())}


def failure(step: int) -> Failure:
    return Failure(FailureClass.WRONG_OUTPUT, Exposure(Stage.PREFILL if step else Stage.WEIGHT_LOAD, step), "m", "s")


def factors(step: int, case: Case = USUAL) -> dict[str, tuple[str, ...]]:
    return {choice.factor.name: choice.factor.levels for choice in workloads(case, ENGINE, failure(step))}


def told(case: Case, step: int, **verdict: Any) -> str:
    return shows(case, ENGINE, Verdict(VerdictStatus.NARROWED, 0.5, failure=failure(step), **verdict))


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("completion 1 of 2", {}),
        ("completion 2 of 2", {"shared_prefix": ("off", "on")}),
        ("streaming", {"streaming": ("off", "on")}),
        ("logprobs", {}),
        ("long", {"prompt_length": ("4", "7", "28", "112")}),
        ("shared_prefix", {"shared_prefix": ("off", "on")}),
        ("load", {"concurrency": ("1", "8")}),
    ],
)
def test_what_the_failing_request_has_and_a_plain_one_has_not_is_offered(
    step: str, expected: dict[str, tuple[str, ...]]
) -> None:
    assert factors(STEPS[step]) == expected


def test_the_baseline_of_what_is_offered_is_what_failed() -> None:
    for step in STEPS.values():
        for choice in workloads(USUAL, ENGINE, failure(step)):
            case = Case("c", "vllm", COMMAND, (choice.factor,))
            asked, usual = ENGINE.requests(case, case.baseline), ENGINE.requests(USUAL, USUAL.baseline)
            assert [(r.body, r.bodies, r.concurrency) for r in asked] == [
                (r.body, r.bodies, r.concurrency) for r in usual
            ]


def test_nothing_is_offered_for_a_start_that_fails_or_a_job() -> None:
    assert factors(0) == {}
    assert workloads(USUAL, ENGINE, None) == ()
    job = Case("c", "vllm", COMMAND, mode=Mode.JOB)
    assert factors(1, job) == {}
    assert told(USUAL, 0) == told(job, 1) == ""


def test_what_is_varied_already_is_not_offered() -> None:
    mine = Factor("concurrency", Mechanism.ENV, "X", ("1", "8"), "8")
    assert factors(STEPS["load"], Case("c", "vllm", COMMAND, (mine,))) == {}


@pytest.mark.parametrize(
    ("step", "what", "speaks"),
    [
        ("completion 1 of 2", "already with the first request, short and by itself", "a format, a layout, the weights"),
        ("completion 2 of 2", "from the second of two like requests on", "what the first one leaves behind"),
        ("streaming", "with a streamed answer", "the way the answer is sent"),
        ("logprobs", "when logprobs are asked for", "the sampler"),
        ("long", "with a prompt of 112 words", "positions, pages and chunks"),
        ("shared_prefix", "with long prompts that begin alike", "the prefix cache"),
        ("load", "with 8 requests at once", "a race"),
    ],
)
def test_the_step_that_fails_first_says_when_it_shows(step: str, what: str, speaks: str) -> None:
    text = told(USUAL, STEPS[step])
    assert text.startswith(what)
    assert speaks in text


def test_what_passed_before_is_named() -> None:
    text = told(USUAL, STEPS["long"])
    assert "what was asked before passed (completion, streaming, logprobs)" in text


def test_where_nothing_simpler_was_asked_nothing_is_concluded() -> None:
    load = Case("c", "vllm", COMMAND, probes=(probe_of("load"),))
    assert told(load, 1) == "with 8 requests at once; nothing simpler was asked before."


def test_an_answer_that_is_not_that_of_the_reference_is_said_to_be_one() -> None:
    reference = Reference("/v1/completions", ServedModel("m"), (Recorded("q", 8, "a"),))
    case = Case("c", "vllm", COMMAND, probes=(Probe("compare", reference=reference),))
    assert "it is answered, but not rightly" in told(case, 1)


LOAD = Factor("at_once", Mechanism.WORKLOAD, "concurrency", ("1", "8"), "8")
VARIED = Case("c", "vllm", COMMAND, (LOAD,))


def test_a_workload_that_takes_part_in_the_cause_is_said_to_be_needed_and_by_which_trial() -> None:
    clean = Trial(4, Configuration(at_once="1"), "", Outcome(OutcomeKind.CLEAN, Stage.DECODE, ""))
    text = told(VARIED, STEPS["load"], causes=((Carrier("at_once", ("8",)),),), trials=(clean,))
    assert "only with at_once=8: clean with 1 (trial 4)" in text
    assert "a race" in text


def test_a_workload_that_was_ruled_out_speaks_for_what_every_request_goes_through() -> None:
    text = told(VARIED, STEPS["load"], ruled_out=(RuledOut("at_once", (3, 5)),))
    assert "whatever the concurrency (trials 3, 5)" in text
    assert "a format, a layout, the weights" in text
