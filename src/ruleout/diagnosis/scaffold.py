"""A rule's first draft from one traced failure: what a machine can write of it, with what only its author knows marked.

It passes its own examples from the start, so that whoever narrows it is told at once when it loses them.
"""

from __future__ import annotations

import re
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from ruleout.diagnosis.catalogue import read_files
from ruleout.diagnosis.examples import wrong
from ruleout.model import Component, Failure, Stage, UsageError
from ruleout.model.inert import inert, shortened

LONGEST = 160
"""Characters of a message that a pattern holds."""
TITLE = 100
"""Characters of a title; the whole message stands in the examples."""
WAYS = 3
"""Ways out that are told."""
WORDS = 6
"""Of a message, in the name of a rule."""
_CHANGING = re.compile(
    r"""<[a-z]+-\d+> | 0x[0-9a-fA-F]+ | (?<![\w.])\d+(?:\.\d+)* | (?<![\w/.])/[\w./+-]{2,}
    | '[^'\n]{1,80}' | "[^"\n]{1,80}\"""",
    re.VERBOSE,
)
_NUMBER, _WORD = re.compile(r"\d+"), re.compile(r"[A-Za-z]{2,}")
_JOINING = frozenset(("a", "an", "and", "at", "by", "for", "from", "in", "is", "of", "on", "or", "the", "to", "with"))
"""Words after which a name does not end."""
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")
_UNTOLD = (
    "Nothing stands for one part of the stack alone: instead of `other`, put that where you found the cause in the end"
    f" ({', '.join(part.value for part in Component if part is not Component.OTHER)})."
)
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
        engine: empty where nobody knows it.
        component: None where nothing stands for one.
        told: the cause in words.
        change: flags and variables with which it is gone; ways: that, and all other ways out, in words.
        advice: what may help and was not tried.
        settings: of the cause, by the names under which logs tell them.
        matching: excerpts of failing logs; other: of those that did not fail so.
    """

    engine: str
    failure: Failure
    component: Component | None
    told: str
    change: Mapping[str, str] = field(default_factory=dict)
    ways: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    matching: Sequence[str] = ()
    other: Sequence[str] = ()
    advice: str = ""


def scaffold(traced: Traced) -> str:
    """A file with one rule, which does what its examples say.

    Raises UsageError when no pattern that could be drawn from the failure does.
    """
    if not traced.matching:
        raise UsageError(
            "no line of a log tells of this failure, and a rule needs one", "Write it by hand: docs/how-to/rules.md."
        )
    other = list(traced.other) or ["INFO: Application startup complete."]
    for engine in dict.fromkeys((traced.engine, "")):
        for when in _conditions(traced):
            text = _written(replace(traced, engine=engine), when, other)
            if _passes(text):
                return text
    raise UsageError(
        "no pattern from its message tells this failure from the logs that did not fail so",
        "Write it by hand, from another line: docs/how-to/rules.md.",
    )


def pattern(message: str) -> str:
    """A message as a regular expression: what differs from run to run is left open.

    Of a message that is little else (`KeyError: 'model.layers.61.weight'`) only numbers are: names are what it says.
    """
    parts, at = [], 0
    line = next((line for line in inert(message).split("\n") if line.strip()), "").strip()
    line = line if len(line) <= LONGEST else line[:LONGEST].rpartition(" ")[0] or line[:LONGEST]
    changing = _CHANGING if len(_WORD.findall(_CHANGING.sub(" ", line))) > 1 else _NUMBER
    for found in changing.finditer(line):
        parts += [_escaped(line[at : found.start()]), _open(found[0])]
        at = found.end()
    return "".join([*parts, _escaped(line[at:])])


def said(failure: Failure) -> str:
    """What a failure says; where its message is a bare name, with the exception, without which it says nothing."""
    bare = failure.exception and len(_WORD.findall(_CHANGING.sub(" ", failure.message))) < 2
    return f"{failure.exception}: {failure.message}" if bare else failure.message


def name(failure: Failure) -> str:
    """The id of a rule, from the words of its message."""
    plain = failure.message if said(failure) == failure.message else ""
    words = _WORD.findall(_CHANGING.sub(" ", plain).lower()) or _WORD.findall(said(failure).lower())
    words = words[:WORDS]
    while words and words[-1] in _JOINING:
        words.pop()
    return "-".join(words) or failure.class_.replace("_", "-")


def _conditions(traced: Traced) -> Iterator[dict[str, Any]]:
    """What to ask for, the narrowest first."""
    failure = traced.failure
    message = {"any": [pattern(said(failure))]}
    classed = {"class": [failure.class_.value]}
    stage = failure.exposure.stage
    staged = classed if stage is Stage.UNKNOWN else {**classed, "stage": [stage.value]}
    if traced.settings:
        settings = {"settings": {key: _escaped(value) for key, value in traced.settings.items()}}
        yield {**staged, **message, **settings}
        yield {**classed, **message, **settings}
    yield {**staged, **message}
    yield {**classed, **message}
    yield message


def _written(traced: Traced, when: Mapping[str, Any], other: Sequence[str]) -> str:
    failure = traced.failure
    way_out = _line(traced.ways[0]) if traced.ways else ""
    rule = {
        "id": name(failure),
        "title": shortened(said(failure), TITLE),
        "engines": [traced.engine] if traced.engine else [],
        "when": dict(when),
        "component": (traced.component or Component.OTHER).value,
        "claim": _line(traced.told),
        "fix": _fix(traced),
        "test": f"it fails alike {_with(way_out)}" if way_out else "it fails alike where the claim does not hold",
        "references": [],
        "confidence": 0.5,
        "examples": {"matching": [inert(text) for text in traced.matching], "other": [inert(text) for text in other]},
    }
    if not traced.engine:
        del rule["engines"]
    comments = _COMMENTS if traced.component else {**_COMMENTS, "component": _UNTOLD}
    text = yaml.dump([rule], Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    for key, comment in comments.items():
        lines = textwrap.wrap(comment, 108, initial_indent="  # ", subsequent_indent="  # ", break_on_hyphens=False)
        text = re.sub(rf"(?m)^  {key}:", "\n".join((*lines, f"  {key}:")), text, count=1)
    return text


def _fix(traced: Traced) -> dict[str, Any]:
    others = [_with(_line(way)) for way in traced.ways[bool(traced.change) : WAYS]]
    note = "; or ".join(others) if others else "" if traced.change else _line(traced.advice) or "not known yet"
    told = {"note": f"or {note}" if traced.change else note} if note else {}
    return {**({"set": dict(traced.change)} if traced.change else {}), **told}


def _with(way: str) -> str:
    return way if way.startswith("without ") else f"with {way}"


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
