"""What a client finds in an answer, however oddly a failing engine writes it."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleout.engines import openai
from ruleout.engines.base import Answer, Request
from ruleout.model import Probe, UsageError

ASKED = Request(1, "completion", "POST", openai.CHAT, body='{"max_tokens": 32}')


def read(document: object, request: Request = ASKED) -> Answer:
    answer = openai.answer_of(request, document if isinstance(document, str) else json.dumps(document))
    assert answer is not None
    return answer


def chat(content: object, **more: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": content}, **more}]}


def test_a_chat_completion_is_read() -> None:
    document = chat("Paris") | {"usage": {"completion_tokens": 3}}
    assert read(document) == Answer("Paris", "stop", completion_tokens=3, asked_tokens=32)


def test_a_text_completion_is_read() -> None:
    assert read({"choices": [{"text": "Paris", "finish_reason": "length"}]}).text == "Paris"


def test_an_answer_encoded_twice_is_read() -> None:
    assert read(json.dumps(json.dumps(chat("")))).text == ""


def test_an_answer_without_text_has_none() -> None:
    assert read(chat(None)).text is None
    assert read({"choices": []}).text is None


def test_non_finite_logprobs_are_kept() -> None:
    values = ("-0.5", "NaN", "-Infinity", "null", '"NaN"')
    tokens = ", ".join(f'{{"token": "!", "logprob": {value}}}' for value in values)
    body = f'{{"choices": [{{"message": {{"content": "!"}}, "logprobs": {{"content": [{tokens}]}}}}]}}'
    logprobs = read(body).logprobs
    assert logprobs[0] == -0.5
    assert logprobs[2] == -math.inf
    assert [math.isnan(value) for value in logprobs] == [False, True, False, True, True]


def test_logprobs_of_a_text_completion_are_read() -> None:
    assert read({"choices": [{"text": "a", "logprobs": {"token_logprobs": [-1, -2.5]}}]}).logprobs == (-1.0, -2.5)


def test_token_ids_are_read_where_there_are_any() -> None:
    assert read(chat("a", token_ids=[5, 6])).token_ids == (5, 6)


def test_the_newer_name_of_the_limit_is_known() -> None:
    request = Request(1, "http", "POST", "/", body='{"max_completion_tokens": 4}')
    assert read(chat("a"), request).asked_tokens == 4


@pytest.mark.parametrize(
    "body",
    ["", "Internal Server Error", "{", "null", "3", "[]", '"text"', '{"error": "x"}', '{"choices": 1}', "[" * 9999],
)
def test_what_is_no_completion_is_none(body: str) -> None:
    assert openai.answer_of(ASKED, body) is None


@pytest.mark.parametrize(
    "choice", [None, 1, "x", [], {"message": 1}, {"message": None, "logprobs": 3, "token_ids": "x"}]
)
def test_a_misshapen_choice_is_an_answer_without_text(choice: object) -> None:
    assert read({"choices": [choice], "usage": 5}) == Answer(None, asked_tokens=32)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "logprobs", "logprob", "usage", "text", "token_ids"]),
            inner,
        )
    ),
)


@given(JSON)
def test_no_body_can_break_the_reading(document: object) -> None:
    openai.answer_of(ASKED, json.dumps(document))
    openai.answer_of(ASKED, json.dumps({"choices": [document]}))


def test_each_repetition_is_a_step_of_its_own() -> None:
    requests = openai.requests_of([Probe(repeat=2), Probe("http", path="/metrics")], "tiny")
    assert [(request.step, request.name) for request in requests] == [
        (1, "completion 1 of 2"),
        (2, "completion 2 of 2"),
        (3, "http"),
    ]


def test_a_completion_asks_greedily_for_the_model() -> None:
    (request,) = openai.requests_of([Probe(prompt="Hi", max_tokens=4, timeout=7)], "tiny")
    assert (request.method, request.path, request.timeout) == ("POST", "/v1/chat/completions", 7)
    assert json.loads(request.body or "") == {
        "model": "tiny",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 4,
        "temperature": 0,
    }


def test_a_load_is_one_step_of_many_requests() -> None:
    (request,) = openai.requests_of([Probe("load", concurrency=64, requests=128)], "tiny")
    assert (request.requests, request.concurrency) == (128, 64)


def test_more_requests_at_once_than_altogether_are_all_sent() -> None:
    (request,) = openai.requests_of([Probe("load", concurrency=8)], "tiny")
    assert (request.requests, request.concurrency) == (8, 8)


def test_a_raw_request_is_sent_as_written() -> None:
    (request,) = openai.requests_of([Probe("http", method="POST", path="/generate", body='{"a": NaN}')], None)
    assert (request.method, request.path, request.body) == ("POST", "/generate", '{"a": NaN}')
    assert request.headers == {"Content-Type": "application/json"}


def test_a_completion_of_a_model_without_a_name_is_refused() -> None:
    with pytest.raises(UsageError, match="does not say which model"):
        openai.requests_of([Probe()], None)


def test_a_kind_of_probe_that_is_not_there_yet_is_refused() -> None:
    with pytest.raises(UsageError, match="probe 'compare' is not supported yet"):
        openai.requests_of([Probe("compare")], "tiny")
