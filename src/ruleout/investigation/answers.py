"""What a client got, judged. HTTP 200 is a transport's success: an empty answer with it is a failure all the same.

Engines whose generation thread has died, or whose numbers have become NaN, go on answering 200 with nothing in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ruleout.engines import Answer, Engine, Request
from ruleout.model import FailureClass

REPEATED = 4
"""So many tokens, all of them number 0, are no answer: it is what an argmax over NaN gives."""
BAD_ENDINGS = ("abort", "aborted", "error")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with an answer, as a client sees it; `detail` quotes it, and may differ from run to run."""

    class_: FailureClass
    text: str
    detail: str = ""

    @property
    def whole(self) -> str:
        """With the quotation."""
        return f"{self.text}: {self.detail}" if self.detail else self.text


def judge_answer(event: Mapping[str, Any], request: Request, engine: Engine, completion: bool) -> Fault | None:
    """What is wrong with the answer in a `probe` event; None when nothing is.

    Args:
        completion: the answer has to be a completion; otherwise any 2xx will do.
    """
    error = event.get("error")
    if error == "timeout":
        return Fault(FailureClass.HANG, f"no answer in {request.timeout:g} s")
    if error:
        return Fault(FailureClass.OTHER, f"connection {error}", _excerpt(str(event.get("detail") or "")))
    status, body = int(event.get("status") or 0), str(event.get("body") or "")
    if not 200 <= status < 300:
        return Fault(FailureClass.OTHER, f"HTTP {status}", _excerpt(body))
    if not completion:
        return None
    answer = engine.answer(request, body)
    if answer is None:
        return Fault(FailureClass.WRONG_OUTPUT, f"HTTP {status} with a body that is no completion", _excerpt(body))
    return _judge_completion(status, answer)


def _judge_completion(status: int, answer: Answer) -> Fault | None:
    bad = [p for p in answer.logprobs if not isfinite(p)]
    if bad:
        return Fault(
            FailureClass.NAN_INF, f"HTTP {status} with logprob {bad[0]} ({len(bad)} of {len(answer.logprobs)})"
        )
    ending = f", finish_reason {answer.finish_reason}" if answer.finish_reason else ""
    if answer.finish_reason in BAD_ENDINGS:
        return Fault(FailureClass.OTHER, f"HTTP {status}{ending}")
    if not (answer.text or "").strip("\0"):
        if answer.completion_tokens:
            text = f"HTTP {status}, {answer.completion_tokens} completion tokens without text{ending}"
        else:
            text = f"HTTP {status}, empty content{ending}"
        return Fault(FailureClass.WRONG_OUTPUT, text)
    zeros = len(answer.token_ids) >= REPEATED and not any(answer.token_ids)
    # Token 0 of byte-level vocabularies is "!".
    marks = (answer.text or "").strip()
    if zeros or (len(marks) >= REPEATED and set(marks) == {"!"}):
        return Fault(FailureClass.WRONG_OUTPUT, f"HTTP {status}, token 0 repeated", _excerpt(marks))
    return None


def _excerpt(text: str) -> str:
    return "".join(c if c.isprintable() else "·" for c in " ".join(text.split())[:120])
