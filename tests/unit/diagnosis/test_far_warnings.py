"""A rule finds its words in a warning far above the failure, as long as the run got no further in between."""

from __future__ import annotations

import io

import pytest

from ruleout.diagnosis.catalogue import catalogue
from ruleout.diagnosis.rule import match
from ruleout.diagnosis.sharpen import matches
from ruleout.diagnosis.view import View, view
from ruleout.reading.diagnose import Stream, read_run

WARN = (
    "node9:1:7 [2] misc/socket.cc:9 NCCL WARN socketPollConnect: Connect to 192.0.2.7<50001> returned 113(No route)\n"
)
BETWEEN = "node9:1:7 [2] NCCL INFO acme {n} is asked for\n"
FAILS = "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)\n"
LOADS = "INFO 11-29 16:25:31 [gpu_model_runner.py:9] Starting to load model acme...\n"
STARTS = "INFO 11-29 16:25:30 [api_server.py:9] vLLM API server version 0.99.0\n"


def seen(*logs: str) -> View:
    run = read_run([Stream(f"rank{n}.log", io.BytesIO(log.encode())) for n, log in enumerate(logs)])
    return view(run.diagnosis, run.near, run.lines)


def fired(*logs: str) -> set[str]:
    return {found.rule.id for found in matches(catalogue(), seen(*logs))}


def between(lines: int) -> str:
    return "".join(BETWEEN.format(n=n) for n in range(lines))


@pytest.mark.parametrize("lines", [5, 40, 80, 200, 3000])
def test_a_warning_tells_of_its_stage_s_failure_however_far_above_it_stands(lines: int) -> None:
    assert "nccl-cannot-connect" in fired(STARTS + WARN + between(lines) + FAILS)


def test_a_warning_of_an_earlier_stage_or_of_another_log_tells_nothing() -> None:
    assert "nccl-cannot-connect" not in fired(STARTS + WARN + between(200) + LOADS + between(200) + FAILS)
    assert "nccl-cannot-connect" not in fired(STARTS + between(200) + FAILS, STARTS + WARN + between(200))


def test_words_near_the_failure_come_before_a_warning_far_above() -> None:
    rule = next(rule for rule in catalogue() if rule.id == "nccl-cannot-connect")
    near = WARN.replace("192.0.2.7", "192.0.2.9")
    found = match(rule, seen(STARTS + WARN + between(200) + near + FAILS))
    assert found
    assert found.parameters["address"] == "192.0.2.9"
