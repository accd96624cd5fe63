"""What a client finds in an answer, however oddly a failing engine writes it."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleout.engines.base import Answer, Request
from ruleout.engines.completions import answer_of
from ruleout.engines.openai import CHAT
from ruleout.model import Probe

ASKED = Request(1, "completion", "POST", CHAT, body='{"max_tokens": 32}')


def read(document: object, request: Request = ASKED) -> Answer:
    answer = answer_of(request, document if isinstance(document, str) else json.dumps(document))
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
    assert answer_of(ASKED, body) is None


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
    answer_of(ASKED, json.dumps(document))
    answer_of(ASKED, json.dumps({"choices": [document]}))


STREAMED = Request(1, "streaming", "POST", CHAT, body='{"max_tokens": 32}', probe=Probe("streaming", streaming=True))


def stream(*documents: object, end: str = "data: [DONE]\n\n") -> str:
    """The body of a stream of events."""
    return "".join(f"data: {json.dumps(d, ensure_ascii=False)}\n\n" for d in documents) + end


def delta(content: str | None, reason: str | None = None, **more: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": reason, **more}]}


def test_the_pieces_of_a_stream_are_put_together() -> None:
    usage = {"choices": [], "usage": {"completion_tokens": 2}}
    answer = answer_of(STREAMED, stream(delta(None), delta("Pa"), delta("ris"), delta(None, "length"), usage))
    assert answer == Answer("Paris", "length", completion_tokens=2, asked_tokens=32)


def test_a_stream_of_a_text_completion_is_read() -> None:
    pieces = [{"choices": [{"index": 0, "text": text}]} for text in ("Pa", "ris")]
    answer = answer_of(STREAMED, stream(*pieces, {"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}))
    assert answer is not None
    assert (answer.text, answer.finish_reason) == ("Paris", "stop")


def test_a_stream_that_was_cut_off_has_no_finish_reason() -> None:
    answer = answer_of(STREAMED, stream(delta("Pa"), end='data: {"choices": [{"del'))
    assert answer is not None
    assert (answer.text, answer.finish_reason) == ("Pa", None)


@pytest.mark.parametrize("separator", ["\u2028", "\u0085"])
def test_what_is_no_end_of_a_line_in_json_is_none_in_a_stream(separator: str) -> None:
    answer = answer_of(STREAMED, stream(delta(f"a{separator}b")))
    assert answer is not None
    assert answer.text == f"a{separator}b"


def test_an_error_in_a_stream_is_kept() -> None:
    answer = answer_of(STREAMED, stream(delta("Pa"), {"error": {"message": "EngineCore died", "code": 500}}))
    assert answer is not None
    assert answer.error == "EngineCore died"


def test_logprobs_of_a_stream_add_up() -> None:
    pieces = [delta(t, logprobs={"content": [{"token": t, "logprob": -1.5}]}) for t in ("a", "b")]
    answer = answer_of(STREAMED, stream(*pieces))
    assert answer is not None
    assert (answer.tokens, answer.logprobs) == (("a", "b"), (-1.5, -1.5))


@pytest.mark.parametrize("body", ["", "Internal Server Error", "data: [DONE]\n\n", '{"choices": []}', ": ping\n\n"])
def test_what_is_no_stream_is_none(body: str) -> None:
    assert answer_of(STREAMED, body) is None


def test_the_likeliest_other_token_tells_how_close_a_choice_was() -> None:
    tops = [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -0.75}, {"token": "c", "logprob": None}]
    told = read(chat("a", logprobs={"content": [{"token": "a", "logprob": -0.5, "top_logprobs": tops}]}))
    assert (told.tokens, told.runners_up) == (("a",), (-0.75,))
    legacy = {"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": [{"a": -0.5, "b": -0.75}]}
    assert read({"choices": [{"text": "a", "logprobs": legacy}]}).runners_up == (-0.75,)
    alone = {"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": [{"a": -0.5}]}
    assert read({"choices": [{"text": "a", "logprobs": alone}]}).runners_up == (None,)


@given(JSON)
def test_no_event_can_break_the_reading_of_a_stream(document: object) -> None:
    answer_of(STREAMED, stream(document, {"choices": [document]}, {"choices": [{"delta": document}]}))
