"""A whole command in notes, and what another one has other than it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from ruleout.model import ABSENT, PRESENT, UNSET, arguments

_PROGRAM = re.compile(
    r"(?:^|[\s/])(?:python[\d.]*\s+-m\s+(?:vllm|sglang|lmdeploy|tensorrt_llm|torch\.distributed)\S*|(?:vllm|sglang"
    r"|lmdeploy)\s+serve\b"
    r"|transformers\s+(?:serve|chat)\b|trtllm-\w+\s|llama-(?:server|cli|bench)\s|torchrun\s|accelerate\s+launch\s"
    r"|docker\s+run\s"
    r"|mpirun\s|srun\s|python[\d.]*\s+(?:-\w+\s+)*\S+\.py\b|launch_server\b)"
)
"""What a command that starts an engine has in it."""
_START = re.compile(r"^\s*(?:\(\w[\w.-]*\)\s*)?(?:[$#%❯>]\s+|\w[\w.-]*@[\w.-]+[^$#]*[$#]\s+)?")


def command_of(text: str) -> tuple[str, ...]:
    """The words of a text that is a command which starts an engine; none for any other text."""
    text = _START.sub("", arguments.uncommented(text)).strip()
    if not _PROGRAM.search(f" {text}") or len(text) > 8000:
        return ()
    words = split(text)
    begin = next((i for i, word in enumerate(words) if not re.fullmatch(r"export|env|exec|nohup|time|sudo", word)), 0)
    words = words[begin:]
    return tuple(words) if words and re.match(r"[A-Za-z./~][\w./~=:-]*$", words[0]) else ()


def settings(argv: Sequence[str]) -> dict[str, str]:
    """The flags and variables of a command, by name; values of one flag that stand in a row are joined."""
    found: dict[str, str] = {}
    words = list(argv)
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        found[name] = value
    program = arguments.program_ends(words)
    found["(program)"] = " ".join(words[:program])
    for name, value in options(words[program:]):
        found[name] = value
    return found


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """What one command has other than another. An ellipsis stands for the rest of the command."""
    changed = {name: level for name, level in after.items() if before.get(name) != level and name != "(program)"}
    whole = "..." not in after and "…" not in after.get("(rest)", "") and "..." not in after.get("(rest)", "")
    if whole:
        gone = (name for name in before if name not in after and name != "(program)")
        changed |= {name: ABSENT if name.startswith("-") else UNSET for name in gone if not name.startswith("(")}
    rest = changed.pop("(rest)", None)
    if rest is not None and whole:
        changed["model"] = rest
    return changed


def split(text: str) -> list[str]:
    """The words of a command, as a shell splits them where it can."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Flags with their values, and what is neither as `(rest)`."""
    rest = [word.rstrip(",;") for word in words]
    loose: list[str] = []
    while rest:
        word = rest.pop(0)
        if re.match(r"--?[A-Za-z]", word):
            name, equals, value = word.partition("=")
            values = [value] if equals else []
            while not equals and rest and arguments.is_value(rest[0]) and not re.match(r"[A-Z_]+=", rest[0]):
                values.append(rest.pop(0))
            yield name, " ".join(values) if values else PRESENT
        elif re.match(r"[A-Z][A-Z0-9_]*=", word):
            yield tuple(word.split("=", 1))  # type: ignore[misc]
        else:
            loose.append(word)
    if loose:
        yield "(rest)", " ".join(loose)
