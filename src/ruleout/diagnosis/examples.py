"""Whether rules do what their authors say: each matches its own examples, and none of those that are like it.

An example is an excerpt, read as a log is read, so that a rule is tested through the reader that will feed it.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from ruleout.diagnosis.rule import Rule, match
from ruleout.diagnosis.view import View, view
from ruleout.reading.diagnose import Stream, read_run


@dataclass(frozen=True, slots=True)
class Wrong:
    """An example that does not do what it should; `should` is what it should."""

    rule: Rule
    should: str
    example: str


def viewed(excerpt: str) -> View:
    """The view of a pasted excerpt."""
    run = read_run([Stream("example", io.BytesIO(excerpt.rstrip("\n").encode() + b"\n"))])
    return view(run.diagnosis, run.near, run.lines)


def wrong(rules: Sequence[Rule]) -> list[Wrong]:
    """The examples that do not do what they should."""
    found = []
    for rule in rules:
        found += [Wrong(rule, "match", text) for text in rule.matching if not match(rule, viewed(text))]
        found += [Wrong(rule, "not match", text) for text in rule.other if match(rule, viewed(text))]
    return found
