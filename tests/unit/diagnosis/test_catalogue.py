"""What every rule of the catalogue owes its reader: accounts of different people, parameters, a fix, a page."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from ruleout.diagnosis.catalogue import catalogue, read_files, shipped_files
from ruleout.diagnosis.rule import Rule
from ruleout.interfaces.cli.rules import rules as verb
from ruleout.model import UsageError
from ruleout.model.figures import percent

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "known-failures.md").read_text(encoding="utf-8")
EVERY = pytest.mark.parametrize("rule", catalogue(), ids=lambda rule: str(rule.id))


def account(address: str) -> tuple[str, ...]:
    """Whose word an address is: on GitHub a thread or a repository, elsewhere the host."""
    host, *path = address.split("#")[0].removeprefix("https://").rstrip("/").split("/")
    thread = len(path) > 3 and path[2] in ("issues", "pull", "discussions")
    return (host, *path[:2], *path[3:4]) if thread else (host, *path[:2]) if host == "github.com" else (host,)


def known_failures() -> ModuleType:
    """The module of tools/ that writes the page."""
    spec = importlib.util.spec_from_file_location("known_failures", ROOT / "tools" / "known_failures.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_account_is_a_thread_a_repository_or_a_host() -> None:
    one = account("https://github.com/acme/engine/issues/7")
    assert one != account("https://github.com/acme/engine/issues/8")
    assert one == account("https://github.com/acme/engine/issues/7#issuecomment-1")
    assert account("https://github.com/acme/engine/blob/a1/x.md") == account("https://github.com/acme/engine/tree/b2")
    assert account("https://example.org/a") == account("https://example.org/b")


@EVERY
def test_a_rule_rests_on_accounts_of_different_people(rule: Rule) -> None:
    assert len({account(address) for address in rule.references}) >= 2
    assert len(set(rule.references)) == len(rule.references)


@EVERY
def test_every_pattern_gives_what_the_texts_of_its_rule_ask_for(rule: Rule) -> None:
    asked = set(re.findall(r"\{(\w+)\}", rule.claim + rule.test + rule.fix.get("note", "")))
    for pattern in rule.when.compiled["any"]:
        assert asked <= set(pattern.groupindex), pattern.pattern


@EVERY
def test_a_rule_says_what_mends_it_and_is_never_certain(rule: Rule) -> None:
    assert rule.fix.get("note") or rule.fix.get("set")
    assert 0.5 <= rule.confidence <= 0.96


def test_no_file_of_rules_is_too_long_to_read() -> None:
    assert all(len(path.read_text(encoding="utf-8").splitlines()) < 400 for path in shipped_files())


@EVERY
def test_the_page_and_the_command_tell_all_of_a_rule(rule: Rule) -> None:
    shown = CliRunner().invoke(verb, ["show", rule.id]).output
    part = PAGE.split(f'<a id="{rule.id}"></a>')[1].split("<a id=")[0]
    for text in (rule.title, *rule.behind, *rule.references, *rule.engines, *rule.versions.values()):
        assert text in part
        assert text in shown
    for text in (rule.claim, rule.test, rule.fix.get("note", "")):
        assert text in shown
        assert re.sub(r"\{(\w+)\}", r"‹\1›", text) in part
    assert f"](#{rule.id})" in PAGE
    assert percent(rule.confidence) in part


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (r"heads \((?P<heads>\d+)\) must", "heads (‹heads›) must"),
        (r"No such file: '(?P<tool>nvcc|ninja)'", "No such file: '(nvcc|ninja)'"),
        (r"rope_(?:theta|scaling) is gone", "(rope_theta|rope_scaling) is gone"),
        (r"(?i)acme\S*/(?P<file>\w+\.hpp):\d+.*?[Ff]ailed", "acme…/‹file›:N…Failed"),
        (r"^(?P<what>custom_all_\w+)(?: now)?$", "custom_all_…"),
        (r"\[(?:a|b|c|d|e|f1)\]", "[(a|b|c|d|e|…)]"),
    ],
)
def test_a_pattern_is_shown_as_the_line_it_matches(pattern: str, line: str) -> None:
    assert known_failures().readable(pattern) == line


def test_a_value_that_cannot_be_matched_in_full_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "- id: acme-breaks\n  title: t\n  when: {any: [acme], settings: {dtype: '(?i)fp8'}}\n  component: other\n"
        "  claim: c\n  test: t\n  confidence: 0.5\n  references: ['https://example.org/1']\n"
        "  examples: {matching: ['RuntimeError: acme'], other: ['RuntimeError: no']}\n"
    )
    with pytest.raises(UsageError, match=r"own\.yaml, line \d"):
        read_files([path])


def test_the_catalogue_is_worth_its_name() -> None:
    assert len(catalogue()) >= 60
