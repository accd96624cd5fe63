"""What a client got, judged. HTTP 200 is a transport's success: an empty answer with it is a failure all the same.

Engines whose generation thread has died, or whose numbers have become NaN, go on answering 200 with nothing in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from ruleout.engines import Answer, Engine, Request
from ruleout.investigation.comparing import departure
from ruleout.investigation.faults import Fault, excerpt
from ruleout.model import FailureClass

REPEATED = 4
"""So many tokens, all of them number 0, are no answer: it is what an argmax over NaN gives."""
BAD_ENDINGS = ("abort", "aborted", "error")


NOT_FINITE = re.compile(r"(?i)out of range float|not JSON compliant|\b(?:nan|inf(?:inity)?)\b")
"""How an engine refuses to write down what is no number."""


def judge_answer(event: Mapping[str, Any], request: Request, engine: Engine) -> Fault | None:
    """What is wrong with the answer in a `probe` event; None when nothing is.

    The answer has to be a completion, and that of the reference where there is one. Of a raw request any 2xx will do.
    """
    error = event.get("error")
    if error == "timeout":
        return Fault(FailureClass.HANG, f"no answer in {request.timeout:g} s")
    if error:
        return Fault(FailureClass.OTHER, f"connection {error}", excerpt(str(event.get("detail") or "")))
    status, body = int(event.get("status") or 0), str(event.get("body") or "")
    if not 200 <= status < 300:
        return _refused(status, body, request)
    if request.probe.kind == "http":
        return None
    answer = engine.answer(request, body)
    if answer is None:
        what = "no stream of events" if request.probe.streaming else "no completion"
        return Fault(FailureClass.WRONG_OUTPUT, f"HTTP {status} with a body that is {what}", excerpt(body))
    if request.probe.streaming and (fault := _cut_off(status, answer, bool(event.get("truncated")))):
        return fault
    return _judge_completion(status, answer, request)


def _refused(status: int, body: str, request: Request) -> Fault | None:
    """A status that tells of a failure. What a server need not offer it may refuse, but for want of numbers."""
    if request.probe.logprobs and NOT_FINITE.search(body):
        return Fault(FailureClass.NAN_INF, f"HTTP {status} in place of logprobs", excerpt(body))
    if request.probe.optional and 400 <= status < 500:
        return None
    return Fault(FailureClass.OTHER, f"HTTP {status}", excerpt(body))


def _cut_off(status: int, answer: Answer, truncated: bool) -> Fault | None:
    """A stream that does not come to its end. `truncated`: we stopped listening before."""
    if answer.error:
        class_ = FailureClass.NAN_INF if NOT_FINITE.search(answer.error) else FailureClass.OTHER
        return Fault(class_, f"HTTP {status}, an error in the stream", excerpt(answer.error))
    if answer.finish_reason is None and not truncated:
        return Fault(
            FailureClass.WRONG_OUTPUT,
            f"HTTP {status}, a stream that ends without finish_reason",
            excerpt(answer.text or ""),
        )
    return None


def _judge_completion(status: int, answer: Answer, request: Request) -> Fault | None:
    bad = [p for p in answer.logprobs if not isfinite(p)]
    if bad:
        return Fault(
            FailureClass.NAN_INF, f"HTTP {status} with logprob {bad[0]} ({len(bad)} of {len(answer.logprobs)})"
        )
    ending = f", finish_reason {answer.finish_reason}" if answer.finish_reason else ""
    if answer.finish_reason in BAD_ENDINGS:
        return Fault(FailureClass.OTHER, f"HTTP {status}{ending}")
    expected = request.expected
    if not (answer.text or "").strip("\0") and not (expected is not None and expected.text == answer.text):
        if answer.completion_tokens:
            text = f"HTTP {status}, {answer.completion_tokens} completion tokens without text{ending}"
        else:
            text = f"HTTP {status}, empty content{ending}"
        return Fault(FailureClass.WRONG_OUTPUT, text)
    if request.probe.logprobs and not answer.logprobs and not request.probe.optional:
        return Fault(FailureClass.WRONG_OUTPUT, f"HTTP {status} without the logprobs that were asked for")
    if expected is not None:
        return departure(expected, answer, request.probe.tolerance)
    zeros = len(answer.token_ids) >= REPEATED and not any(answer.token_ids)
    # Token 0 of byte-level vocabularies is "!".
    marks = (answer.text or "").strip()
    if zeros or (len(marks) >= REPEATED and set(marks) == {"!"}):
        return Fault(FailureClass.WRONG_OUTPUT, f"HTTP {status}, token 0 repeated", excerpt(marks))
    return None
