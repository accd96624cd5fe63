"""A rule's first draft from one traced failure: what a machine can write of it, with what only its author knows marked.

It passes its own examples from the start, so that whoever narrows it is told at once when it loses them.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ruleout.diagnosis.catalogue import read_files
from ruleout.diagnosis.examples import wrong
from ruleout.model import Component, Failure, UsageError
from ruleout.model.inert import inert

LONGEST = 160
"""Characters of a message that a pattern holds."""
WORDS = 6
"""Of a message, in the name of a rule."""
_CHANGING = re.compile(
    r"""<[a-z]+-\d+> | 0x[0-9a-fA-F]+ | (?<![\w.])\d+(?:\.\d+)* | (?<![\w/.])/[\w./+-]{2,}
    | '[^'\n]{1,80}' | "[^"\n]{1,80}\"""",
    re.VERBOSE,
)
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")
_COMMENTS = {
    "title": "What fails, in words that whoever has it would search for.",
    "when": "Keep what every account of it shares, and no name, path or number of one machine.",
    "component": "Where the cause was found in the end, which is often not where it shows.",
    "claim": "Why it fails, as you have traced it; {name} stands for a named group of a pattern under `any`.",
    "fix": "What removes it, and what that costs.",
    "test": "An observation that would make the claim wrong, as cheap as there is one.",
    "confidence": "In how many of the runs that it matches its component is the cause; one investigation cannot tell.",
    "references": "Addresses of independent accounts; the catalogue asks for two.",
    "examples": "From the logs of the investigation; `other` ones are healthy, or failed of something else.",
}


@dataclass(frozen=True, slots=True)
class Traced:
    """A failure that was traced, as its investigation tells of it.

    Attributes:
        settings: of the cause, by the names under which logs tell them.
        change: flags and variables with which it is gone.
        told: the cause in words.
        matching: excerpts of failing logs; other: of those that did not fail so.
    """

    engine: str
    failure: Failure
    component: Component
    told: str
    change: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    matching: Sequence[str] = ()
    other: Sequence[str] = ()


def scaffold(traced: Traced) -> str:
    """A file with one rule, which does what its examples say.

    Raises UsageError when no pattern that could be drawn from the failure does.
    """
    if not traced.matching:
        raise UsageError(
            "no line of a log tells of this failure, and a rule needs one", "Write it by hand: docs/how-to/rules.md."
        )
    other = list(traced.other) or ["INFO: Application startup complete."]
    for when in _conditions(traced):
        text = _written(traced, when, other)
        if _passes(text):
            return text
    raise UsageError(
        "no pattern from its message tells this failure from the logs that did not fail so",
        "Write it by hand, from another line: docs/how-to/rules.md.",
    )


def pattern(message: str) -> str:
    """A message as a regular expression: what differs from run to run is left open."""
    parts, at = [], 0
    line = next((line for line in inert(message).split("\n") if line.strip()), "").strip()
    line = line if len(line) <= LONGEST else line[:LONGEST].rpartition(" ")[0] or line[:LONGEST]
    for found in _CHANGING.finditer(line):
        parts += [_escaped(line[at : found.start()]), _open(found[0])]
        at = found.end()
    return "".join([*parts, _escaped(line[at:])])


def name(failure: Failure) -> str:
    """The id of a rule, from the words of its message."""
    words = re.findall(r"[a-z]{2,}", _CHANGING.sub(" ", failure.message).lower())
    return "-".join(words[:WORDS]) or failure.class_.replace("_", "-")


def _conditions(traced: Traced) -> Iterator[dict[str, Any]]:
    """What to ask for, the narrowest first."""
    failure = traced.failure
    said = {"any": [pattern(failure.message)]}
    classed = {"class": [failure.class_.value]}
    staged = {**classed, "stage": [failure.exposure.stage.value]}
    if traced.settings:
        settings = {"settings": {key: _escaped(value) for key, value in traced.settings.items()}}
        yield {**staged, **said, **settings}
        yield {**classed, **said, **settings}
    yield {**staged, **said}
    yield {**classed, **said}
    yield said


def _written(traced: Traced, when: Mapping[str, Any], other: Sequence[str]) -> str:
    failure = traced.failure
    flags = " ".join(f"{flag} {level}" for flag, level in traced.change.items())
    fix = {"set": dict(traced.change)} if traced.change else {"note": "not known yet"}
    rule = {
        "id": name(failure),
        "title": _line(failure.message)[:100],
        "engines": [traced.engine],
        "when": dict(when),
        "component": traced.component.value,
        "claim": _line(traced.told),
        "fix": fix,
        "test": f"it fails alike with {_line(flags)}" if flags else "it fails alike where the claim does not hold",
        "references": [],
        "confidence": 0.5,
        "examples": {"matching": [inert(text) for text in traced.matching], "other": [inert(text) for text in other]},
    }
    text = yaml.dump([rule], Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    for key, comment in _COMMENTS.items():
        text = re.sub(rf"(?m)^  {key}:", f"  # {comment}\n  {key}:", text, count=1)
    return text


def _passes(text: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rule.yaml"
        path.write_text(text, encoding="utf-8")
        return not wrong(read_files([path]))


def _open(text: str) -> str:
    if text[0] in "'\"":
        return f"{text[0]}[^{text[0]}]*{text[0]}"
    return r"[\d.]+" if text[0].isdigit() and not text.startswith("0x") else r"\S+"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: "\\" + found[0], text)


def _line(text: str) -> str:
    return " ".join(inert(text).replace("{", "(").replace("}", ")").split())


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as they are read."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
