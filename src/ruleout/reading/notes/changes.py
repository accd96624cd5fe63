"""What a text says was changed: flags, variables, versions and settings by name, each with where it stands.

In code every word after a flag is its value. In a sentence only what looks like one is: `--enforce-eager makes no
difference` gives no level.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ruleout.model import ABSENT, PRESENT, UNSET
from ruleout.reading.notes.commands import command_of, options, split
from ruleout.reading.notes.found import Change, Command, Found
from ruleout.reading.notes.spoken import not_restated, spoken_changes
from ruleout.reading.notes.values import bare, looks_like_value, value_after
from ruleout.reading.notes.words import is_error

_CODE = re.compile(r"`+([^`]+)`+|(?<![\w=~/-])[~=]([^\s~=](?:[^~=\n]*[^\s~=])?)[~=](?![\w=~])")
_BEHIND_CODE = re.compile(r"\s*(?:=|(?:set )?to|:?)\s*`([^`\s-][^`\s]*)`|\s+(?:set )?to\s+([\w./]+\w)")
"""A value that stands behind its flag in another piece of code, or as a word."""
_STRUCK = re.compile(r"~~.*?~~")
_VARIABLE = re.compile(
    r"(?<![\w$/-])([A-Z][A-Z0-9]*_[A-Z0-9_]+|OMP|NCCL)\s?=\s?(\"[^\"]*\"|'[^']*'|[^\s,;`|)]*[^\s,;`|).:])"
)
_SPOKEN_VARIABLE = re.compile(
    r"(?<![\w$/-])([A-Z][A-Z0-9]*_[A-Z0-9_]{2,})`?\s+(?:(?:set )?to|is|at|:)\s+`?(\d[\w.]*|true|false|on|off"
    r"|[A-Z]\w+)`?(?!\w)|"
    r"\b(?:unset(?:ting)?|without)\s+`?([A-Z][A-Z0-9]*_[A-Z0-9_]{2,})\b"
)
_FLAG = re.compile(r"(?<![\w/-])(--[A-Za-z][\w.-]*|-[a-zA-Z]{1,5}(?=[ =]\S))(?:(=)(\"[^\"]*\"|'[^']*'|[^\s,;`|)]+))?")
_NAMED = re.compile(r"(?<![\w/$.-])([a-z][a-z0-9]*(?:[_-][a-z0-9]+)*)=(\"[^\"]*\"|'[^']*'|[^\s,;:|()`]+)")
_WITHOUT = re.compile(
    r"\b(?:without|w/o|ohne|minus|removed?|removing|drop(?:ped|ping)?|omit(?:ted|ting)?|leaving out|took (?:off|out)"
    r"|no)\s*(?:the\s+|flag\s+)*[`~=]?\s*$",
    re.I,
)
_REMOVED = re.compile(
    r"^[`~=]?\s*(?:was |is |flag |got )*(?:removed|dropped|weggelassen|taken (?:off|out|away)|left out|omitted)\b", re.I
)
_AND = re.compile(r"^[`\s]*(?:,|and|&|/|\+|or|nor)+[`\s]*(?:and\s+)?$", re.I)
_BASELINE = re.compile(
    r"\b(?:baseline|unchanged|unmodified|vanilla|stock|control|nothing (?:is |was )?changed|no (?:extra "
    r"|special )?(?:changes?|flags?|args|options)|none(?! of\b)"
    r"|as (?:above|is|it was|before|usual|deployed|given|reported|in prod\w*)|without (?:any )?changes?"
    r"|(?:the )?(?:usual"
    r"|prod\w*) (?:command|config|setup|flags)(?: line)?|(?:the )?original(?: command| config\w*| setup)?"
    r"|default(?:s| \w+)?|plain|out of the box|just the command|wie oben|unverändert)\b"
    r"|^\s*(?:[-–—]|\"\"|'')\s*$|^\s*\(none\)|^\s*nothing\s*(?:$|[:,;→|–—-])|^\s*base\b",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(r"\W*\b(?:but|with|without|w/o|plus|minus|except|using)\s+\w", re.I)
"""What follows a baseline that was changed after all, in words that are not understood: `base with half the load`."""
_SAID_OF = re.compile(r"\s+(?:->|=>|→|⇒|➜)|\s[:;]\s")
"""What stands between a command and what became of it."""
_DESCRIBED = re.compile(r"\s*\([^)]*-")


def changes_in(text: str, *, words: bool = True) -> Found:
    """All that a text says of settings.

    Args:
        words: versions and switches that are only spoken of (`CUDA graphs off`) count as well.
    """
    text = _STRUCK.sub(lambda found: " " * len(found[0]), text)
    text = _CODE.sub(lambda found: " " * len(found[0]) if is_error(found[1] or found[2]) else found[0], text)
    commands = tuple(_commands(text))
    rest = _blanked(text, commands)
    changes = list(_flags_and_variables(rest))
    rest = _blanked(rest, changes)
    named = [Change(f.start(), f.end(), f[1], bare(f[2]), sure=False) for f in _NAMED.finditer(_plain(rest))]
    changes += named
    rest = _blanked(_plain(rest), named)
    if words:
        changes += not_restated(text, changes, list(spoken_changes(rest)))
    changes.sort(key=lambda change: change.begin)
    base = _BASELINE.search(text)
    if base and changes and _DESCRIBED.match(text, base.end()):
        changes = []  # "as in production (--tp 16 …)": they say what the baseline is
    if changes or commands or (base and _OTHERWISE.match(text, base.end())):
        base = None
    begin, end = base.span() if base else (-1, -1)
    return Found(tuple(changes), commands, begin, end)


def _commands(text: str) -> Iterator[Command]:
    quoted = [(found.start(), found.end(), found[1] or found[2]) for found in _CODE.finditer(text)]
    for begin, end, inside in quoted:
        if argv := command_of(inside):
            yield Command(begin, end, argv)
    if not quoted and " -" in text:
        end = len(_SAID_OF.split(text, 1)[0])
        if argv := command_of(text[:end]):
            yield Command(0, end, argv)


def _flags_and_variables(text: str) -> Iterator[Change]:
    spans = []
    for found in _CODE.finditer(text):
        inside = found[1] or found[2]
        if re.match(r"\s*(?:export\s+|env\s+)?(?:--?[A-Za-z]|[A-Z][A-Z0-9_]*=)", inside):
            spans.append(found.span())
            yield from _in_code(text, found, inside)
    text = _blanked(text, [Change(a, b, "", "") for a, b in spans])
    variables = [Change(f.start(), f.end(), f[1], bare(f[2])) for f in _VARIABLE.finditer(text)]
    for found in _SPOKEN_VARIABLE.finditer(text):
        name = found[1] or found[3]
        variables.append(Change(found.start(), found.end(), name, found[2] if found[1] else UNSET))
    yield from variables
    removed = 0
    for found in _FLAG.finditer(_blanked(text, variables)):
        name, end = found[1].rstrip(".-"), found.end()
        level = bare(found[3]) if found[2] else PRESENT
        if _is_removed(text, found.start(), end, removed):
            level, removed = ABSENT, end
        elif level == PRESENT and (value := value_after(text, end)):
            level, end = bare(value[0]), value[1]
        if name.startswith("--") or level not in (PRESENT, ABSENT):
            yield Change(found.start(), end, name, level)


def _in_code(text: str, code: re.Match[str], inside: str) -> Iterator[Change]:
    begin, end = code.span()
    words = split(inside.removeprefix("export ").removeprefix("env "))
    given = [(name, value) for name, value in options(words) if name != "(rest)"]
    if _is_removed(text, begin, end, 0) or _listed_after_removed(text, begin):
        given = [(name, ABSENT if name.startswith("-") else UNSET) for name, _ in given]
    elif len(given) == 1 and given[0][1] == PRESENT:
        behind = _BEHIND_CODE.match(text, end)
        if behind is not None and not command_of(behind[1] or ""):
            given, end = [(given[0][0], behind[1] or behind[2])], behind.end()
        elif (value := value_after(text, end)) is not None and looks_like_value(value[0]):
            given, end = [(given[0][0], bare(value[0]))], value[1]
    for name, level in given:
        yield Change(begin, end, name, level)


def _is_removed(text: str, begin: int, end: int, removed: int) -> bool:
    """Whether the flag there is said to have been taken off: before it, after it, or with the one before it."""
    if re.fullmatch(r"\s*[-−–]\s+[`~=]?", text[:begin]):
        return True  # `f) - --flag`: taken off, beside others that are put on with `+`
    if _WITHOUT.search(text[max(0, begin - 40) : begin]) or _REMOVED.match(text[end : end + 40]):
        return True
    return bool(removed) and _AND.match(text[removed:begin]) is not None


def _listed_after_removed(text: str, begin: int) -> bool:
    """`without `--a` and `--b``: the second is taken off as well."""
    return re.search(r"\b(?:without|w/o|minus)\s+(?:`[^`]*`\s*(?:,|and|&|/|or)*\s*)+`?$", text[:begin]) is not None


def _plain(text: str) -> str:
    """The text with the marks of code blanked out, one for one."""
    return text.replace("`", " ")


def _blanked(text: str, parts: Sequence[Change | Command]) -> str:
    for part in parts:
        text = text[: part.begin] + " " * (part.end - part.begin) + text[part.end :]
    return text
