"""HTTP 200 is a transport's success: what is in the answer decides."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.spools import completion

from ruleout.engines import Request, engine_named
from ruleout.investigation.answers import Fault, judge_answer
from ruleout.model import FailureClass

ENGINE = engine_named("command")
REQUEST = Request(1, "completion", "POST", "/v1/chat/completions", body='{"max_tokens": 32}', timeout=30.0)


def fault(body: str = "", status: int = 200, completion: bool = True, **event: Any) -> Fault | None:
    return judge_answer({"status": status, "body": body, "error": None, **event}, REQUEST, ENGINE, completion)


def tokens(*logprobs: str) -> str:
    """A completion with these logprobs, as an engine writes them."""
    listed = ", ".join(f'{{"token": "a", "logprob": {value}}}' for value in logprobs)
    return f'{{"choices": [{{"message": {{"content": "abc"}}, "logprobs": {{"content": [{listed}]}}}}]}}'


@pytest.mark.parametrize(
    ("body", "class_", "text"),
    [
        pytest.param(
            completion(""), FailureClass.WRONG_OUTPUT, "HTTP 200, empty content, finish_reason stop", id="empty"
        ),
        pytest.param(completion(None), FailureClass.WRONG_OUTPUT, "HTTP 200, empty content", id="no content"),
        pytest.param('{"choices": []}', FailureClass.WRONG_OUTPUT, "HTTP 200, empty content", id="no choices"),
        pytest.param(completion("\0\0"), FailureClass.WRONG_OUTPUT, "without text", id="NUL"),
        pytest.param(
            json.dumps(
                {
                    "choices": [{"message": {"content": ""}, "finish_reason": "length"}],
                    "usage": {"completion_tokens": 32},
                }
            ),
            FailureClass.WRONG_OUTPUT,
            "HTTP 200, 32 completion tokens without text, finish_reason length",
            id="tokens without text",
        ),
        pytest.param(
            completion("!!!!!!!!"), FailureClass.WRONG_OUTPUT, "HTTP 200, token 0 repeated: !!!!!!!!", id="marks"
        ),
        pytest.param(
            completion("\ufffd" * 4, token_ids=[0, 0, 0, 0]), FailureClass.WRONG_OUTPUT, "token 0 repeated", id="ids"
        ),
        pytest.param(completion("Pa", "abort"), FailureClass.OTHER, "HTTP 200, finish_reason abort", id="abort"),
        pytest.param(completion("", "abort"), FailureClass.OTHER, "HTTP 200, finish_reason abort", id="empty abort"),
        pytest.param(completion("Pa", "error"), FailureClass.OTHER, "HTTP 200, finish_reason error", id="error"),
        pytest.param(tokens("-0.5", "NaN", "-1"), FailureClass.NAN_INF, "HTTP 200 with logprob nan (1 of 3)", id="NaN"),
        pytest.param(tokens("-Infinity"), FailureClass.NAN_INF, "logprob -inf (1 of 1)", id="Inf"),
        pytest.param(tokens("null", "null"), FailureClass.NAN_INF, "logprob nan (2 of 2)", id="null"),
        pytest.param("", FailureClass.WRONG_OUTPUT, "HTTP 200 with a body that is no completion", id="nothing"),
        pytest.param(
            "<html>\n busy", FailureClass.WRONG_OUTPUT, "a body that is no completion: <html> busy", id="no completion"
        ),
        pytest.param('{"error": "x"}', FailureClass.WRONG_OUTPUT, "no completion", id="error with 200"),
    ],
)
def test_an_answer_with_nothing_in_it_is_a_fault_in_words(body: str, class_: FailureClass, text: str) -> None:
    found = fault(body)
    assert found is not None
    assert found.class_ is class_
    assert text in found.whole


@pytest.mark.parametrize("status", [100, 302, 400, 404, 500, 503])
@pytest.mark.parametrize("completion", [True, False])
def test_any_status_but_success_is_a_fault_with_what_the_server_said(status: int, completion: bool) -> None:
    found = fault("Internal\n Server Error", status, completion)
    assert found == Fault(FailureClass.OTHER, f"HTTP {status}", "Internal Server Error")


def test_no_answer_in_time_is_a_hang() -> None:
    assert fault(status=0, error="timeout") == Fault(FailureClass.HANG, "no answer in 30 s")


@pytest.mark.parametrize(
    ("error", "detail", "text"),
    [("refused", "", "connection refused"), ("reset", "by peer", "connection reset: by peer")],
)
def test_a_connection_that_broke_is_a_fault(error: str, detail: str, text: str) -> None:
    found = fault(status=0, error=error, detail=detail)
    assert found is not None
    assert (found.class_, found.whole) == (FailureClass.OTHER, text)


def test_a_broken_connection_is_a_fault_even_after_a_status() -> None:
    found = fault(completion("Paris"), 200, error="reset")
    assert found == Fault(FailureClass.OTHER, "connection reset")


@pytest.mark.parametrize(
    "body",
    [
        completion("Paris"),
        completion("Paris", "length"),
        completion("!"),
        completion("Hello!!!!"),
        completion("!!!"),
        completion("é", token_ids=[0, 0, 0, 7]),
        completion("\n"),
        tokens("-0.5", "0", "-12"),
        json.dumps({"choices": [{"text": "Paris"}]}),
    ],
)  # fmt: skip
def test_an_answer_with_text_is_none(body: str) -> None:
    assert fault(body) is None


@pytest.mark.parametrize("body", ["", "ok", completion("")])
def test_where_no_completion_is_asked_for_any_success_will_do(body: str) -> None:
    assert fault(body, completion=False) is None
    assert fault(body, 204, completion=False) is None
