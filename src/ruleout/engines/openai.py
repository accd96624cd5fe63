"""The requests of OpenAI's HTTP interface, which most engines speak: a probe, written out as a client would send it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ruleout.engines.base import Request
from ruleout.model import KINDS, Probe, Recorded, UsageError

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
MOST_PROMPTS = 128
"""So many different prompts a step has at the most; the requests take them in turn."""
_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Interface:
    """How a server is asked.

    Attributes:
        model: the name that it knows the model by; None when the command does not say.
        path: where completions are asked for: as a chat, or of the bare text.
        logprobs: it tells them.
    """

    model: str | None
    path: str = CHAT
    logprobs: bool = False


def requests_of(probes: Sequence[Probe], asked: Interface) -> tuple[Request, ...]:
    """The requests of some probes, each repetition and each prompt of a reference a step of its own, from 1.

    Raises UsageError for a kind that is not known, and when the name of the model is needed and not known.
    """
    found: list[Request] = []
    for probe in probes:
        if probe.kind not in KINDS:
            raise UsageError(f"probe {probe.kind!r} is not known", f"Use one of {', '.join(KINDS)}.")
        turns = [recorded for _ in range(probe.repeat) for recorded in _prompts(probe)]
        for turn, recorded in enumerate(turns, 1):
            name = probe.kind if len(turns) == 1 else f"{probe.kind} {turn} of {len(turns)}"
            if probe.kind == "http":
                found.append(_raw(len(found) + 1, name, probe))
            else:
                found.append(_completion(found, name, probe, recorded, asked))
    return tuple(found)


def _prompts(probe: Probe) -> Sequence[Recorded | None]:
    if probe.kind != "compare":
        return [None]
    if probe.reference is None:
        raise UsageError("a probe of kind compare has no reference", "Write `reference: reference.json` in it.")
    return probe.reference.answers


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
        probe=probe,
    )


def _completion(
    before: Sequence[Request], name: str, probe: Probe, recorded: Recorded | None, asked: Interface
) -> Request:
    """The request after those. Where prompts differ, they differ from all that were sent before, too."""
    if asked.model is None:
        raise UsageError(
            f"probe {probe.kind}: the command does not say which model to ask for",
            "Name the model in the command, or give the request itself: {kind: http, method: POST, path: …, body: …}.",
        )
    requests = max(probe.requests, probe.concurrency)
    path = probe.reference.path if probe.reference is not None else asked.path
    wanted = probe.logprobs or (asked.logprobs and recorded is not None and bool(recorded.logprobs))
    max_tokens = recorded.max_tokens if recorded is not None else probe.max_tokens
    more = _more(path, logprobs=wanted, streaming=probe.streaming)

    def body(prompt: str) -> str:
        text = {"messages": [{"role": "user", "content": prompt}]} if path == CHAT else {"prompt": prompt}
        return json.dumps({"model": asked.model, **text, "max_tokens": max_tokens, "temperature": 0, **more})

    sent = sum(request.requests for request in before)
    different = list(islice(_different(probe, sent), min(requests, MOST_PROMPTS)))
    same = recorded.prompt if recorded is not None else stretched(probe.prompt, probe.prompt_length)
    return Request(
        step=len(before) + 1,
        name=name,
        method="POST",
        path=path,
        body=None if different else body(same),
        headers=_JSON,
        timeout=probe.timeout,
        requests=requests,
        concurrency=probe.concurrency,
        bodies=tuple(body(prompt) for prompt in different),
        probe=probe,
        expected=recorded,
    )


def _more(path: str, *, logprobs: bool, streaming: bool) -> Mapping[str, Any]:
    """What a request has besides. The likeliest two tokens of each place show how close the choice was."""
    more: dict[str, Any] = {"stream": True} if streaming else {}
    if logprobs:
        more |= {"logprobs": True, "top_logprobs": 2} if path == CHAT else {"logprobs": 2}
    return more


def stretched(prompt: str, words: int) -> str:
    """A prompt of so many words: its own, over and over. As it is where that is 0."""
    own = prompt.split() or ["the"]
    return " ".join(own[i % len(own)] for i in range(words)) if words else prompt


def _different(probe: Probe, begin: int) -> Iterator[str]:
    """Prompts that differ from each other, at their ends or from the first word on; none where they are the same."""
    prompt, number = stretched(probe.prompt, probe.prompt_length), begin
    while probe.shared_prefix is not None:
        number += 1
        yield f"{prompt} {number}" if probe.shared_prefix else f"{number} {prompt}"
