"""An answer beside that of a deployment known to be right: another text is wrong, other logprobs are a loss.

Arithmetic in another order may turn a choice between two tokens that are as good as equal. So where the reference tells
how close a choice was, a text that turns at such a place is followed up to it, and not called wrong for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ruleout.engines import Answer
from ruleout.investigation.faults import Fault, excerpt
from ruleout.model import FailureClass, Recorded

ANOTHER_TEXT = "another text than the reference"
OTHER_LOGPROBS = "the reference's text with other logprobs"
_QUOTED = 40


def departure(expected: Recorded, answer: Answer, tolerance: float) -> Fault | None:
    """How an answer departs from the reference's: `wrong_output` or `accuracy_loss`; None when it does not.

    Args:
        tolerance: in nats; by how much a logprob may differ, and how close a choice counts as a tie.
    """
    text = answer.text or ""
    same = _common(expected.tokens, answer.tokens)
    if text != expected.text and not _tie(expected, same, tolerance):
        return Fault(FailureClass.WRONG_OUTPUT, ANOTHER_TEXT, _turn(expected.text, text))
    worst, at = 0.0, 0
    for i, (theirs, ours) in enumerate(zip(expected.logprobs[:same], answer.logprobs[:same], strict=False)):
        if abs(theirs - ours) > worst:
            worst, at = abs(theirs - ours), i
    if worst > tolerance:
        told = f"by {worst:.2g} nats at token {at + 1} of {len(expected.tokens)}, {tolerance:g} are allowed"
        return Fault(FailureClass.ACCURACY_LOSS, OTHER_LOGPROBS, told)
    return None


def _common(expected: Sequence[str], got: Sequence[str]) -> int:
    """How many tokens, or characters, agree from the first one on."""
    pairs = zip(expected, got, strict=False)
    return next((i for i, (one, other) in enumerate(pairs) if one != other), min(len(expected), len(got)))


def _tie(expected: Recorded, at: int, tolerance: float) -> bool:
    """Whether the reference's choice of that token was as good as even. Without logprobs, nothing is known to be."""
    if at >= min(len(expected.logprobs), len(expected.runners_up)):
        return False
    other = expected.runners_up[at]
    return other is not None and expected.logprobs[at] - other <= tolerance


def _turn(expected: str, got: str) -> str:
    """Where two texts part, and how they go on."""
    at = _common(expected, got)
    ours, theirs = excerpt(got[at:], _QUOTED), excerpt(expected[at:], _QUOTED)
    return f"after {at} characters “{ours}” instead of “{theirs}”"
