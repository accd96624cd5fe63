"""What the installed engine's own `--help` lists: flags and the levels they take in this very release.

Asked once for each installation, in the engine's own environment, and kept in the cache folder. Help is a convenience:
whatever goes wrong, there is none, and the shipped table holds.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ruleout.engines.asking import mark, output_of
from ruleout.engines.making import cache_folder

PATIENCE_S = 90.0
"""Engines import torch before they print their help."""
_WORDS: Mapping[str, tuple[str, ...]] = {"vllm": ("--help=all",)}
_FLAG = re.compile(r"(?<![\w-])(--[a-zA-Z][\w-]*)")
_CHOICES = re.compile(r"(?<![\w-])(--[a-zA-Z][\w-]*)\s+(?:\{([^{}\s]+)\}|\[((?:'[\w.\-]+'(?:, )?)+)\])")
_LEAST = 5
"""Fewer flags than that are no help of a serving engine, but a complaint."""


@dataclass(frozen=True, slots=True)
class Help:
    """The flags of an engine, and the levels of those that take one of a list."""

    flags: frozenset[str]
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def parsed(text: str) -> Help | None:
    """The help in a text; None when it is none."""
    flags = frozenset(_FLAG.findall(text))
    if len(flags) < _LEAST:
        return None
    choices: dict[str, tuple[str, ...]] = {}
    for flag, braces, brackets in _CHOICES.findall(text):
        levels = braces.split(",") if braces else re.findall(r"'([^']+)'", brackets)
        choices.setdefault(flag, tuple(dict.fromkeys(levels)))
    return Help(flags, choices)


def help_of(
    engine: str, program: Sequence[str], env: Mapping[str, str], cwd: str | None = None, *, ask: bool = True
) -> Help | None:
    """The help of an installed engine; None when its program is not there or does not answer in time.

    Args:
        program: how the engine is called, without arguments.
        env: what the deployment sets besides.
        ask: run the program; otherwise only what was kept is given.
    """
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        whole = {**os.environ, **env}
        path = shutil.which(program[0], path=whole.get("PATH")) if program else None
        if path is None:
            return None
        kept = cache_folder() / "help" / f"{mark(path, program)}.json"
        if kept.is_file():
            return parsed(json.loads(kept.read_text(encoding="utf-8"))["text"])
        if not ask:
            return None
        text = output_of([*program, *_WORDS.get(engine, ("--help",))], whole, cwd, PATIENCE_S)
        if text is None:
            return None
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({"program": list(program), "text": text}), encoding="utf-8")
        part.replace(kept)
        return parsed(text)
    return None
