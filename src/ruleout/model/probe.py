"""What a client does once a server is ready. A kind of probe is a name for usual values of what any probe can vary.

So a workload may change one thing about a probe (its length, how many at once) and leave the rest as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ruleout.model.reference import Reference


@dataclass(frozen=True, slots=True)
class Probe:
    """One kind of request, or several alike.

    Attributes:
        kind: one of `KINDS`.
        prompt: the text to complete.
        max_tokens: how many tokens to ask for.
        repeat: how often it is sent, one after the other; each time is a step of its own.
        prompt_length: words; the prompt is repeated or cut until it has so many. 0: it is sent as it is.
        requests: how many requests a step sends altogether; concurrency: how many are under way at once.
        streaming: the answer is asked for as a stream of events.
        shared_prefix: true: prompts differ at their ends only; false: from their first word on, so that no cached
            prefix serves two of them; None: they are all the same.
        logprobs: the log-probability of each token is asked for.
        method, path, body: the raw request (`http`).
        reference: what a deployment known to be right answered (`compare`).
        tolerance: by how much a logprob may depart from the reference, in nats.
        optional: the server need not offer it, so a refusal (HTTP 4xx) is no failure.
        timeout: seconds until a request without an answer counts as a hang.
    """

    kind: str = "completion"
    prompt: str = "The capital of France is"
    max_tokens: int = 32
    repeat: int = 1
    prompt_length: int = 0
    requests: int = 1
    concurrency: int = 1
    streaming: bool = False
    shared_prefix: bool | None = None
    logprobs: bool = False
    method: str = "GET"
    path: str = "/"
    body: str | None = None
    reference: Reference | None = None
    tolerance: float = 0.2
    optional: bool = False
    timeout: float = 120.0


KINDS: Mapping[str, Mapping[str, Any]] = {
    "completion": {},
    "streaming": {"streaming": True},
    "logprobs": {"logprobs": True},
    "long": {"prompt_length": 1000},
    "shared_prefix": {"shared_prefix": True, "prompt_length": 500, "requests": 4},
    "load": {"concurrency": 8, "requests": 16},
    "compare": {},
    "http": {},
}
"""The kinds of probes, each with what it sets unless it is given otherwise."""


def probe_of(kind: str = "completion", **given: Any) -> Probe:
    """A probe of a kind, with what is given instead of what its kind sets."""
    return Probe(kind, **{**KINDS[kind], **given})
