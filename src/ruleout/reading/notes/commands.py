"""A server's command in a text, and what one changes against another."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ruleout.reading.notes.terms import PROGRAM

ABSENT, PRESENT = "absent", "present"
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_ENV_BEFORE = re.compile(r"(?:(?<=\s)|(?<=[`^$])|^)(?:env )?((?:[A-Z_][A-Za-z0-9_]*=\S*\s+)+)$")
_ENDS = re.compile(r"`|\s(?:=>|->|→|⇒|➜|#|\||&&|2>|>|&)(?:\s|$)|,\s+(?=[a-z(])|\s{2,}(?=[A-Z(]{2})|\s+\.{3,}\s")
_WHERE = frozenset({"--port", "--host"})


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its flags and variables with their levels, and the words as typed."""

    words: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    begin: int = 0
    end: int = 0

    def __str__(self) -> str:
        return shlex.join(self.words)

    def difference(self, other: Command) -> dict[str, str]:
        """What this one has otherwise."""
        mine, theirs = self.settings, other.settings
        changed = {n: level for n, level in mine.items() if theirs.get(n) != level}
        gone = {n: ABSENT for n in theirs if n not in mine and n != "model"}
        return {n: level for n, level in {**changed, **gone}.items() if n not in _WHERE}


def is_value(word: str) -> bool:
    """Whether a word can be the value of the flag before it."""
    return not word.startswith("-") or re.fullmatch(r"-\d+(?:\.\d+)?", word) is not None


def command_in(text: str, exported: Mapping[str, str] | None = None) -> Command | None:
    """The first command in the text that starts a server, with what was exported before it."""
    found = PROGRAM.search(text)
    if found is None:
        return None
    before = _ENV_BEFORE.search(text[: found.start()])
    begin = before.start(1) if before else found.start()
    ends = _ENDS.search(text, found.end())
    end = ends.start() if ends else len(text)
    try:
        words = shlex.split(text[begin:end])
    except ValueError:
        words = text[begin:end].split()
    settings: dict[str, str] = dict(exported or {})
    program = False
    flag = ""
    started = PROGRAM.search(text, begin)
    bare = len((started[0] if started else "").split())
    positional = 0
    for word in words:
        variable = _VARIABLE.fullmatch(word)
        if not program and variable:
            settings[variable[1]] = variable[2]
            continue
        if not program:
            program = True
        if bare > 0:
            bare -= 1
            continue
        if not is_value(word):
            flag, given, value = word.partition("=")
            settings[flag] = value if given else PRESENT
        elif flag and settings[flag] == PRESENT:
            settings[flag] = word
        elif flag and "=" in word:
            settings[flag] += f" {word}"
        elif positional == 0:
            settings["model"], positional = word, 1
        elif positional:
            break
    named = len((started[0] if started else "").split())
    plain = [word for word in words[named:] if not word.startswith("-")]
    if len(words) <= named or (
        not any(word.startswith("-") for word in words[named:])
        and (len(plain) > 1 or (not re.search(r"[/$.\d]", plain[0]) and end < len(text.rstrip()) and text[end] != "`"))
    ):
        return None
    return Command(tuple(words), settings, begin, end)


def flags_of(words: Iterable[str]) -> dict[str, str]:
    """The flags in some words, as of a command whose program is not told."""
    settings: dict[str, str] = {}
    flag = ""
    for word in words:
        if not is_value(word):
            flag, given, value = word.partition("=")
            settings[flag] = value if given else PRESENT
        elif flag and settings[flag] == PRESENT:
            settings[flag] = word
    return settings
