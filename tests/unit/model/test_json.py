"""Every type of the model survives the way to a file and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.support import strategies

from ruleout.model import (
    Configuration,
    Evidence,
    Exposure,
    Failure,
    FailureClass,
    Outcome,
    OutcomeKind,
    Pivot,
    Stage,
    Target,
    Verdict,
    VerdictStatus,
)
from ruleout.model.codec import from_json, to_json

KINDS = {
    "case": strategies.cases,
    "factor": strategies.factors,
    "probe": strategies.probes,
    "reference": strategies.references,
    "configuration": strategies.configurations,
    "failure": strategies.failures,
    "outcome": strategies.outcomes,
    "trial": strategies.trials,
    "verdict": strategies.verdicts,
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_value_comes_back_as_it_went(kind: str, data: st.DataObject) -> None:
    value = data.draw(KINDS[kind])
    document = json.loads(json.dumps(to_json(value)))
    assert from_json(type(value), document) == value


FAILURE = Failure(FailureClass.OOM, Exposure(Stage.DECODE, 2), "out", "abc", evidence=(Evidence("server.log", 3, "x"),))


def test_words_that_python_keeps_for_itself_have_their_names_in_json() -> None:
    assert to_json(FAILURE)["class"] == "oom"
    assert to_json(Target(FailureClass.OOM))["class"] == "oom"
    assert to_json(Pivot(3, "a", "b", ""))["from"] == "a"


def test_json_of_a_failure_is_plain_data() -> None:
    assert to_json(FAILURE)["exposure"] == {"stage": "decode", "step": 2}
    assert to_json(FAILURE)["evidence"] == [{"source": "server.log", "line": 3, "text": "x"}]


def test_a_configuration_is_a_plain_object_in_json() -> None:
    assert to_json(Configuration(a="1", b="off")) == {"a": "1", "b": "off"}


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        (Outcome, {"kind": "passed", "reached": "decode", "reason": ""}),
        (Outcome, {"kind": "clean", "reached": "somewhere", "reason": ""}),
        (Outcome, {"kind": "clean"}),
        (Failure, {"class": "bad luck"}),
        (Configuration, {"a": 1}),
        (Verdict, []),
    ],
)
def test_what_does_not_fit_is_refused(kind: type[Any], document: object) -> None:
    with pytest.raises(ValidationError):
        from_json(kind, document)


def test_an_outcome_that_says_nothing_about_the_target_is_not_informative() -> None:
    said = {kind: Outcome(kind, Stage.DECODE, "").informative for kind in OutcomeKind}
    assert said == {
        OutcomeKind.REPRODUCED: True,
        OutcomeKind.CLEAN: True,
        OutcomeKind.OTHER: False,
        OutcomeKind.UNRESOLVED: False,
    }


def test_only_another_failure_masks() -> None:
    assert [kind for kind in OutcomeKind if Outcome(kind, Stage.DECODE, "").masked] == [OutcomeKind.OTHER]


def test_a_verdict_without_more_claims_nothing() -> None:
    verdict = Verdict(VerdictStatus.INTERRUPTED, 0.0)
    assert verdict.causes == ()
    assert verdict.confirmed_by.baseline_again is None
    assert verdict.elsewhere.probability == 0.0
