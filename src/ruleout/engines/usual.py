"""What a server is asked where the case does not say: each step adds one thing to those before it.

So which step is the first to fail tells when the failure shows: with every request, only streamed, only with a long
prompt, only with a cached prefix, only under load. What only some servers offer may be refused (`optional`).
"""

from __future__ import annotations

from ruleout.model import Probe, probe_of

CONTEXT = 4096
"""Tokens; what a context is taken to hold where nothing says it."""
LONGEST, PER_WORD = 3000, 4
"""Words of the long prompt: beyond the pages, windows and chunks that kernels work in; tokens that a word may take."""


def usual_probes(context: int | None, logprobs: bool) -> tuple[Probe, ...]:
    """Twice the same, streamed, with logprobs, long, with a shared prefix, several at once.

    Twice, because a server whose generation thread has died may still answer the first request with 200.

    Args:
        context: tokens that a prompt and its answer may have; None when it is not known.
    """
    long = max(8, min(LONGEST, ((context or CONTEXT) - 64) // PER_WORD))
    return (
        Probe(repeat=2),
        probe_of("streaming", optional=True),
        *([probe_of("logprobs", optional=True)] if logprobs else []),
        probe_of("long", prompt_length=long, max_tokens=8, optional=True),
        probe_of("shared_prefix", prompt_length=long, requests=2, max_tokens=8, optional=True),
        probe_of("load", requests=8, max_tokens=16, optional=True),
    )
