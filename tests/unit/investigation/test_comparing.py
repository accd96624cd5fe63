"""An answer beside a reference: another text is wrong, other logprobs a loss, and a tie is neither."""

from __future__ import annotations

import pytest

from ruleout.engines import Answer
from ruleout.investigation.comparing import ANOTHER_TEXT, OTHER_LOGPROBS, departure
from ruleout.model import FailureClass, Recorded

TOKENS = ("The", " capital", " is", " Paris")
LOGPROBS = (-0.1, -0.2, -0.9, -0.3)
FAR, CLOSE = (-5.0, -5.0, -5.0, -5.0), (-5.0, -5.0, -1.0, -5.0)
"""The likeliest other token: nowhere near the chosen one, or as good as it at the third place."""


def reference(runners_up: tuple[float | None, ...] = FAR) -> Recorded:
    return Recorded("q", 8, "".join(TOKENS), "length", TOKENS, LOGPROBS, runners_up)


def answer(*tokens: str, logprobs: tuple[float, ...] = LOGPROBS) -> Answer:
    return Answer("".join(tokens), tokens=tokens, logprobs=logprobs[: len(tokens)])


def class_of(expected: Recorded, got: Answer, tolerance: float = 0.2) -> FailureClass | None:
    found = departure(expected, got, tolerance)
    return None if found is None else found.class_


def test_the_same_text_with_the_same_logprobs_is_right() -> None:
    assert departure(reference(), answer(*TOKENS), 0.2) is None


def test_another_text_is_wrong_and_the_place_is_told() -> None:
    found = departure(Recorded("q", 8, "The capital is Paris"), Answer("The capital is Lyon"), 0.2)
    assert found is not None
    assert (found.class_, found.text) == (FailureClass.WRONG_OUTPUT, ANOTHER_TEXT)
    assert found.detail == "after 15 characters “Lyon” instead of “Paris”"


@pytest.mark.parametrize("got", ["", "The capital is", "The capital is Paris!"])
def test_a_shorter_or_a_longer_text_is_another(got: str) -> None:
    assert class_of(Recorded("q", 8, "The capital is Paris"), Answer(got)) is FailureClass.WRONG_OUTPUT


def test_the_same_text_with_other_logprobs_is_a_loss_and_the_worst_place_is_told() -> None:
    found = departure(reference(), answer(*TOKENS, logprobs=(-0.1, -0.5, -2.0, -0.3)), 0.2)
    assert found is not None
    assert (found.class_, found.text) == (FailureClass.ACCURACY_LOSS, OTHER_LOGPROBS)
    assert found.detail == "by 1.1 nats at token 3 of 4, 0.2 are allowed"


def test_logprobs_may_differ_within_the_tolerance() -> None:
    shifted = answer(*TOKENS, logprobs=(-0.1, -0.35, -0.9, -0.3))
    assert class_of(reference(), shifted) is None
    assert class_of(reference(), shifted, 0.1) is FailureClass.ACCURACY_LOSS


def test_a_text_that_turns_where_two_tokens_were_as_good_as_equal_is_not_wrong() -> None:
    turned = answer("The", " capital", " was", " Lyon")
    assert class_of(reference(CLOSE), turned) is None
    assert class_of(reference(FAR), turned) is FailureClass.WRONG_OUTPUT
    assert class_of(reference(CLOSE), turned, 0.05) is FailureClass.WRONG_OUTPUT


def test_what_comes_before_a_tie_still_has_to_agree() -> None:
    turned = answer("The", " capital", " was", logprobs=(-0.1, -1.5, -0.9))
    assert class_of(reference(CLOSE), turned) is FailureClass.ACCURACY_LOSS


def test_what_comes_after_a_tie_is_not_compared() -> None:
    turned = answer("The", " capital", " was", " x", logprobs=(-0.1, -0.2, -9.0, -9.0))
    assert class_of(reference(CLOSE), turned) is None


def test_where_the_other_tokens_are_not_known_there_is_no_tie() -> None:
    turned = answer("The", " capital", " was")
    assert class_of(reference((None, None, None, None)), turned) is FailureClass.WRONG_OUTPUT
    assert class_of(Recorded("q", 8, "The capital is Paris"), turned) is FailureClass.WRONG_OUTPUT


def test_without_logprobs_in_the_answer_the_text_is_compared() -> None:
    assert class_of(reference(), Answer("The capital is Paris")) is None
    assert class_of(reference(CLOSE), Answer("The capital was Lyon")) is FailureClass.WRONG_OUTPUT
