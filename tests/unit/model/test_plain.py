"""Read in passing or with every check, a document is the same value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from tests.support import strategies

from ruleout.model import Configuration, Factor, Outcome, Verdict
from ruleout.model.codec import from_json, to_json
from ruleout.model.plain import plain


@settings(max_examples=60, deadline=None)
@given(strategies.verdicts | strategies.outcomes | strategies.factors)
def test_a_document_is_the_same_value_as_with_pydantic(value: Verdict | Outcome | Factor) -> None:
    document = to_json(value)
    assert plain(type(value), document) == from_json(type(value), document) == value


@pytest.mark.parametrize(
    "document",
    [None, [], {"kind": "no such", "reached": "decode", "reason": ""}, {"kind": "clean", "reached": "decode"}],
)
def test_what_does_not_fit_raises(document: Any) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        plain(Outcome, document)


def test_numbers_are_no_texts_and_truth_is_no_number() -> None:
    whole = {"kind": "clean", "reached": "decode", "reason": "r"}
    assert plain(Outcome, whole).effective == {}
    for wrong in ({"reason": 1}, {"by_person": 1}, {"effective": {"a": 2}}):
        with pytest.raises(TypeError):
            plain(Outcome, {**whole, **wrong})
    assert plain(Configuration, {"a": "b"}) == Configuration(a="b")
