"""The requests that a client of OpenAI's interface sends for each kind of probe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ruleout.engines.base import Request
from ruleout.engines.openai import CHAT, MOST_PROMPTS, TEXT, Interface, requests_of, stretched
from ruleout.model import Probe, Recorded, Reference, ServedModel, UsageError, probe_of

ANSWERS = (
    Recorded("One", 5, "two", tokens=("two",), logprobs=(-0.5,), runners_up=(-2.0,)),
    Recorded("Two", 6, "three"),
)


def asked(probes: Sequence[Probe], model: str | None = "tiny", path: str = CHAT) -> tuple[Request, ...]:
    return requests_of(probes, Interface(model, path, logprobs=True))


def body(request: Request) -> dict[str, Any]:
    document = json.loads(request.body or "")
    assert isinstance(document, dict)
    return document


def prompts(request: Request) -> list[str]:
    return [json.loads(text)["messages"][0]["content"] for text in request.bodies]


def reference(path: str = CHAT) -> Reference:
    return Reference(path, ServedModel("tiny"), ANSWERS)


def test_each_repetition_is_a_step_of_its_own() -> None:
    requests = asked([Probe(repeat=2), Probe("http", path="/metrics")])
    assert [(request.step, request.name) for request in requests] == [
        (1, "completion 1 of 2"),
        (2, "completion 2 of 2"),
        (3, "http"),
    ]


def test_a_completion_asks_greedily_for_the_model() -> None:
    (request,) = asked([Probe(prompt="Hi", max_tokens=4, timeout=7)])
    assert (request.method, request.path, request.timeout) == ("POST", "/v1/chat/completions", 7)
    assert json.loads(request.body or "") == {
        "model": "tiny",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 4,
        "temperature": 0,
    }


def test_a_load_is_one_step_of_many_requests() -> None:
    (request,) = asked([Probe("load", concurrency=64, requests=128)])
    assert (request.requests, request.concurrency) == (128, 64)


def test_more_requests_at_once_than_altogether_are_all_sent() -> None:
    (request,) = asked([Probe("load", concurrency=8)])
    assert (request.requests, request.concurrency) == (8, 8)


def test_a_raw_request_is_sent_as_written() -> None:
    (request,) = asked([Probe("http", method="POST", path="/generate", body='{"a": NaN}')], None)
    assert (request.method, request.path, request.body) == ("POST", "/generate", '{"a": NaN}')
    assert request.headers == {"Content-Type": "application/json"}


def test_a_completion_of_a_model_without_a_name_is_refused() -> None:
    with pytest.raises(UsageError, match="does not say which model"):
        asked([Probe()], None)


def test_a_kind_of_probe_that_is_not_known_is_refused() -> None:
    with pytest.raises(UsageError, match="probe 'dance' is not known"):
        asked([Probe("dance")])


def test_a_stream_is_asked_for() -> None:
    (request,) = asked([probe_of("streaming")])
    assert body(request)["stream"] is True


def test_logprobs_are_asked_for_as_the_interface_has_them() -> None:
    (chat,), (text,) = asked([probe_of("logprobs")]), asked([probe_of("logprobs")], path=TEXT)
    assert (body(chat)["logprobs"], body(chat)["top_logprobs"]) == (True, 2)
    assert body(text)["logprobs"] == 2
    assert "top_logprobs" not in body(text)


def test_a_long_prompt_is_made_of_the_words_of_the_short_one() -> None:
    (request,) = asked([probe_of("long", prompt="a b", prompt_length=5)])
    assert body(request)["messages"][0]["content"] == "a b a b a"
    assert stretched("", 2) == "the the"
    assert stretched("as  it is", 0) == "as  it is"


def test_prompts_that_share_a_prefix_differ_at_their_ends_only() -> None:
    (request,) = asked([probe_of("shared_prefix", prompt="a b", prompt_length=4, requests=3)])
    assert request.body is None
    assert prompts(request) == ["a b a b 1", "a b a b 2", "a b a b 3"]


def test_prompts_that_share_none_differ_from_their_first_word_on_also_in_the_next_turn() -> None:
    turns = asked([Probe(prompt="a b", repeat=2, requests=2, shared_prefix=False)])
    assert [prompts(turn) for turn in turns] == [["1 a b", "2 a b"], ["3 a b", "4 a b"]]


def test_no_more_prompts_are_written_down_than_a_step_takes_in_turn() -> None:
    (request,) = asked([probe_of("shared_prefix", requests=10**6)])
    assert (len(request.bodies), request.requests) == (MOST_PROMPTS, 10**6)


def test_each_prompt_of_a_reference_is_a_step_with_what_is_expected() -> None:
    first, second = asked([Probe("compare", reference=reference())], path=TEXT)
    assert [r.name for r in (first, second)] == ["compare 1 of 2", "compare 2 of 2"]
    assert [r.expected for r in (first, second)] == list(ANSWERS)
    assert (first.path, body(first)["max_tokens"], body(first)["temperature"]) == (CHAT, 5, 0)
    assert body(first)["messages"][0]["content"] == "One"


def test_logprobs_are_compared_where_the_reference_has_them_and_the_server_tells_them() -> None:
    first, second = asked([Probe("compare", reference=reference())])
    assert "logprobs" in body(first)
    assert "logprobs" not in body(second)
    silent = requests_of([Probe("compare", reference=reference())], Interface("tiny"))
    assert "logprobs" not in body(silent[0])


def test_a_reference_of_bare_text_is_asked_for_as_bare_text() -> None:
    request, _ = asked([Probe("compare", reference=reference(TEXT))])
    assert (request.path, body(request)["prompt"]) == (TEXT, "One")


def test_a_comparison_without_a_reference_is_refused() -> None:
    with pytest.raises(UsageError, match="compare has no reference"):
        asked([Probe("compare")])
