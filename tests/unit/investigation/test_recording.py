"""A reference is only made of a server that answers, and answers alike."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from ruleout.engines.openai import CHAT, TEXT
from ruleout.investigation.recording import NoReference, Wishes, record_running
from ruleout.model import MissingError, Recorded, UsageError

WISHES = Wishes(prompts=("One", "Two"), max_tokens=4)


class Fake:
    """A server that runs already. What it answers can be changed; what it was asked is kept."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []
        self.models: Any = {"data": [{"id": "tiny", "owned_by": "vllm", "root": "/models/llama"}]}
        self.texts: Iterator[str] | None = None
        self.status, self.logprobs = 200, True
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, document: Any, status: int = 200) -> None:
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                known = {"/v1/models": fake.models, "/version": {"version": "0.32.0"}}
                self.answer(known.get(self.path, {}), 200 if self.path in known else 404)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.asked.append((self.path, body, self.headers.get("Authorization")))
                text = next(fake.texts) if fake.texts else f"re {body.get('prompt') or body['messages'][0]['content']}"
                told = {"tokens": [text], "token_logprobs": [-0.5], "top_logprobs": [{text: -0.5, "x": -1.5}]}
                choice = {"text": text, "finish_reason": "length", "logprobs": told if fake.logprobs else None}
                chat = {"message": {"content": text}, "finish_reason": "length"}
                self.answer({"choices": [chat if self.path == CHAT else choice]}, fake.status)

            def log_message(self, *words: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def fake() -> Iterator[Fake]:
    made = Fake()
    yield made
    made.stop()


def test_a_running_server_is_asked_greedily_and_twice(fake: Fake) -> None:
    reference = record_running(fake.url, WISHES, None)
    assert reference.answers == (
        Recorded("One", 4, "re One", "length", ("re One",), (-0.5,), (-1.5,)),
        Recorded("Two", 4, "re Two", "length", ("re Two",), (-0.5,), (-1.5,)),
    )
    assert [body["prompt"] for _, body, _ in fake.asked] == ["One", "One", "Two", "Two"]
    assert all((body["temperature"], body["max_tokens"]) == (0, 4) for _, body, _ in fake.asked)


def test_what_it_says_of_itself_is_kept(fake: Fake) -> None:
    reference = record_running(fake.url, WISHES, None)
    assert (reference.path, reference.engine, dict(reference.versions)) == (TEXT, "vllm", {"vllm": "0.32.0"})
    assert reference.model.name == "llama"
    assert fake.asked[0][1]["model"] == "tiny"


def test_it_can_be_asked_as_a_chat_and_without_logprobs(fake: Fake) -> None:
    reference = record_running(fake.url, Wishes(("One",), path=CHAT, logprobs=False), None)
    assert {path for path, _, _ in fake.asked} == {CHAT}
    assert reference.path == CHAT
    assert reference.answers[0].logprobs == ()


def test_a_key_is_sent_and_not_kept(fake: Fake) -> None:
    reference = record_running(fake.url, WISHES, "secret")
    assert {key for _, _, key in fake.asked} == {"Bearer secret"}
    assert "secret" not in repr(reference)


def test_a_server_that_answers_in_two_ways_is_no_reference(fake: Fake) -> None:
    fake.texts = iter(["a", "b", "a", "a"])
    with pytest.raises(NoReference, match="'One' is answered in two ways"):
        record_running(fake.url, WISHES, None)


def test_a_server_that_fails_is_no_reference(fake: Fake) -> None:
    fake.status = 500
    with pytest.raises(NoReference, match="logprobs 1 of 2: HTTP 500"):
        record_running(fake.url, WISHES, None)
    fake.status, fake.texts = 200, iter([""] * 4)
    with pytest.raises(NoReference, match="empty content"):
        record_running(fake.url, WISHES, None)


def test_a_server_without_the_logprobs_that_were_asked_for_is_no_reference(fake: Fake) -> None:
    fake.logprobs = False
    with pytest.raises(NoReference, match="without the logprobs"):
        record_running(fake.url, WISHES, None)


@pytest.mark.parametrize("models", [{}, {"data": []}, {"data": [{}]}, {"data": ["x"]}, []])
def test_a_server_that_does_not_say_its_model_has_to_be_told(fake: Fake, models: Any) -> None:
    fake.models = models
    with pytest.raises(UsageError, match="does not say which model"):
        record_running(fake.url, WISHES, None)
    told = record_running(fake.url, Wishes(("One",), model="mine", logprobs=False), None)
    assert (told.model.name, told.engine, told.path) == ("mine", "command", CHAT)


@pytest.mark.parametrize("url", ["127.0.0.1:1", "ftp://x", "", "http:///x", "http://x:y", "http://[::1"])
def test_what_is_no_address_is_told_in_two_lines(url: str) -> None:
    with pytest.raises(UsageError) as error:
        record_running(url, WISHES, None)
    assert url in error.value.what
    assert error.value.remedy


def test_a_server_that_is_not_there_is_missing() -> None:
    with pytest.raises(MissingError, match=r"http://127\.0\.0\.1:1"):
        record_running("http://127.0.0.1:1", WISHES, None)


@pytest.mark.parametrize("base", ["/v1", "/v1/", "/"])
def test_the_base_that_clients_are_given_is_an_address_too(fake: Fake, base: str) -> None:
    assert record_running(fake.url + base, WISHES, None) == record_running(fake.url, WISHES, None)
