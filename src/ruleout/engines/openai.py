"""The OpenAI-style HTTP interface that most engines speak: what a client sends, and what it finds in the answer.

Answers are read leniently, because an engine that is failing answers oddly: a NaN that is not JSON, null for it, a JSON
text that was encoded twice. Judging that is not done here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from ruleout.engines.base import Answer, Request
from ruleout.model import Probe, UsageError

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
_JSON = {"Content-Type": "application/json"}


def requests_of(probes: Sequence[Probe], model: str | None, path: str = CHAT) -> tuple[Request, ...]:
    """The requests of some probes, each repetition a step of its own, numbered from 1.

    Args:
        model: the name that the server knows the model by. Raises UsageError when it is needed and not known.
        path: where completions are asked for: as a chat, or of the bare text.
    """
    found: list[Request] = []
    for probe in probes:
        for turn in range(1, probe.repeat + 1):
            step = len(found) + 1
            name = probe.kind if probe.repeat == 1 else f"{probe.kind} {turn} of {probe.repeat}"
            raw = probe.kind == "http"
            found.append(_raw(step, name, probe) if raw else _completion(step, name, probe, model, path))
    return tuple(found)


def _raw(step: int, name: str, probe: Probe) -> Request:
    return Request(
        step=step,
        name=name,
        method=probe.method,
        path=probe.path,
        body=probe.body,
        headers=_JSON if probe.body is not None else {},
        timeout=probe.timeout,
        requests=max(probe.requests, probe.concurrency),
        concurrency=probe.concurrency,
    )


def _completion(step: int, name: str, probe: Probe, model: str | None, path: str) -> Request:
    if probe.kind not in ("completion", "load"):
        raise UsageError(f"probe {probe.kind!r} is not supported yet", "Use completion, load or http.")
    if model is None:
        raise UsageError(
            f"probe {probe.kind}: the command does not say which model to ask for",
            "Name the model in the command, or give the request itself: {kind: http, method: POST, path: …, body: …}.",
        )
    chat = {"messages": [{"role": "user", "content": probe.prompt}]}
    text = chat if path == CHAT else {"prompt": probe.prompt}
    body = {"model": model, **text, "max_tokens": probe.max_tokens, "temperature": 0}
    return Request(
        step=step,
        name=name,
        method="POST",
        path=path,
        body=json.dumps(body),
        headers=_JSON,
        timeout=probe.timeout,
        requests=max(probe.requests, probe.concurrency),
        concurrency=probe.concurrency,
    )


def answer_of(request: Request, body: str) -> Answer | None:
    """The completion in the body of a 2xx answer; None when the body is not a completion."""
    document = _parsed(body)
    if isinstance(document, str):
        document = _parsed(document)
    choices = _get(document, "choices")
    if not isinstance(choices, list):
        return None
    choice = choices[0] if choices else {}
    message = _get(choice, "message")
    text = _get(message, "content") if isinstance(message, dict) else _get(choice, "text")
    reason = _get(choice, "finish_reason")
    return Answer(
        text=text if isinstance(text, str) else None,
        finish_reason=reason if isinstance(reason, str) else None,
        completion_tokens=_whole(_get(_get(document, "usage"), "completion_tokens")),
        asked_tokens=_asked(request),
        logprobs=_logprobs(_get(choice, "logprobs")),
        token_ids=_token_ids(choice),
    )


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _asked(request: Request) -> int | None:
    asked = _parsed(request.body) if request.body else None
    limit = _whole(_get(asked, "max_tokens"))
    return limit if limit is not None else _whole(_get(asked, "max_completion_tokens"))


def _logprobs(logprobs: Any) -> tuple[float, ...]:
    content, legacy = _get(logprobs, "content"), _get(logprobs, "token_logprobs")
    if isinstance(content, list):
        return tuple(_number(_get(token, "logprob")) for token in content)
    return tuple(_number(value) for value in legacy) if isinstance(legacy, list) else ()


def _number(value: Any) -> float:
    """A logprob; what is no number (null, as pydantic writes a NaN) counts as NaN."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _token_ids(choice: Any) -> tuple[int, ...]:
    ids = _get(choice, "token_ids")
    if not isinstance(ids, list):
        return ()
    whole = [_whole(value) for value in ids]
    return tuple(value for value in whole if value is not None)
