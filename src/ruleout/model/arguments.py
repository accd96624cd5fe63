"""A command line seen as tokens. Only flags that are spelt out are touched: no abbreviations, no guessing.

The one thing that cannot be read from the tokens is whether a bare `--flag` owns the token after it; whoever asks for a
rewriting knows that from the flag's levels, and says so with `valued`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from ruleout.model.case import ABSENT

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
"""Programs that run a script: given as text, flags inside it are out of reach."""

FORWARDS = '"$@"'
"""How a shell's script ends that runs the words behind it."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]+")
_PYTHON = re.compile(r"python(\d+(\.\d+)?t?)?")
_NUMBER = re.compile(r"-\d+(\.\d*)?([eE][-+]?\d+)?|-\.\d+")


_COMMENT = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|(?P<comment>(?<!\S)#[^\n]*)", re.DOTALL)


def uncommented(command: str) -> str:
    """A shell command without its comments; a `#` inside of a word or of quotes is none."""
    return _COMMENT.sub(lambda found: "" if found["comment"] else found[0], command).rstrip()


def always(_: str) -> bool:
    """The flag takes a value, whatever it looks like."""
    return True


def never(_: str) -> bool:
    """The flag is a switch: what stands behind it is another argument."""
    return False


def is_value(token: str) -> bool:
    """Whether a token can be the value of the flag before it: it begins with no dash, or is a negative number."""
    return not token.startswith("-") or token == "-" or _NUMBER.fullmatch(token) is not None


def negation(flag: str) -> str | None:
    """`--no-f` of `--f`; None for flags that have no such form."""
    return f"--no-{flag[2:]}" if flag.startswith("--") else None


def without(argv: Sequence[str], flag: str, valued: Callable[[str], bool] = always) -> tuple[str, ...]:
    """The command with every `flag v`, `flag=v`, bare `flag` and `--no-flag` removed. The program itself stays.

    Args:
        valued: whether a token that follows a bare `flag` and can be a value is its value.
    """
    kept = list(argv[:1])
    rest = list(argv[1:])
    while rest:
        token = rest.pop(0)
        if token == flag:
            if rest and is_value(rest[0]) and valued(rest[0]):
                rest.pop(0)
        elif token != negation(flag) and not token.startswith(f"{flag}="):
            kept.append(token)
    return tuple(kept)


def value_of(argv: Sequence[str], flag: str) -> str | None:
    """The value that the command's last `flag v` or `flag=v` gives; None when there is none."""
    found = None
    for i, token in enumerate(argv[1:], start=1):
        if token.startswith(f"{flag}="):
            found = token.partition("=")[2]
        elif token == flag and i + 1 < len(argv) and is_value(argv[i + 1]):
            found = argv[i + 1]
    return found


def shell_script(argv: Sequence[str]) -> str | None:
    """The shell, when the command (or what a wrapper runs) is a script given as text: `bash -lc "…"`; else None.

    A script that ends in `"$@"` runs the words behind it as they are: that is no text any more.
    """
    at = script_position(argv)
    return None if at is None or argv[at].endswith(FORWARDS) else argv[shell_position(argv)]


def shell_position(argv: Sequence[str]) -> int:
    """Where the shell stands that is given a script as text; -1 where there is none."""
    for i, token in enumerate(argv):
        if program(token) in SHELLS and _script_after(argv, i) is not None:
            return i
    return -1


def script_position(argv: Sequence[str]) -> int | None:
    """Where the text of a shell's script stands; None where there is none."""
    shell = shell_position(argv)
    return None if shell < 0 else _script_after(argv, shell)


def _script_after(argv: Sequence[str], shell: int) -> int | None:
    for i, option in enumerate(argv[shell + 1 :], start=shell + 1):
        if not option.startswith("-") or option.startswith("--"):
            return None
        if "c" in option:
            return i + 1 if i + 1 < len(argv) else None
    return None


def program(token: str) -> str:
    """The name of a program without its folder."""
    return token.rstrip("/").rpartition("/")[2]


def program_ends(argv: Sequence[str]) -> int:
    """Where the arguments begin: a Python's own options, and its script or module, are no flags of the deployment."""
    if not argv or not _PYTHON.fullmatch(program(argv[0])):
        return 1
    at = 1
    while at < len(argv) and argv[at].startswith("-"):
        if argv[at] in ("-m", "-c"):
            return at + 2
        at += 2 if argv[at] in ("-W", "-X") else 1
    return at + 1


def variable(name: str) -> bool:
    """Whether the name of what is changed is that of an environment variable, not of a flag."""
    return _VARIABLE.fullmatch(name) is not None


def told(change: Mapping[str, str]) -> str:
    """A change in words to type: `--flag level`, `VARIABLE=value`, `without --flag`."""
    parts = [
        f"{name}={shlex.quote(level)}" if variable(name) else f"{name} {shlex.quote(level) if level else ''}".strip()
        for name, level in change.items()
        if level != ABSENT
    ]
    gone = [name for name, level in change.items() if level == ABSENT]
    if gone:
        parts.append(f"without {gone[0]}" + (f" and the other {len(gone) - 1} of its kind" if gone[1:] else ""))
    return " ".join(parts)
