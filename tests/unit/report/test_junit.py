"""JUnit XML: what the common schema allows and nothing else, whatever stands in a log."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.support.strategies import verdicts
from tests.unit.model.test_redaction import PLANTED
from tests.unit.report.samples import CASE, FAILURE, ISOLATED, REPRODUCED, trial

from ruleout.model import Outcome, OutcomeKind, Stage, Verdict
from ruleout.model.redaction import Redactor
from ruleout.report.junit import Test, junit, suite

# By element: its required and its other attributes, and what may stand in it: junit-10.xsd, see junit.py.
ALLOWED: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": (
        {"name"},
        {"time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}


def checked(text: str) -> ElementTree.Element:
    """The document, held against the schema."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        needed, other, inside = ALLOWED[element.tag]
        assert needed <= set(element.attrib) <= needed | other, element.tag
        assert {child.tag for child in element} <= inside, element.tag
        if "time" in element.attrib:
            assert float(element.attrib["time"]) >= 0
    return root


def test_a_trial_is_a_test_that_fails_when_the_failure_shows() -> None:
    unresolved = trial(7, Outcome(OutcomeKind.UNRESOLVED, Stage.UNKNOWN, "the port was taken"))
    root = checked(junit(CASE, replace(ISOLATED, trials=(*ISOLATED.trials, unresolved)), str))
    tests = {test.attrib["name"]: [child.tag for child in test] for test in root.iter("testcase")}
    assert tests == {
        "0001 baseline": ["failure"],
        "0002 kv_cache_dtype=fp8_e4m3 deep_gemm=0": ["error"],
        "0003 kv_cache_dtype=bf16": [],
        "0004 deep_gemm=0": ["failure"],
        "0005 cuda_graph=present": [],
        "0006 baseline": ["failure"],
        "0007 baseline": ["skipped"],
    }
    suites = root.find("testsuite")
    assert suites is not None
    counts = {name: suites.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "7", "failures": "3", "errors": "1", "skipped": "1"}
    failure = next(root.iter("failure"))
    assert failure.attrib["type"] == "device_side_assert in decode"
    assert "server.log:812" in (failure.text or "")
    properties = {one.attrib["name"]: one.attrib["value"] for one in root.iter("property")}
    assert properties["ruleout.status"] == "isolated"
    assert properties["ruleout.cause.1"] == "kv_cache_dtype=auto|fp8_e4m3 together with cuda_graph=absent"


@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(verdicts)
def test_any_verdict_is_a_document_of_the_schema(verdict: Verdict) -> None:
    root = checked(junit(CASE, verdict, str))
    assert len(list(root.iter("testcase"))) == len(verdict.trials)


@given(st.text(st.characters(), max_size=80))
def test_any_text_makes_a_document(text: str) -> None:
    checked(suite(text, [Test(text, 1.0, "failure", text, text, text)], str, {"a": text}, text))


@pytest.mark.parametrize("text", ["]]>", "<!ENTITY x SYSTEM 'file:///etc/passwd'>", "\x1b[31m\x00\ufffe", "</failure>"])
def test_hostile_text_is_text(text: str) -> None:
    written = junit(CASE, replace(ISOLATED, trials=(trial(1, replace(REPRODUCED, reason=text)),)), str)
    assert "\x1b" not in written
    assert len(list(checked(written).iter("testcase"))) == 1


def test_a_line_of_a_megabyte_is_cut() -> None:
    assert len(suite("a", [Test("b", 1.0, "error", "c", "d", "x" * (1 << 20))], str)) < 30_000


def test_none_of_the_planted_secrets_is_in_it() -> None:
    secrets = [case for cases in PLANTED.values() for case in cases]
    shown = replace(REPRODUCED, failure=replace(FAILURE, client="\n".join(line for line, _ in secrets)))
    text = junit(CASE, replace(ISOLATED, trials=(trial(1, shown),)), Redactor())
    checked(text)
    assert [secret for _, secret in secrets if secret in text] == []
