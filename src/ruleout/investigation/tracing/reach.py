"""A tracer that did not get into the process with the model saw nothing, which must not read like "nothing was wrong".

It travels by PYTHONPATH; what keeps that from a process is known: options of the interpreter, wrappers that clear the
environment, containers, programs that are not Python or do not use torch.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from ruleout.engines import recognise
from ruleout.model import Case, MissingError, arguments

_PYTHON = re.compile(r"python(\d+(\.\d+)?t?)?")
_SHUT = re.compile(r"-(?![WX])[A-Za-z]*[EIS][A-Za-z]*")
_TAKES_VALUE = frozenset({"-W", "-X", "-Q"})
_CONTAINER_RUNS = "a container, into which PYTHONPATH does not reach"


CARRIED = ("PYTHONPATH", "RULEOUT_TRACE_DIR", "RULEOUT_TRACE_MODE", "RULEOUT_TRACE_ARM")
"""The variables by which the tracer travels. A container that is given them, and its folder, is no obstacle."""


def refuse_unreachable(case: Case, folder: Path) -> None:
    """Raises MissingError for a command into which no tracer can get, before it is launched.

    `folder`: below which the tracer's files and records will be.
    """
    if case.engine == "llama.cpp":
        raise MissingError(
            "llama.cpp computes without torch, so there are no modules to trace",
            "Serve the model with another engine and trace that, or look into its log: ruleout diagnose.",
        )
    found = recognise(case.command)
    words = found.command[: found.begin + 1] if found.container else ()
    if found.container and not all(any(name in word for word in words) for name in CARRIED[:2]):
        passed = " ".join(f"-e {name}" for name in CARRIED)
        raise MissingError(
            f"the command runs in {_CONTAINER_RUNS}",
            f"Let it in: add `-v {folder}:{folder} {passed}` before the image; or run ruleout inside of the container.",
        )


def why_unheard(case: Case, pythons: int) -> tuple[str, str]:
    """Why no process with torch has reported, and what to do, in words.

    Args:
        pythons: how many Python processes carried the tracer without torch coming.
    """
    for reason, remedy in _reasons(case):
        return reason, remedy
    if pythons:
        told = "1 Python process carried it" if pythons == 1 else f"{pythons} Python processes carried it"
        return (
            f"{told}, and none imported torch",
            "Give the command that runs the model itself; an engine without torch cannot be traced.",
        )
    return (
        "none of its processes is a Python that reads PYTHONPATH",
        "Give the command that starts the engine's Python, without what sets up an environment of its own.",
    )


def _reasons(case: Case) -> Iterator[tuple[str, str]]:
    found = recognise(case.command)
    words = found.command
    option = _shut_by(words)
    if option:
        yield f"python {option} ignores PYTHONPATH", f"Leave out {option}."
    line = _shebang(case, words, found.begin)
    if line and (option := _shut_by(line)):
        yield (
            f"{words[found.begin]} begins with `#!{' '.join(line)}`, and {option} ignores PYTHONPATH",
            "Start it as a module: python -m …",
        )
    at = arguments.script_position(words)
    if at is not None and re.search(r"\bPYTHONPATH=", words[at]):
        yield (
            "the shell's script sets PYTHONPATH anew",
            "Set it before the command instead: PYTHONPATH=… in front of it is kept.",
        )
    if any(arguments.program(word) in ("docker", "podman", "nerdctl") for word in words):
        yield f"it runs in {_CONTAINER_RUNS}", "Run ruleout inside of the container."
    if any(arguments.program(a) == "env" and b in ("-i", "-", "--ignore-environment") for a, b in pairwise(words)):
        yield "env -i clears the environment", "Leave it out, or set the variables that are needed only."
    if any(arguments.program(word) == "sudo" for word in words[: found.begin]) and "-E" not in words[: found.begin]:
        yield "sudo clears the environment", "Leave it out, or call it as sudo -E."


def _shut_by(words: Sequence[str]) -> str:
    """The option of an interpreter that keeps PYTHONPATH or `site` out; empty where there is none."""
    for at, word in enumerate(words):
        if _PYTHON.fullmatch(arguments.program(word)):
            rest = iter(words[at + 1 :])
            for option in rest:
                if not option.startswith("-") or option in ("-m", "-c", "-"):
                    break
                if _SHUT.fullmatch(option):
                    return option
                if option in _TAKES_VALUE:
                    next(rest, None)
    return ""


def _shebang(case: Case, words: Sequence[str], begin: int) -> list[str]:
    """The first line of the program's script, as words."""
    path = shutil.which(words[begin], path=case.env.get("PATH", os.environ.get("PATH"))) if words else None
    try:
        with open(path or os.devnull, "rb") as file:
            line = file.readline(256)
    except OSError:
        return []
    return line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []
