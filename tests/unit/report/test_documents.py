"""`ruleout.verdict/1` to the letter: what scripts rely on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from tests.support.strategies import verdicts
from tests.unit.report.samples import ISOLATED, NOT_REPRODUCED

from ruleout.model import Verdict, VerdictStatus
from ruleout.report.documents import verdict_document

TYPES: dict[str, Any] = {
    "schema": str,
    "status": str,
    "elsewhere": {"probability": float, "component": str, "claim": str, "evidence": list},
    "cause": [{"factor": str, "levels": [str]}],
    "causes": [[{"factor": str, "levels": [str]}]],
    "probability": float,
    "confirmed_by": {"sufficient": [int], "necessary": [int], "complete": [int], "baseline_again": (int, type(None))},
    "workarounds": [{"set": dict, "trial": int}],
    "failure": {"class": str, "stage": str, "signature": str},
    "manifest_rate": float,
    "trials": [
        {
            "id": int,
            "configuration": dict,
            "outcome": (str, type(None)),
            "stage": (str, type(None)),
            "minutes": float,
            "log": str,
        }
    ],
    "hypotheses": [{"claim": str, "probability": float, "status": str, "because": [int]}],
    "ruled_out": [{"factor": str, "because": [int]}],
    "not_ruled_out": [{"factor": str, "tried": [str], "untried": [str]}],
    "never_varied": [str],
    "masked": [{"configuration": dict, "failure": str, "trial": int}],
    "assumptions": [{"text": str, "source": str, "test": str, "status": str}],
    "pivots": [{"after_trial": int, "from": str, "to": str, "why": str}],
}
"""The keys of the contract and the type of each. There may be more keys, never fewer."""


def fits(value: Any, kind: Any, path: str = "") -> None:
    if isinstance(kind, dict):
        assert isinstance(value, dict), path
        assert kind.keys() <= value.keys(), f"{path}: {kind.keys() - value.keys()}"
        for key, inner in kind.items():
            fits(value[key], inner, f"{path}.{key}")
    elif isinstance(kind, list):
        assert isinstance(value, list), path
        for number, item in enumerate(value):
            fits(item, kind[0], f"{path}[{number}]")
    else:
        assert isinstance(value, kind), f"{path}: {value!r} is no {kind}"


def document(verdict: Verdict) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps(verdict_document(verdict, "n", "/somewhere"), allow_nan=False))
    return read


def test_an_isolated_verdict_has_every_key_of_the_contract() -> None:
    fits(document(ISOLATED), TYPES)


@settings(max_examples=60, deadline=None)
@given(verdicts)
def test_any_verdict_has_every_key_of_the_contract(verdict: Verdict) -> None:
    found = document(verdict)
    kinds = TYPES if found["failure"] is not None else {**TYPES, "failure": type(None)}
    fits(found, kinds)


def test_a_document_begins_with_its_schema() -> None:
    assert next(iter(document(ISOLATED).items())) == ("schema", "ruleout.verdict/1")


def test_the_cause_is_the_first_of_the_causes() -> None:
    found = document(ISOLATED)
    assert found["cause"] == [
        {"factor": "kv_cache_dtype", "levels": ["auto", "fp8_e4m3"]},
        {"factor": "cuda_graph", "levels": ["absent"]},
    ]
    assert found["causes"] == [found["cause"]]


def test_without_causes_there_is_no_cause() -> None:
    found = document(NOT_REPRODUCED)
    assert (found["cause"], found["causes"], found["failure"]) == ([], [], None)


def test_a_trial_names_the_stage_at_which_it_failed_or_else_the_furthest() -> None:
    first, second, third, *_ = document(ISOLATED)["trials"]
    assert (first["outcome"], first["stage"]) == ("reproduced", "decode")
    assert (second["outcome"], second["stage"]) == ("other", "model_config")
    assert (third["outcome"], third["stage"]) == ("clean", "ready")


def test_a_trial_has_its_whole_configuration_its_minutes_and_its_log() -> None:
    first = document(ISOLATED)["trials"][0]
    assert first["configuration"] == {"kv_cache_dtype": "auto", "cuda_graph": "absent", "deep_gemm": "unset"}
    assert first["minutes"] == 12.1
    assert first["log"] == "trials/0001/server.log"


def test_the_failure_has_its_class_its_stage_and_its_signature() -> None:
    failure = document(ISOLATED)["failure"]
    assert (failure["class"], failure["stage"], failure["signature"]) == ("device_side_assert", "decode", "5f2c")


@pytest.mark.parametrize("status", VerdictStatus)
def test_a_status_is_one_of_the_words_of_the_contract(status: VerdictStatus) -> None:
    assert document(Verdict(status, 0.5))["status"] == status.value
