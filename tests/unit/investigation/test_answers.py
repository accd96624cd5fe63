"""HTTP 200 is a transport's success: what is in the answer decides."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.spools import completion

from ruleout.engines import Request, engine_named
from ruleout.investigation.answers import judge_answer
from ruleout.investigation.faults import Fault, excerpt
from ruleout.model import FailureClass, Probe, Recorded, probe_of

ENGINE = engine_named("command")


def fault(
    body: str = "", status: int = 200, probe: Probe | None = None, expected: Recorded | None = None, **event: Any
) -> Fault | None:
    """What is wrong with the answer to a request of a probe."""
    asked = probe or Probe()
    path, limit = "/v1/chat/completions", '{"max_tokens": 32}'
    request = Request(1, asked.kind, "POST", path, body=limit, timeout=30.0, probe=asked, expected=expected)
    return judge_answer({"status": status, "body": body, "error": None, **event}, request, ENGINE)


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
@pytest.mark.parametrize("kind", ["completion", "streaming", "load", "http", "logprobs"])
def test_any_status_but_success_is_a_fault_with_what_the_server_said(status: int, kind: str) -> None:
    found = fault("Internal\n Server Error", status, probe_of(kind))
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
    assert fault(body, probe=Probe("http")) is None
    assert fault(body, 204, probe=Probe("http")) is None


# -- what a server need not offer ----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 404, 422, 429])
def test_what_a_server_need_not_offer_it_may_refuse(status: int) -> None:
    assert fault("the prompt is too long", status, probe_of("long", optional=True)) is None
    assert fault("the prompt is too long", status, probe_of("long")) is not None


@pytest.mark.parametrize("status", [500, 503])
def test_a_server_may_not_fail_on_what_it_need_not_offer(status: int) -> None:
    assert fault("boom", status, probe_of("long", optional=True)) is not None


@pytest.mark.parametrize("optional", [True, False])
def test_a_refusal_for_want_of_numbers_is_a_failure_whatever_the_status(optional: bool) -> None:
    told = '{"error": {"message": "Out of range float values are not JSON compliant", "code": 400}}'
    found = fault(told, 400, probe_of("logprobs", optional=optional))
    assert found is not None
    assert (found.class_, found.text) == (FailureClass.NAN_INF, "HTTP 400 in place of logprobs")


def test_logprobs_that_were_asked_for_have_to_come_unless_they_need_not() -> None:
    found = fault(completion("Paris"), probe=probe_of("logprobs"))
    assert found == Fault(FailureClass.WRONG_OUTPUT, "HTTP 200 without the logprobs that were asked for")
    assert fault(completion("Paris"), probe=probe_of("logprobs", optional=True)) is None
    assert fault(tokens("-0.5"), probe=probe_of("logprobs")) is None


# -- streams -------------------------------------------------------------------------------------------------------

STREAMING = probe_of("streaming")


def stream(*pieces: str, reason: str | None = "length", error: str = "") -> str:
    """A stream of events with these pieces of text, and what ends it."""
    documents: list[Any] = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
    documents += [{"error": {"message": error}}] if error else []
    documents += [{"choices": [{"delta": {}, "finish_reason": reason}]}] if reason else []
    return "".join(f"data: {json.dumps(document)}\n\n" for document in documents)


def test_a_stream_with_text_and_an_end_is_an_answer() -> None:
    assert fault(stream("Pa", "ris"), probe=STREAMING) is None


@pytest.mark.parametrize(
    ("body", "class_", "text"),
    [
        (stream("Pa", reason=None), FailureClass.WRONG_OUTPUT, "a stream that ends without finish_reason: Pa"),
        (stream(), FailureClass.WRONG_OUTPUT, "HTTP 200, empty content, finish_reason length"),
        (stream("Pa", reason="abort"), FailureClass.OTHER, "finish_reason abort"),
        (stream("Pa", error="EngineCore died"), FailureClass.OTHER, "an error in the stream: EngineCore died"),
        (stream("Pa", error="logits contain nan"), FailureClass.NAN_INF, "an error in the stream: logits contain nan"),
        (stream("!!", "!!!"), FailureClass.WRONG_OUTPUT, "token 0 repeated"),
        (completion("Paris"), FailureClass.WRONG_OUTPUT, "a body that is no stream of events"),
        ("", FailureClass.WRONG_OUTPUT, "a body that is no stream of events"),
    ],
    ids=["cut off", "empty", "aborted", "error", "NaN", "token 0", "in one piece", "nothing"],
)
def test_a_stream_that_does_not_come_to_a_good_end_is_a_fault(body: str, class_: FailureClass, text: str) -> None:
    found = fault(body, probe=STREAMING)
    assert found is not None
    assert found.class_ is class_
    assert text in found.whole


def test_a_stream_that_we_stopped_listening_to_need_not_end() -> None:
    assert fault(stream("Pa", reason=None), probe=STREAMING, truncated=True) is None


# -- references ----------------------------------------------------------------------------------------------------


def test_an_answer_is_compared_with_the_one_that_is_expected() -> None:
    assert fault(completion("Paris"), expected=Recorded("q", 8, "Paris")) is None
    found = fault(completion("Lyon"), expected=Recorded("q", 8, "Paris"))
    assert found is not None
    assert found.class_ is FailureClass.WRONG_OUTPUT


def test_a_reference_may_have_an_empty_answer_or_one_of_marks() -> None:
    assert fault(completion(""), expected=Recorded("q", 8, "")) is None
    assert fault(completion("!!!!!"), expected=Recorded("q", 8, "!!!!!")) is None


def test_a_quotation_that_goes_on_says_so() -> None:
    assert excerpt("a  b\x1b") == "a b·"
    assert excerpt("word " * 100) == ("word " * 24)[:119] + "…"
