"""What a log does not say is not talked about: a rule's texts ask for what its patterns always give, or in an aside."""

from __future__ import annotations

import re

import pytest

from ruleout.diagnosis.catalogue import catalogue
from ruleout.diagnosis.rule import Conditions, Match, Rule
from ruleout.model import Component

ACME = Rule("acme", "t", Component.OTHER, "c", "t", 0.5, (), Conditions())


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("needs {want} (has {got}), so", "needs 9, so"),
        ("needs {want} (of {want}), so", "needs 9 (of 9), so"),
        ("needs (at least) {want}", "needs (at least) 9"),
        ("has {got}", "has some got"),
    ],
)
def test_an_aside_goes_where_the_log_does_not_say_what_it_tells(text: str, filled: str) -> None:
    assert Match(ACME, {"want": "9"}, ()).filled(text) == filled


_TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?(?:P<(?P<name>\w+)>|[:=!]|<[=!]))?|(?P<close>\)[?*]?|\)\{0)|\|"
)


def left_out(pattern: str) -> set[str]:
    """The named groups that a pattern matches without: optional ones, and those of one alternative."""
    names: list[set[str]] = [set()]
    optional: set[str] = set()
    opened: list[tuple[str | None, bool]] = [(None, False)]
    for token in _TOKEN.finditer(pattern):
        if token[0] == "|":
            opened[-1] = (opened[-1][0], True)
        elif token["close"]:
            (name, alternatives), inside = opened.pop(), names.pop()
            optional |= inside if alternatives else set()
            inside |= {name} if name else set()
            optional |= inside if len(token[0]) > 1 else set()
            names[-1] |= inside
        elif token[0].startswith("("):
            opened.append((token["name"], False))
            names.append(set())
    return optional | (names[0] if opened[0][1] else set())


@pytest.mark.parametrize(
    ("pattern", "lacking"),
    [
        (r"a (?P<a>b)", set()),
        (r"a (?P<a>b)?", {"a"}),
        (r"a(?: (?P<a>b))? (?P<b>c|d)", {"a"}),
        (r"(?:(?P<a>[)|(])|\((?P<b>c)) (?P<c>d)", {"a", "b"}),
        (r"(?P<a>b)|c", {"a"}),
    ],
)
def test_which_groups_a_pattern_may_leave_out(pattern: str, lacking: set[str]) -> None:
    assert left_out(pattern) == lacking


@pytest.mark.parametrize("rule", catalogue(), ids=lambda rule: str(rule.id))
def test_no_text_asks_outside_of_an_aside_for_what_a_pattern_may_leave_out(rule: Rule) -> None:
    texts = (rule.claim, rule.test, rule.fix.get("note", ""), *rule.behind)
    asked = set(re.findall(r"\{(\w+)\}", re.sub(r" ?\([^()]*\)", "", " ".join(texts))))
    assert not any(asked & left_out(pattern) for pattern in rule.when.any)
