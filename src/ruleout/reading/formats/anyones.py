"""What engines that nobody has written a format for say of their settings: they print structures, choices and lists.

`ZetaArgs(depth=2, store_kind='auto')`, "Setting store kind to q8", "invalid choice: 'x' (choose from 'a', 'b')" mean
the same whoever prints them. Settings read so are guesses, which count only where no format has read the engine's own;
lists of levels always do.
"""

from __future__ import annotations

import re

from ruleout.reading.book import Book
from ruleout.reading.formats.base import Says, Taken
from ruleout.reading.pairs import pairs, plain

FEWEST = 4
"""Pairs that make a printed structure a configuration."""
LEVELS, LONGEST = 64, 60
"""How many levels a list has at most, and how long one is."""
_LEVEL = re.compile(r"[A-Za-z0-9][\w.+\-]*")
_VALUE = r"(?P<value>[A-Za-z0-9][\w.+\-]*)"
_NAME = r"(?P<name>[A-Za-z][\w\-]*(?: [A-Za-z][\w\-]*){0,4}?)"
_VAGUE = frozenset({"choice", "choices", "value", "values", "option", "options", "argument", "arguments"})
"""What names no setting, since it might be any."""
_LEFT_OPEN = frozenset({"auto", "default", "None", "none", "be", "a", "the"})
"""What says that the engine is still to choose."""
_FILLING = frozenset({"the", "a", "an", "its", "default", "of", "for"})


def name_of(words: str) -> str:
    """A setting's name from what a sentence calls it: `KV cache dtype` is `kv_cache_dtype`."""
    kept = [word for word in re.split(r"[^A-Za-z0-9]+", words.lower()) if word and word not in _FILLING]
    return "_".join(kept)


def _structure(book: Book, groups: Taken, text: str, line: int) -> None:
    """A printed structure; an indented one is source code, or a part of something larger."""
    if text[:1].isspace():
        return
    found = {name: value for name, value in pairs(groups["dump"]) if name == name.lower()}
    if len(found) >= FEWEST:
        for name, value in found.items():
            book.guess(name, value, line)


def _chosen(book: Book, groups: Taken, text: str, line: int) -> None:
    name, value = name_of(groups["name"]), plain(groups["value"].rstrip(".,;"))
    if name and not text[:1].isspace() and value not in _LEFT_OPEN:
        book.guess(name, value, line, by_engine=True)


def _listed(book: Book, groups: Taken, text: str, line: int) -> None:
    listed = groups["levels"]
    bare = "'" not in listed and '"' not in listed
    found = re.split(r"[,\s]+", listed.strip("[](){} .")) if bare else re.findall(r"['\"]([^'\"]+)['\"]", listed)
    levels = list(dict.fromkeys(level for level in found if _LEVEL.fullmatch(level) and len(level) <= LONGEST))
    name = name_of(groups.get("flag", "") or groups.get("name", ""))
    if name and name not in _VAGUE:
        book.offer(name, groups.get("value", ""), [level for level in levels if level != "or"][:LEVELS], line)


SETTINGS: tuple[Says, ...] = (
    Says(r"[A-Za-z_]\w*\((?P<dump>[A-Za-z_]\w*=[^=].*, [A-Za-z_]\w*=[^=].*)", _structure, 20),
    Says(r"[A-Za-z_]\w*[=:] ?(?P<dump>\{['\"]\w+['\"]: .*, ['\"]\w+['\"]: .*)", _structure, 20),
    Says(
        rf"\b(?:[Ss]etting|[Cc]hanging|[Ff]orcing|[Ss]witching|[Oo]verriding|[Rr]esetting) {_NAME} to {_VALUE}", _chosen
    ),
    Says(
        rf"\b{_NAME} (?:is|was|has been) (?:automatically )?(?:set|changed|forced|switched|reset) to {_VALUE}", _chosen
    ),
    Says(rf"\b[Uu]s(?:e|ing) {_VALUE} as (?:the )?{_NAME}(?: (?:on|for|since|because|by)\b|[.,;]|$)", _chosen),
    Says(rf"\b[Uu]s(?:e|ing) {_VALUE} {_NAME} (?:by default|for|because|since)\b", _chosen),
)
"""Configurations and choices, by nobody's format."""

LISTS: tuple[Says, ...] = (
    Says(
        r"argument (?:-\w+/)?--(?P<flag>[\w\-]+)[^:]*: invalid [\w ]*: '?(?P<value>[^' ]*)'? "
        r"\((?:choose from|(?:possible values|choices)(?: are)?):? *(?P<levels>.+)\)",
        _listed,
    ),
    Says(r"(?:^|[\s\[])--(?P<flag>[\w\-]+)[ =]\{(?P<levels>[^{}\s]+,[^{}\s]+)\}", _listed, 400),
    Says(
        rf"(?:[Uu]nknown|[Ii]nvalid|[Uu]nsupported|[Uu]nrecognized) {_NAME}(?:: *['\"]?| ['\"]){_VALUE}"
        r"['\"]?\W.{0,40}?"
        r"(?:[Vv]alid|[Aa]vailable|[Ss]upported|[Aa]llowed|[Cc]hoose|one of)[\w ]*:? *(?P<levels>[\['\"A-Za-z].*)",
        _listed,
    ),
    Says(
        rf"\b[Uu]sing ['\"]?{_VALUE}['\"]? {_NAME} (?:out of|from|among) [\w ]*: *(?P<levels>\[[^\]]*\])",
        _listed,
    ),
    Says(rf"(?:[Aa]vailable|[Ss]upported|[Vv]alid) {_NAME}(?: are)?: *(?P<levels>\[[^\]]*\])", _listed),
    Says(rf"\b{_NAME} (?:must|should|has to) be one of:? *(?P<levels>[\[(].*[\])])", _listed),
)
"""Lists of levels."""
