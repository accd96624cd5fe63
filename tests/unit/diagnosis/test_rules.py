"""The catalogue: it says what its YAML says, does what its examples say, and is silent on what did not fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ruleout.diagnosis.catalogue import catalogue, read_files, shipped_files
from ruleout.diagnosis.diagnose import diagnosed
from ruleout.diagnosis.examples import viewed, wrong
from ruleout.diagnosis.rule import Rule, match, within
from ruleout.diagnosis.sharpen import matches
from ruleout.diagnosis.view import view
from ruleout.model import LogOutcome, UsageError
from ruleout.reading.diagnose import read_run

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests" / "unit" / "reading" / "fixtures"
LAB = Path(os.environ.get("RULEOUT_LAB_LOGS") or ROOT.parent / "shared" / "lab" / "logs")
LOGS = [*sorted(FIXTURES.glob("*.log")), *sorted(LAB.glob("*.log"))]

GOOD = """
- id: acme-breaks
  title: Acme breaks
  when: {any: ['acme (?P<what>\\w+)']}
  component: other
  claim: "acme {what}"
  test: it does not
  references: ["https://example.org/1", "https://example.org/2"]
  confidence: 0.5
  examples: {matching: ["RuntimeError: acme broke"], other: ["RuntimeError: other"]}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "own.yaml"
    path.write_text(text)
    return path


def test_the_shipped_json_is_what_the_yaml_says() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "rules.py", "--check"], check=False)
    assert done.returncode == 0, "run tools/rules.py"
    assert read_files(shipped_files()) == catalogue()


@pytest.mark.parametrize("rule", catalogue(), ids=lambda rule: str(rule.id))
def test_a_rule_matches_its_examples_and_none_of_the_others(rule: Rule) -> None:
    assert wrong([rule]) == []


@pytest.mark.parametrize("rule", catalogue(), ids=lambda rule: str(rule.id))
def test_a_rule_rests_on_two_sources_and_fills_its_parameters(rule: Rule) -> None:
    owners = {tuple(address.split("/")[2:7]) for address in rule.references}
    assert len(owners) >= 2
    asked = set(re.findall(r"\{(\w+)\}", rule.claim + rule.test + rule.fix.get("note", "")))
    for example in rule.matching:
        found = match(rule, viewed(example))
        assert found is not None
        assert asked <= set(found.parameters)
        assert found.evidence


@pytest.mark.parametrize("path", LOGS, ids=lambda path: str(path.stem))
def test_no_rule_fires_on_a_log_in_which_nothing_failed(path: Path) -> None:
    run = read_run([path])
    if run.diagnosis.outcome in (LogOutcome.HEALTHY, LogOutcome.STOPPED):
        assert matches(catalogue(), view(run.diagnosis, run.near, run.lines)) == []
        found = diagnosed(run.diagnosis, run.near, run.lines)
        assert found.failure or not found.suspects  # of a server that was stopped, a request may have failed


def test_a_rule_takes_probability_and_leaves_the_rest_its_share(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("RuntimeError: operator torchvision::nms does not exist\n")
    run = read_run([path])
    plain = diagnosed(run.diagnosis, run.near, run.lines, rules=False)
    ruled = diagnosed(run.diagnosis, run.near, run.lines)
    assert not any(suspect.rule for suspect in plain.suspects)
    assert ruled.suspects[0].rule == "torchvision-operator-missing"
    assert plain.suspects[0].probability < ruled.suspects[0].probability < 1
    assert sum(s.probability for s in ruled.suspects) + ruled.unexplained == pytest.approx(1)
    assert "torchvision::nms" in ruled.suspects[0].claim


def test_rules_of_ones_own_are_read(tmp_path: Path) -> None:
    assert [rule.id for rule in read_files([written(tmp_path, GOOD)])] == ["acme-breaks"]


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (("component: other", "component: gpu"), 5, "'gpu' is no such word"),
        (("acme (?P<what>", "acme (?P<what"), 4, "own.yaml, line 4"),
        (("confidence: 0.5", "confidence: sure"), 9, "confidence"),
        (("  title: Acme breaks\n", ""), 2, "has no title"),
        (("  title: Acme breaks", "  titel: Acme breaks"), 3, "unknown key"),
        (("test: it does not", "test: [it does not]"), 7, "test is a text"),
        (("https://example.org/1", "example"), 8, "reference 'example'"),
        (("{any: ['acme (?P<what>\\w+)']}", "{class: [oom]}"), 4, "asks for nothing"),
        (("- id: acme-breaks", "- id: acme-breaks\n  - x"), 3, "not YAML"),
    ],
)
def test_a_mistake_is_named_with_file_and_line(change: tuple[str, str], line: int, said: str, tmp_path: Path) -> None:
    assert change[0] in GOOD
    with pytest.raises(UsageError) as caught:
        read_files([written(tmp_path, GOOD.replace(*change))])
    assert said in caught.value.what
    assert caught.value.what.startswith(f"own.yaml, line {line}:")


def test_an_id_that_is_taken_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="acme-breaks is taken"):
        read_files([written(tmp_path, GOOD + GOOD.lstrip("\n"))])


def test_versions_have_bounds() -> None:
    assert within("0.5.9", ">=0.5.9,<0.6")
    assert not within("0.6.0", ">=0.5.9,<0.6")
    assert within("0.5.10rc0", ">0.5.9")
    assert within("1.0", "==1.0.0")
    with pytest.raises(ValueError, match="no bound"):
        within("1", "about 2")
