"""What a client finds in the answer to a completion of OpenAI's style, in one piece or as a stream of events.

Answers are read leniently, because an engine that is failing answers oddly: a NaN that is not JSON, null for it, a JSON
text that was encoded twice. Judging that is not done here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ruleout.engines.base import Answer, Request


def answer_of(request: Request, body: str) -> Answer | None:
    """The completion in the body of a 2xx answer; None when the body is not a completion."""
    return _streamed(request, body) if request.probe.streaming else _whole(request, body)


def _whole(request: Request, body: str) -> Answer | None:
    document = _parsed(body)
    if isinstance(document, str):
        document = _parsed(document)
    choices = _get(document, "choices")
    if not isinstance(choices, list):
        return None
    choice = choices[0] if choices else {}
    message = _get(choice, "message")
    text = _get(message, "content") if isinstance(message, dict) else _get(choice, "text")
    told = _tokens(_get(choice, "logprobs"))
    return Answer(
        text=_text(text),
        finish_reason=_text(_get(choice, "finish_reason")),
        completion_tokens=_count(_get(_get(document, "usage"), "completion_tokens")),
        asked_tokens=_asked(request),
        logprobs=tuple(token.logprob for token in told),
        token_ids=_token_ids(choice),
        tokens=tuple(token.text for token in told),
        runners_up=tuple(token.runner_up for token in told),
    )


def _streamed(request: Request, body: str) -> Answer | None:
    """The pieces of a stream put together: text and logprobs add up, the last word on everything else counts."""
    pieces: list[str] = []
    told: list[_Token] = []
    reason, count, error = None, None, ""
    chunks = list(_events(body))
    for chunk in chunks:
        if (problem := _get(chunk, "error")) is not None:
            error = _text(_get(problem, "message")) or json.dumps(problem)
        count = _count(_get(_get(chunk, "usage"), "completion_tokens")) or count
        choices = _get(chunk, "choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        delta = _get(choice, "delta")
        piece = _text(_get(delta, "content") if isinstance(delta, dict) else _get(choice, "text"))
        pieces += [piece] if piece else []
        told += _tokens(_get(choice, "logprobs"))
        reason = _text(_get(choice, "finish_reason")) or reason
    if not chunks:
        return None
    return Answer(
        text="".join(pieces),
        finish_reason=reason,
        completion_tokens=count,
        asked_tokens=_asked(request),
        logprobs=tuple(token.logprob for token in told),
        tokens=tuple(token.text for token in told),
        runners_up=tuple(token.runner_up for token in told),
        error=error,
    )


def _events(body: str) -> Iterator[Any]:
    """The documents of a stream of server-sent events; `[DONE]`, comments and what is no JSON are passed over."""
    for line in re.split(r"\r\n?|\n", body):  # not where Python splits lines: JSON may hold U+2028
        field, _, value = line.partition(":")
        if field.strip() == "data" and isinstance(document := _parsed(value.strip()), dict):
            yield document


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    logprob: float
    runner_up: float | None


def _tokens(logprobs: Any) -> list[_Token]:
    """The tokens of an answer with their logprobs, as chat tells them, or as text completions do."""
    content, legacy = _get(logprobs, "content"), _get(logprobs, "token_logprobs")
    if isinstance(content, list):
        return [_chat_token(token) for token in content]
    if not isinstance(legacy, list):
        return []
    texts, tops = _list(_get(logprobs, "tokens")), _list(_get(logprobs, "top_logprobs"))
    found = []
    for i, value in enumerate(legacy):
        text = _text(texts[i]) if i < len(texts) else None
        top = tops[i] if i < len(tops) and isinstance(tops[i], dict) else {}
        found.append(_Token(text or "", _number(value), _likeliest(top.items(), text)))
    return found


def _chat_token(token: Any) -> _Token:
    text = _text(_get(token, "token"))
    others = [(_get(other, "token"), _get(other, "logprob")) for other in _list(_get(token, "top_logprobs"))]
    return _Token(text or "", _number(_get(token, "logprob")), _likeliest(others, text))


def _likeliest(others: Any, chosen: str | None) -> float | None:
    """The greatest logprob of another token than the chosen one; None where there is none."""
    values = [_number(value) for text, value in others if text != chosen]
    return max((value for value in values if math.isfinite(value)), default=None)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _asked(request: Request) -> int | None:
    asked = _parsed(request.body or next(iter(request.bodies), ""))
    limit = _count(_get(asked, "max_tokens"))
    return limit if limit is not None else _count(_get(asked, "max_completion_tokens"))


def _number(value: Any) -> float:
    """A logprob; what is no number (null, as pydantic writes a NaN) counts as NaN."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _token_ids(choice: Any) -> tuple[int, ...]:
    whole = [_count(value) for value in _list(_get(choice, "token_ids"))]
    return tuple(value for value in whole if value is not None)
