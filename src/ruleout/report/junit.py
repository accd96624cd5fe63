"""JUnit XML, which every CI reads: a trial is a test, and fails when the failure to explain shows in it.

Elements and attributes are those that Jenkins and GitLab share:
https://github.com/jenkinsci/xunit-plugin/blob/master/src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/junit-10.xsd
https://docs.gitlab.com/ci/testing/unit_test_reports/
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from ruleout.model import Case, Failure, OutcomeKind, Trial, Verdict
from ruleout.model.inert import inert
from ruleout.report import words
from ruleout.report.issue.markdown import clipped
from ruleout.report.summary import headline

LONGEST = 20_000
"""Characters of a text: a log may hold a line of a megabyte."""
_NO_CHARACTERS = re.compile("[\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Test:
    """One test. `kind` is the element that says how it ended; empty where it passed."""

    name: str
    seconds: float = 0.0
    kind: str = ""
    type: str = ""
    message: str = ""
    text: str = ""


def junit(case: Case, verdict: Verdict, shared: Callable[[str], str]) -> str:
    """An investigation as a suite of its trials, with the verdict as its properties.

    Args:
        shared: makes a text fit to leave the machine.
    """
    tests = [_trial(case, trial) for trial in verdict.trials]
    told = {"ruleout.status": str(verdict.status), "ruleout.probability": f"{verdict.probability:.4f}"}
    for number, cause in enumerate(verdict.causes, 1):
        told[f"ruleout.cause.{number}"] = words.cause(case, verdict, cause)
    for number, way_out in enumerate(words.ways_out(verdict), 1):
        told[f"ruleout.workaround.{number}"] = words.workaround(case, way_out.set)
    return suite(case.name, tests, shared, told, headline(case, verdict))


def suite(
    name: str,
    tests: Sequence[Test],
    shared: Callable[[str], str],
    properties: dict[str, str] | None = None,
    said: str = "",
) -> str:
    """A suite of tests as a document."""

    def plain(text: str) -> str:
        return _NO_CHARACTERS.sub("", clipped(inert(shared(inert(text))), LONGEST))

    counts = {
        "tests": str(len(tests)),
        "failures": str(sum(test.kind == "failure" for test in tests)),
        "errors": str(sum(test.kind == "error" for test in tests)),
    }
    time = {"time": f"{sum(test.seconds for test in tests):.3f}"}
    root = ElementTree.Element("testsuites", {"name": "ruleout", **counts, **time})
    skipped = {"skipped": str(sum(test.kind == "skipped" for test in tests))}
    inner = ElementTree.SubElement(root, "testsuite", {"name": plain(name), **counts, **skipped, **time})
    if properties:
        listed = ElementTree.SubElement(inner, "properties")
        for key, value in properties.items():
            ElementTree.SubElement(listed, "property", {"name": key, "value": plain(value)})
    for test in tests:
        attributes = {"name": plain(test.name), "classname": plain(name), "time": f"{test.seconds:.3f}"}
        element = ElementTree.SubElement(inner, "testcase", attributes)
        if test.kind:
            about = {"type": plain(test.type), "message": plain(test.message)}
            ElementTree.SubElement(element, test.kind, about).text = plain(test.text)
    if said:
        ElementTree.SubElement(inner, "system-out").text = plain(said)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def failed(name: str, kind: str, failure: Failure | None, reason: str, where: str = "", seconds: float = 0.0) -> Test:
    """A test that ended with a failure, or without a result."""
    if failure is None:
        return Test(name, seconds, kind, "", reason, where)
    lines = [f"{line.source}:{line.line}: {line.text}" for line in failure.evidence]
    seen = [failure.client] if failure.client else []
    text = "\n".join([reason, *seen, *lines, where]).strip()
    return Test(name, seconds, kind, f"{failure.class_}{failure.exposure.stage.inside}", words.failure(failure), text)


def _trial(case: Case, trial: Trial) -> Test:
    """A masked trial is an error: another failure came first. One without a result is skipped."""
    name = f"{trial.id:04d} {words.ran(trial, case.baseline)}"
    outcome, seconds = trial.outcome, trial.minutes * 60
    if outcome is None or outcome.kind is OutcomeKind.UNRESOLVED:
        return failed(name, "skipped", None, outcome.reason if outcome else "unfinished", trial.log, seconds)
    if outcome.kind is OutcomeKind.CLEAN:
        return Test(name, seconds)
    kind = "failure" if outcome.kind is OutcomeKind.REPRODUCED else "error"
    return failed(name, kind, outcome.failure, outcome.reason, trial.log, seconds)
