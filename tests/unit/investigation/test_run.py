"""A run is read from two halves: what the log says and what a client saw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.spools import JOB, SERVE, FakeSpool, completion

from ruleout.model import Evidence, Exposure, Failure, FailureClass, Probe, Stage, probe_of
from ruleout.reading import similar

TRACE = (
    "Traceback (most recent call last):",
    '  File "/srv/engine/cache.py", line 7, in insert',
    "    self.keys[slot] = value",
    "RuntimeError: shape mismatch: value tensor of shape [35, 4, 64] cannot be broadcast",
)
OOM = (
    "Traceback (most recent call last):",
    '  File "/srv/engine/model.py", line 7, in load',
    "    self.weight = torch.empty(n)",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
)


@pytest.fixture
def spool(tmp_path: Path) -> FakeSpool:
    return FakeSpool(tmp_path)


# -- jobs ----------------------------------------------------------------------------------------------------------


def test_a_job_that_ends_with_0_is_clean(spool: FakeSpool) -> None:
    run = spool.log("loading weights").add("started").exited(0).read(JOB)
    assert run.failure is None
    assert run.broken_off == ""
    assert run.reached is Stage.WEIGHT_LOAD


def test_a_job_that_ends_with_0_is_clean_whatever_its_log_says(spool: FakeSpool) -> None:
    assert spool.log(*TRACE).add("started").exited(0).read(JOB).failure is None


@pytest.mark.parametrize("code", [1, 2, 125, 137, 255])
def test_any_other_exit_code_of_a_job_is_a_failure(spool: FakeSpool, code: int) -> None:
    failure = spool.log("decoding").add("started").exited(code).read(JOB).failure
    assert failure is not None
    assert (failure.class_, failure.message) == (FailureClass.OTHER, f"exited with code {code}")
    assert failure.exposure == Exposure(Stage.DECODE)


@pytest.mark.parametrize(("signal", "text"), [(11, "SIGSEGV"), (6, "SIGABRT"), (77, "signal 77")])
def test_a_job_that_a_signal_ended_says_which(spool: FakeSpool, signal: int, text: str) -> None:
    failure = spool.log().add("started").exited(signal=signal).read(JOB).failure
    assert failure is not None
    assert failure.message.startswith("was ended by ")
    assert text in failure.message


def test_two_ways_to_end_have_two_signatures(tmp_path: Path) -> None:
    def mark(code: int | None, signal: int | None) -> str:
        failure = FakeSpool(tmp_path).log().add("started").exited(code, signal).read(JOB).failure
        assert failure is not None
        return failure.signature

    assert mark(None, 11) == mark(None, 11)
    assert len({mark(None, 11), mark(None, 6), mark(1, None), mark(3, None)}) == 4


def test_the_class_of_a_job_is_the_log_s(spool: FakeSpool) -> None:
    failure = spool.log("loading weights", *OOM).add("started").exited(1).read(JOB).failure
    assert failure is not None
    assert failure.class_ is FailureClass.OOM
    assert failure.exposure == Exposure(Stage.WEIGHT_LOAD)
    assert failure.exception == "torch.OutOfMemoryError"
    assert failure.message.startswith("CUDA out of memory")
    assert failure.evidence == (Evidence("server.log", 5, OOM[-1]),)
    assert failure.client == ""


def test_a_job_that_does_not_end_hangs(spool: FakeSpool) -> None:
    failure = spool.log("decoding").add("started").ended("limit", "longer than 60 s").read(JOB).failure
    assert failure is not None
    assert failure.class_ is FailureClass.HANG
    assert "longer than 60 s" in failure.message


def test_a_kill_that_the_kernel_made_for_memory_is_told_from_another(tmp_path: Path) -> None:
    def class_(*told: str) -> FailureClass:
        spool = FakeSpool(tmp_path).log("decoding").add("started", pid=7)
        spool.add("gathered", what="kernel_log", data=list(told))
        failure = spool.exited(signal=9).read(JOB).failure
        assert failure is not None
        return failure.class_

    assert class_("oom-kill: Killed process 7 (python)") is FailureClass.HOST_OOM_KILL
    assert class_("oom-kill: Killed process 8 (python)") is FailureClass.OTHER
    assert class_() is FailureClass.OTHER


# -- starting ------------------------------------------------------------------------------------------------------


def test_a_server_that_is_not_ready_in_time_hangs_where_it_was(spool: FakeSpool) -> None:
    run = spool.log("loading weights", "allocating cache").add("started").ended("not_ready", "timeout").read(SERVE)
    assert run.failure is not None
    assert (run.failure.class_, run.failure.message) == (FailureClass.HANG, "not ready after 60 s")
    assert run.failure.exposure == Exposure(Stage.KV_CACHE_ALLOC)
    assert run.reached is Stage.KV_CACHE_ALLOC
    assert run.sequence == (Stage.WEIGHT_LOAD, Stage.KV_CACHE_ALLOC)


def test_a_server_that_is_not_ready_in_time_but_says_why_has_the_log_s_class(spool: FakeSpool) -> None:
    failure = spool.log("loading weights", *OOM).add("started").ended("not_ready", "timeout").read(SERVE).failure
    assert failure is not None
    assert failure.class_ is FailureClass.OOM


@pytest.mark.parametrize(
    ("code", "signal", "message"),
    [
        (3, None, "exited with code 3"),
        (0, None, "exited with code 0 before it was ready"),
        (None, 9, "was ended by SIGKILL"),
    ],
)
def test_a_server_that_leaves_before_it_is_ready_has_failed(
    spool: FakeSpool, code: int | None, signal: int | None, message: str
) -> None:
    failure = spool.log("loading weights").add("started").exited(code, signal).read(SERVE).failure
    assert failure is not None
    assert failure.message == message
    assert failure.exposure == Exposure(Stage.WEIGHT_LOAD)


def test_the_stage_of_a_failure_is_the_one_before_it_in_the_log(spool: FakeSpool) -> None:
    run = spool.log("loading weights", *OOM, "allocating cache").add("started").exited(1).read(SERVE)
    assert run.failure is not None
    assert run.failure.exposure == Exposure(Stage.WEIGHT_LOAD)


# -- probing -------------------------------------------------------------------------------------------------------


def test_a_server_that_answers_every_probe_is_clean(spool: FakeSpool) -> None:
    run = spool.log("loading weights").ready().answered(1).answered(2).ended().read(SERVE)
    assert run.failure is None
    assert run.steps == 2
    assert Stage.READY in run.sequence
    assert run.reached is Stage.DECODE


def test_where_the_log_names_a_class_it_is_the_class_and_the_client_s_words_are_kept(spool: FakeSpool) -> None:
    spool.log("loading weights", *TRACE).ready().answered(1, completion("")).answered(2).ended()
    failure = spool.read(SERVE).failure
    assert failure is not None
    assert failure.class_ is FailureClass.SHAPE_MISMATCH
    assert failure.message.startswith("shape mismatch")
    assert failure.client == "completion 1 of 2: HTTP 200, empty content, finish_reason stop"
    assert failure.evidence == (
        Evidence("server.log", 5, TRACE[-1]),
        Evidence("probe 1", 0, "HTTP 200, empty content, finish_reason stop"),
    )
    assert failure.exposure.step == 1


def test_where_the_log_is_silent_the_client_s_class_is_the_class(spool: FakeSpool) -> None:
    failure = spool.log("loading weights").ready().answered(1, completion("")).ended().read(SERVE).failure
    assert failure is not None
    assert failure.class_ is FailureClass.WRONG_OUTPUT
    assert failure.message == "HTTP 200, empty content, finish_reason stop"
    assert failure.evidence == (Evidence("probe 1", 0, failure.message),)


def test_a_server_without_any_log_is_read_all_the_same(spool: FakeSpool) -> None:
    failure = spool.ready().answered(1, "", 500).ended().read(SERVE).failure
    assert failure is not None
    assert failure.message == "HTTP 500"


def test_of_two_requests_the_second_may_be_the_first_to_fail(spool: FakeSpool) -> None:
    run = spool.log().ready().answered(1).answered(2, "Internal Server Error", 500).ended().read(SERVE)
    assert run.failure is not None
    assert run.failure.exposure.step == 2
    assert run.failure.client == "completion 2 of 2: HTTP 500: Internal Server Error"
    assert run.steps == 1


def test_the_first_of_two_failing_requests_is_the_failure(spool: FakeSpool) -> None:
    run = spool.log().ready().answered(1, completion("")).answered(2, "", 500).ended().read(SERVE)
    assert run.failure is not None
    assert run.failure.exposure.step == 1
    assert run.steps == 0


def test_a_server_that_died_before_a_request_could_be_sent_has_failed_at_it(spool: FakeSpool) -> None:
    run = spool.log().ready().answered(1).exited(signal=11).read(SERVE)
    assert run.failure is not None
    assert run.failure.exposure.step == 2
    assert run.failure.client == "completion 2 of 2: the server was ended by SIGSEGV"


def test_a_request_that_gave_some_text_failed_in_decode_and_one_that_gave_none_in_prefill(tmp_path: Path) -> None:
    def stage(body: str) -> Stage:
        failure = FakeSpool(tmp_path).log().ready().answered(1, body).ended().read(SERVE).failure
        assert failure is not None
        return failure.exposure.stage

    assert stage(completion("Pa", "abort")) is Stage.DECODE
    assert stage(completion("")) is Stage.PREFILL


def test_a_request_under_load_fails_in_concurrency_and_says_how_many_did(spool: FakeSpool) -> None:
    case = replace(SERVE, probes=(Probe("load", concurrency=2, requests=3),))
    spool.log().ready().answered(1).answered(1, "busy", 500).answered(1, "busy", 500).ended()
    failure = spool.read(case).failure
    assert failure is not None
    assert failure.exposure == Exposure(Stage.CONCURRENCY, 1)
    assert failure.client == "load: 2 of 3 requests: HTTP 500: busy"


def test_where_the_first_requests_were_answered_the_client_s_words_say_so(spool: FakeSpool) -> None:
    """A prefix is cached once it was computed: then the first of those that share it is right."""
    case = replace(SERVE, probes=(probe_of("shared_prefix", requests=3),))
    spool.log().ready()
    for number, body in enumerate([completion("Paris"), completion(""), completion("")], 1):
        spool.add("probe", step=1, request=number, status=200, body=body, error=None)
    failure = spool.ended().read(case).failure
    assert failure is not None
    assert failure.client.startswith("shared_prefix: 2 of 3 requests, the first of them number 2: HTTP 200, empty")


def test_how_many_requests_failed_does_not_make_it_another_failure(tmp_path: Path) -> None:
    def failure(answers: int) -> Failure:
        case = replace(SERVE, probes=(Probe("load", concurrency=answers, requests=answers),))
        spool = FakeSpool(tmp_path).log().ready()
        for _ in range(answers):
            spool.answered(1, "busy", 500)
        found = spool.ended().read(case).failure
        assert found is not None
        return found

    assert similar(failure(1), failure(8))
    assert failure(1).signature == failure(8).signature


def test_a_probe_of_a_path_needs_no_completion(spool: FakeSpool) -> None:
    case = replace(SERVE, probes=(Probe("http", path="/health"),))
    assert spool.log().ready().answered(1, "ok").ended().read(case).failure is None


# -- ends that say nothing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["lease_lost", "interrupted", "refused", "failed", "reaped"])
@pytest.mark.parametrize("case", [JOB, SERVE], ids=["job", "serve"])
def test_a_run_that_we_broke_off_says_nothing(spool: FakeSpool, reason: str, case: object) -> None:
    run = spool.log(*TRACE).add("started").ended(reason, "in words").read(JOB if case is JOB else SERVE)
    assert run.failure is None
    assert run.broken_off == "in words"


def test_a_run_without_a_last_word_says_nothing(spool: FakeSpool) -> None:
    run = spool.log(*TRACE).ready().answered(1, completion("")).read(SERVE)
    assert run.failure is None
    assert run.broken_off == "no end was recorded"


def test_a_log_that_outgrew_its_limit_says_nothing(spool: FakeSpool) -> None:
    run = spool.log("decoding").add("started").ended("limit", "the log grew beyond 8 bytes").read(JOB)
    assert run.failure is None
    assert run.broken_off == "the log grew beyond 8 bytes"


# -- minutes -------------------------------------------------------------------------------------------------------


def test_minutes_are_measured_from_the_first_event_to_the_last(spool: FakeSpool) -> None:
    assert spool.log("x").add("started").add("stopped").exited(0).read(JOB).minutes == pytest.approx(3.0)


def test_minutes_that_the_command_reports_replace_the_measured_ones(spool: FakeSpool) -> None:
    run = spool.log("RULEOUT_COST_MINUTES=3", "work", "RULEOUT_COST_MINUTES=12.5").add("started").exited(0).read(JOB)
    assert run.minutes == 12.5


@pytest.mark.parametrize("written", ["nan", "-3", "many", "inf"])
def test_a_reported_cost_that_is_no_time_is_passed_over(spool: FakeSpool, written: str) -> None:
    run = spool.log(f"RULEOUT_COST_MINUTES={written}").add("started").exited(0).read(JOB)
    assert run.minutes == pytest.approx(2.0)
