"""What a text says was set: flags, variables, keys and versions with their levels, a command, or a switch in words.

A setting counts for what stands around it: taken off (`without --x`), put back, only compared with (`instead of --x`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ruleout.reading.notes import terms
from ruleout.reading.notes.commands import ABSENT, PRESENT, Command, command_in

_FLAG = re.compile(
    r"(?<![\w/.\-<=])(?:\+\s?)?(?P<name>--[A-Za-z][\w.\-]*\w|-[A-Za-z][A-Za-z0-9]{0,5}(?:\.\w+)?(?![\w\-/]))"
)
_VARIABLE = re.compile(
    r"(?<![\w\-/.$])(?P<name>[A-Z][A-Z0-9]*(?:_[A-Za-z0-9]+)*|[a-z]\w*[_.][\w.]*\w|(?:tp|pp|dp|ep|attn"
    r"|dtype|kv)(?==)|(?<=`)[a-z]{2,}(?==))=(?=[^\s=])"
)
_KEY = re.compile(r"`(?P<name>[a-z]\w*(?:[._]\w+)+):\s*(?P<level>[^`\s]+)`")
_ARROW = re.compile(
    r"(?<![\w\-`])`?(?P<name>[a-z]\w*(?:_\w+)+)`?:?\s+`?[\w.\-]+`?\s*(?:->|→|=>|to)\s*`?(?P<level>[\w.\-]+)`?"
)
_SET_TO = re.compile(r"`(?P<name>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`\s+(?:to|->|→)\s+`?(?P<level>[^\s`]*[^\s`.,:;)])")
_ONWARD = re.compile(r"`?\s*(?:->|→|=>)\s*`?(?P<level>[\w.\-]+)(?=`?(?:\s*$|\s*[:,;()]|\s+(?:->|→|=>|[-–—])\s))")
_PACKAGE = re.compile(
    rf"(?i)(?<![\w\-/.])(?P<name>{terms.PACKAGES})(?:\s?==?\s?|\s+(?:version\s+|to\s+)?"
    rf"|@)v?(?P<level>\d+(?:\.\d+)+[\w.+\-]*|b\d{{3,5}}\b|[0-9a-f]{{7,40}}\b|nightly\b)"
)
_COMMIT = re.compile(r"^\W*(?P<level>(?=\w*\d)[0-9a-f]{7,12})(?=\W)")
_BRACKETS = re.compile(r"\([^()]*,[^()]*\)")
_SWITCH = re.compile(
    rf"(?i)(?<![\w\-])(?:(?P<a>{terms.FEATURES})\s+(?:is |was |were |switched |turned |all )*(?P<x>off|on"
    rf"|disabled|enabled)\b"
    rf"|(?P<y>turn(?:ed|ing)? off|switch(?:ed|ing)? off|disabl(?:e|ed|ing)|without|no|turn(?:ed|ing)? on"
    rf"|enabl(?:e|ed|ing))\s+(?:the )?(?P<b>{terms.FEATURES})(?![\w\-])"
    rf"|turn(?:ed|ing)? (?P<c>{terms.FEATURES}) (?P<z>off|on)\b)"
)
_AMOUNT = re.compile(
    r"(?i)\b(?:with|at) (?P<name>concurrency|batch size|max[_ ]tokens|temperature) (?:of |=)?(?P<level>\d[\d.]*)"
)
_TO = re.compile(r"`?\s*(?:=|to|->|→|:|down to|up to|at|is|set to)\s*`?(?=[\w\-.{'\"])")
_QUOTED = re.compile(r"(?:(?<=[\s(:`])|^)\"(?![{\[\s])(?=[^\"]* )[^\"{}\n]{3,300}\"")
_CLIENT = re.compile(r"`(?P<inside>[^`]+)`")
_MESSAGE = re.compile(r"`[^`]*(?:\b\w*(?:Error|Exception)\b|\bplease\b|\bnot \b|error:|failed)[^`]*`")
_BOOLEAN = re.compile(
    r"--(?:enable|disable|no|enforce|trust|skip|use|allow|log)(?:[-_]|$)|--\w+-only$|-nkvo$|--jinja$"
    r"|--mlock$|--async-scheduling$|--\S+-embeddings?$"
)
_LEVEL = rf"\d[\w.]*|{'|'.join(sorted(map(re.escape, terms.LEVELS)))}"


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, its level and where it stands."""

    name: str
    level: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Found:
    """What a text set: `words` where only words tell it. `spans` are all places that name a setting, also of others."""

    settings: tuple[Setting, ...] = ()
    command: Command | None = None
    spans: tuple[tuple[int, int], ...] = ()
    words: bool = False
    compared: bool = False
    levels: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.settings) or self.command is not None


def _blank(text: str, pattern: re.Pattern[str]) -> str:
    return pattern.sub(lambda m: " " * len(m[0]), text)


def _without_machines(brackets: re.Match[str]) -> str:
    return " " * len(brackets[0]) if terms.HARDWARE.search(brackets[0]) else brackets[0]


def _braces(text: str, begin: int) -> int:
    depth = 0
    for at in range(begin, min(len(text), begin + 600)):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return begin


def value_at(text: str, begin: int, code: bool) -> tuple[str, int]:
    """The value that begins there and where it ends; nothing where no value stands there."""
    if begin >= len(text):
        return "", begin
    if text[begin] in "'\"":
        end = text.find(text[begin], begin + 1)
        if begin < end < begin + 600:
            return text[begin + 1 : end], end + 1
        return "", begin
    if text[begin] in "{[":
        end = _braces(text, begin)
        return text[begin:end], end
    found = re.compile(r"[^\s`→➜]+").match(text, begin)
    if found is None:
        return "", begin
    word = found[0]
    if "(" not in word:
        word = word.rstrip(")")
    stripped = word.rstrip(".,;:!?*|\"'" if not code else ",;")
    return stripped, begin + len(stripped)


def _is_level(value: str, rest: str, name: str, code: bool, known: Mapping[str, str]) -> bool:
    """Whether a word after a flag is its level, in prose."""
    if not value or (value.startswith("-") and not re.fullmatch(r"-\d+(?:\.\d+)?", value)):
        return False
    if _BOOLEAN.match(name) and known.get(name, PRESENT) == PRESENT:
        return value.lower() in ("true", "false") or (value[0] in "{[") or (code and value.lower() in ("on", "off"))
    if re.match(rf"\s?{terms.UNITS}", rest) and value[0] in "-0123456789" and not code:
        return False
    if value in ("+", "&", "=", "/", "x", "X", "->", "=>", "and", "with", "|", "==", "~", "(", "-"):
        return False
    if value[0] in "({<[\u2192" and value[0] not in "{[":
        return False
    lower = value.lower()
    if code:
        return True
    if lower in terms.LEVELS:
        return True
    if lower in terms.STOP_WORDS or not re.search(r"\w", value):
        return False
    if re.search(r"[\d_/.]", value[1:] or value) or value.isdigit():
        return True
    return not re.match(r"[a-z]+ing$|[a-z]+ed$", lower)


def _read_flags(text: str, known: Mapping[str, str]) -> list[Setting]:
    found: list[Setting] = []
    for one in _FLAG.finditer(text):
        if found and one.start("name") < found[-1].end and found[-1].name != one["name"]:
            continue
        name = one["name"]
        code = text.count("`", 0, one.start()) % 2 == 1
        short = not name.startswith("--")
        if (
            short
            and not code
            and name not in known
            and re.match(r"-[a-z]{4,}$", name)
            and name not in ("-nkvo", "-cmoe")
        ):
            continue
        end = one.end()
        level = PRESENT
        after = re.compile(r"=|\s+").match(text, end)
        to = _TO.match(text, end)
        if after and after[0] == "=":
            level, end = value_at(text, after.end(), code)
        elif after and after[0].count(" ") < 2:
            value, stop = value_at(text, after.end(), code)
            if _is_level(value, text[stop : stop + 12], name, code, known):
                level, end = value, stop
            elif to and not _BOOLEAN.match(name):
                value, stop = value_at(text, to.end(), True)
                value = value.rstrip(".:!")
                if value and (re.match(r"-?\d", value) or value.lower() in terms.LEVELS or text[to.end() - 1] == "`"):
                    level, end = value, stop
        elif to and text[end : end + 1] == "`" and not _BOOLEAN.match(name):
            inside = text[to.end() - 1] == "`"
            value, stop = value_at(text, to.end(), inside)
            value = value.rstrip(".:!")
            plain = re.match(r"`\s*(?:=|to|->|→|down to|up to|at)\s", text[end:]) is not None
            if plain and (inside or re.match(r"-?\d", value) or value.lower() in terms.LEVELS):
                level, end = value, stop
        if short and level == PRESENT and not code and name not in known and len(name) < 3 and name[1] in "aisAI":
            continue
        if text[end : end + 2] == "-*" or text[end : end + 1] == "*":
            found += [Setting(n, PRESENT, one.start("name"), end + 2) for n in known if n.startswith(name)]
            continue
        onward = _ONWARD.match(text, end) if level != PRESENT else None
        if onward and (onward["level"][0].isdigit() or onward["level"].lower() in terms.LEVELS):
            level, end = onward["level"], onward.end()
        found.append(Setting(name, level or PRESENT, one.start("name"), end))
    return found


def _read_variables(text: str, taken: list[Setting]) -> list[Setting]:
    found: list[Setting] = []
    for one in _VARIABLE.finditer(text):
        if any(s.begin <= one.start() < s.end for s in (*taken, *found)):
            continue
        code = text.count("`", 0, one.start()) % 2 == 1
        value, end = value_at(text, one.end(), code)
        value = value if code else value.rstrip(".:")
        if value and len(one["name"]) > 1:
            found.append(Setting(one["name"], value, one.start(), end))
    for one in itertools.chain(_ARROW.finditer(text), _SET_TO.finditer(text)):
        if not any(s.begin < one.end() and one.start() < s.end for s in (*taken, *found)):
            found.append(Setting(one["name"], one["level"], one.start("name"), one.end()))
    for one in _KEY.finditer(text):
        if not any(s.begin <= one.start() < s.end for s in (*taken, *found)):
            found.append(Setting(one["name"], one["level"], one.start("name"), one.end()))
    return found


def _read_packages(text: str, taken: list[Setting]) -> list[Setting]:
    found: list[Setting] = []
    for one in _PACKAGE.finditer(text):
        name = one["name"].lower()
        if any(s.begin <= one.start() < s.end for s in taken):
            continue
        level = one["level"].rstrip(".-+")
        if one["level"].isdigit() and not name.startswith("commit"):
            continue
        found.append(Setting(name, level, one.start(), one.end()))
    if not found and not taken and (commit := _COMMIT.search(text)):
        found.append(Setting("commit", commit["level"], commit.start("level"), commit.end()))
    return found


def _weighed(text: str, read: list[Setting]) -> tuple[list[Setting], bool]:
    """The settings for what stands around them; and whether others were only compared with."""
    kept: list[Setting] = []
    compared = False
    gone_until = -1
    for one in read:
        before = text[max(0, one.begin - 40) : one.begin]
        following = text[one.end : one.end + 40]
        chained = gone_until >= 0 and re.fullmatch(
            r"[`'\")]*\s*(?:,|and|and the|or|/|&|\+|und|,\s*and)?\s*[`'\"(]*", text[gone_until : one.begin]
        )
        dashed = one.name.startswith("-")
        if (terms.ALTERNATIVE.search(before) and not (re.search(r"(?i)back\W*(?:to )?$", before) and not dashed)) or (
            dashed and (terms.RESTORED.match(following) or re.search(r"(?i)\b(?:again|back in|back on)[`\s]*$", before))
        ):
            compared = True
        elif (
            (terms.REMOVAL.search(before) and not re.search(r"(?i)(?:\bno|disabled?|lost|less)\W*$", before))
            or (re.search(r"(?i)\bno[ `]*$", before) and (dashed or one.name.isupper()))
            or (chained and dashed)
            or (dashed and terms.REMOVED.match(following) and one.level in (PRESENT, "off"))
        ) and not re.search(r"\bto\b", text[one.begin : one.end]):
            kept.append(Setting(one.name, ABSENT, one.begin, one.end))
            gone_until = one.end
            continue
        else:
            kept.append(one)
        gone_until = -1
    return kept, compared


def changes_in(text: str, known: Mapping[str, str] | None = None) -> Found:
    """What a text says was set, in its order. `known` are the settings of the command as deployed."""
    known = known or {}
    command = command_in(text)
    if command is not None:
        return Found((), command, ((command.begin, command.end),))
    masked = _blank(_blank(text, _QUOTED), _MESSAGE)
    masked = _CLIENT.sub(lambda m: " " * len(m[0]) if terms.OTHER_PROGRAM.match(m["inside"]) else m[0], masked)
    read = _read_flags(masked, known)
    read += _read_variables(masked, read)
    read += _read_packages(_BRACKETS.sub(_without_machines, masked), read)
    read.sort(key=lambda s: s.begin)
    spans = tuple((s.begin, s.end) for s in read)
    kept, compared = _weighed(masked, read)
    hard = [s for s in kept if s.name not in terms.MINOR_PACKAGES or s.name in ("release", "wheel")]
    if kept or read:
        return Found(tuple(hard or kept), None, spans, compared=compared)
    return _in_words(masked, known)


def _in_words(text: str, known: Mapping[str, str]) -> Found:
    """Switches of features in words, or a flag of the command by the words of its name."""
    found: list[Setting] = []
    for one in _SWITCH.finditer(text):
        feature = one["a"] or one["b"] or one["c"]
        told = (one["x"] or one["z"] or one["y"]).lower()
        level = "on" if re.search(r"\bon|enabl", told) else "off"
        name = re.sub(r"[\s\-.]+", "_", feature.lower())
        name = {"cuda_graph": "cuda_graphs"}.get(name, name)
        if not re.match(r"\s*(?:again|back)", text[one.end() :]):
            found.append(Setting(name, level, one.start(), one.end()))
    if not found and (amount := _AMOUNT.search(text)):
        name = re.sub(r"\W", "_", amount["name"].lower())
        found.append(Setting(name, amount["level"], amount.start(), amount.end()))
    for name, level in known.items():
        if found or not name.startswith("-") or level == PRESENT:
            continue
        spelled = re.escape(name.lstrip("-")).replace(r"\-", "[ _-]").replace("_", "[ _-]")
        given = re.search(rf"(?i)(?<![\w\-]){spelled}\s*(?:=|to|:)?\s*(?P<level>{_LEVEL})(?![\w\-])", text)
        if given:
            found.append(Setting(name, given["level"], given.start(), given.end()))
    spans = tuple((s.begin, s.end) for s in found)
    return Found(tuple(found), None, spans, words=True)
