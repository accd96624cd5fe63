"""The catalogue as a page to read: a rule's patterns are shown as the lines that they match.

A regular expression is walked as Python parses it: what is literal stays, a named part is shown by its name, the rest
as an ellipsis. So the page says the same as the rule and cannot drift from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from re import _constants as op
from re import _parser as parser
from typing import Any

from ruleout.diagnosis.components import COMPONENTS
from ruleout.diagnosis.rule import Rule
from ruleout.model import Component
from ruleout.model.figures import percent

HEAD = """# Known failures

<!-- Made by tools/rules.py from src/ruleout/diagnosis/rules/*.yaml: change those. -->

What `ruleout diagnose` recognises by itself: {count} kinds of failure, each traced by different people before. Where
one holds, its component has at least the probability given; the other suspects share the rest. In the lines that are
looked for, … is anything, N a number, (a|b) either; ‹names› are filled from the log. `ruleout rules show ID` prints the
patterns as they are; [how-to/rules.md](how-to/rules.md) tells how to add one.
"""
_GITHUB = re.compile(r"https://github\.com/([^/]+/[^/]+)(?:/(?:issues|pull)/(\d+))?")
_PARAMETER = re.compile(r"\{(\w+)\}")
_ALTERNATIVES, _TELLING = 5, 6
"""How many ways of a pattern are shown; from how many letters on a named part tells more than its name."""
_DIGIT = "\0"
"""A digit, until the whole line is told."""


def page(rules: Sequence[Rule]) -> str:
    """The whole page: a table of contents, then the rules by component."""
    grouped = {c: [rule for rule in rules if rule.component == c] for c in Component}
    grouped = {c: found for c, found in grouped.items() if found}
    parts = [HEAD.format(count=len(rules))]
    for component, found in grouped.items():
        parts.append(f"- [{component}](#{_anchor(component)}) ({len(found)})")
        parts += [f"  - [{rule.title}](#{rule.id})" for rule in found]
    for component, found in grouped.items():
        parts += ["", f"## {component}", "", f"*{_sentence(COMPONENTS[component].claim)}*"]
        for rule in found:
            parts += ["", *_rule(rule)]
    return "\n".join(parts) + "\n"


def readable(pattern: str) -> str:
    """A regular expression as the line that it matches."""
    parsed = parser.parse(pattern)
    named = {number: name for name, number in parsed.state.groupdict.items()}
    return re.sub(r"…(?: ?…)+", "…", _walk(parsed, named)).replace(_DIGIT, "N").strip()


def _rule(rule: Rule) -> list[str]:
    engines = ", ".join(f"{e} {rule.versions.get(e, '')}".strip() for e in rule.engines) or "any engine"
    changes = [f"`{flag} {level}".strip() + "`" for flag, level in rule.fix.get("set", {}).items()]
    mends = "; ".join([*changes, *([_filled(rule.fix["note"])] if "note" in rule.fix else [])])
    rows = {
        "Looks for": "; ".join(_looks_for(rule)),
        "Says": _filled(rule.claim),
        "Mends it": mends,
        "Refuted if": _filled(rule.test),
        "Behind it, likely": "; ".join(rule.behind),
        "Known from": ", ".join(f"[{_name(address)}]({address})" for address in rule.references),
    }
    return [
        f'<a id="{rule.id}"></a>',
        "",
        f"### {rule.title}",
        "",
        f"`{rule.id}` · {engines} · {percent(rule.confidence)}",
        "",
        *(f"- **{label}:** {text}" for label, text in rows.items() if text),
    ]


def _looks_for(rule: Rule) -> list[str]:
    when = rule.when
    found = []
    if when.class_:
        found.append("a failure of the class " + _either(when.class_))
    if when.stage:
        found.append("at the stage " + _either(when.stage))
    if when.any:
        found.append("near the failure " + _either(_code(readable(p)) for p in when.any))
    found += ["in some line " + _code(readable(p)) for p in when.lines]
    for where, values in (("the setting", when.settings), ("the host's", when.environment)):
        found += [f"{where} `{name}` being {_code(readable(value))}" for name, value in values.items()]
    if when.without:
        found.append("and not " + _either(_code(readable(p)) for p in when.without))
    return found


def _walk(nodes: Iterable[tuple[Any, Any]], named: Mapping[int, str]) -> str:
    text = ""
    for kind, value in nodes:
        if kind is op.BRANCH:  # the parser has taken out what the ways begin with, in the middle of a word or not
            word = re.search(r"\w*$", text)[0]
            ways = [word + _walk(way, named) for way in value[1]]
            some = "|".join(ways[:_ALTERNATIVES]) + ("|…" if len(ways) > _ALTERNATIVES else "")
            text = f"{text[: len(text) - len(word)]}({some})"
        else:
            text += _node(kind, value, named)
    return text


def _node(kind: Any, value: Any, named: Mapping[int, str]) -> str:
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.IN:
        return _set(value)
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        least, most, inner = value
        text = _walk(inner, named)
        return text if least or text in ("…", _DIGIT) else "" if most == 1 else "…"
    if kind is op.SUBPATTERN:
        group, _, _, inner = value
        text = _walk(inner, named)
        telling = len(re.findall("[a-zA-Z]", text)) >= _TELLING or not re.search(f"[…{_DIGIT}]", text)
        return f"‹{named[group]}›" if group in named and not telling else text
    return "" if kind in (op.AT, op.ASSERT, op.ASSERT_NOT) else "…"


def _set(members: Sequence[tuple[Any, Any]]) -> str:
    """One character of several."""
    if members == [(op.CATEGORY, op.CATEGORY_DIGIT)]:
        return _DIGIT
    if any(kind is not op.LITERAL for kind, _ in members):
        return "…"
    one, *others = [chr(value) for _, value in members]
    return one if not one.isalnum() or one.lower() in "".join(others) else f"({'|'.join([one, *others])})"


def _either(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _filled(text: str) -> str:
    return _PARAMETER.sub(r"‹\1›", text)


def _name(address: str) -> str:
    found = _GITHUB.match(address)
    return (f"{found[1]}#{found[2]}" if found[2] else found[1]) if found else address.split("/")[2]


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
