"""The run's own command with a change in it, as text to copy: what is not changed stays as it was typed.

A flag that the command has already is replaced, wherever it stands and however it is written; what follows a pipe or a
redirection stays behind the new flags. Where it is not certain that the result would run, there is no result.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from ruleout.model import ABSENT, arguments

_TOKEN = re.compile(
    r"(?P<control>(?:(?<!\S)\d)?[|&;<>]+(?:(?<=>)&\d|(?<=>&)\d)?)|(?P<word>(?:[^\s'\"\\|&;<>]|\\.|'[^']*'|\"(?:\\.|[^\"\\])*\")+)"
    r"|\s+",
    re.DOTALL,
)
_JSON = re.compile(r"(?<!\S)[{\[]\"[^'\n]*?[}\]]+(?!\S)")
"""A value that a log printed without the quotes it was typed with."""
_GROUP = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\([^)]*\)|(?P<parenthesis>[()])")
_CONTAINERS, _OTHER_PLACES = frozenset({"docker", "podman"}), frozenset({"sudo", "ssh", "srun", "mpirun", "kubectl"})
_ALIASES = {"--flash-attn": ("-fa",), "--cache-type-k": ("-ctk",), "--cache-type-v": ("-ctv",), "--ctx-size": ("-c",)}


class Word(str):
    """A word of a command: its text as a program sees it, and as it was typed."""

    __slots__ = ("typed",)
    typed: str

    def __new__(cls, typed: str, text: str | None = None) -> Word:
        """The word `text`, typed as `typed`."""
        word = super().__new__(cls, typed if text is None else text)
        word.typed = typed
        return word


def changed(command: str, change: Mapping[str, str]) -> str:
    """The command with the change applied; empty where that is not certain to run.

    Args:
        change: levels by flag or variable. An empty level is a bare flag, `absent` takes a flag away.
    """
    command = _JSON.sub(
        lambda found: shlex.quote(found[0]), arguments.uncommented(command.strip().lstrip("$ ").replace("\\\n", " "))
    )
    if any(found["parenthesis"] for found in _GROUP.finditer(command)):
        return ""
    before, words, behind = _parted(command)
    if not words or arguments.shell_script(words):
        return ""
    for name, level in change.items():
        if arguments.variable(name):
            if (moved := _with_variable(words, name, level)) is None:
                return ""
            words = moved
        else:
            words = _with_flag(words, name, level)
    return " ".join(part for part in (before, " ".join(word.typed for word in words), behind) if part)


def _parted(command: str) -> tuple[str, list[Word], str]:
    """What stands before the program's own words, these, and what stands behind; no words where it cannot be told."""
    parts: list[tuple[int, int, list[Word]]] = [(0, 0, [])]
    end = 0
    for found in _TOKEN.finditer(command):
        if found.start() != end:
            return "", [], ""
        end = found.end()
        if found["control"]:
            parts.append((end, end, []))
        elif found["word"]:
            begin, _, words = parts[-1]
            parts[-1] = (begin if words else found.start(), end, [*words, _word(found["word"])])
    if end != len(command):
        return "", [], ""
    begin, stop, words = max(parts, key=lambda part: sum(word.startswith("--") for word in part[2]))
    return command[:begin].strip(), words, command[stop:].strip()


def _word(typed: str) -> Word:
    try:
        return Word(typed, "".join(shlex.split(typed)))
    except ValueError:
        return Word(typed)


def _with_flag(words: list[Word], flag: str, level: str) -> list[Word]:
    opposite = f"--{flag[5:]}" if flag.startswith("--no-") else ""
    bare = level == ""
    for spelling in (flag, flag[:2] + flag[2:].replace("-", "_"), *_ALIASES.get(flag, ()), opposite):
        if spelling:
            kept = arguments.without(words, spelling, lambda _: not bare)
            words = [word if isinstance(word, Word) else Word(word) for word in kept]
    if level == ABSENT:
        return words
    return [*words, Word(flag), *([] if bare else [Word(shlex.quote(level), level)])]


def _with_variable(words: list[Word], name: str, level: str) -> list[Word] | None:
    """The words with a variable set before the program; None where it would not reach the program."""
    begin = next((n for n, word in enumerate(words) if not re.match(r"[A-Za-z_]\w*=", word)), len(words))
    program = arguments.program(words[begin]) if begin < len(words) else ""
    if program in _OTHER_PLACES:
        return None
    setting = Word(f"{name}={shlex.quote(level)}", f"{name}={level}")
    if program in _CONTAINERS:
        place = next((n for n, word in enumerate(words) if word == "run"), None)
        return None if place is None else [*words[: place + 1], Word("-e"), setting, *words[place + 1 :]]
    return [setting, *(word for word in words if not word.startswith(f"{name}="))]
