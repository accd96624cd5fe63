"""What the installed engine's own `--help` lists: flags and the levels they take in this very release.

Asked once for each installation, in the engine's own environment, and kept in the cache folder. Help is a convenience:
whatever goes wrong, there is none, and the shipped table holds.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
        kept = cache_folder() / "help" / f"{_mark(path, program)}.json"
        if kept.is_file():
            return parsed(json.loads(kept.read_text(encoding="utf-8"))["text"])
        if not ask:
            return None
        text = _asked([*program, *_WORDS.get(engine, ("--help",))], whole, cwd)
        if text is None:
            return None
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({"program": list(program), "text": text}), encoding="utf-8")
        part.replace(kept)
        return parsed(text)
    return None


def _mark(path: str, program: Sequence[str]) -> str:
    """Changes when the program does, or what is installed beside it."""
    here = Path(path)
    packages = sorted(here.parent.parent.glob("lib/python3*/site-packages"))
    times = [place.stat().st_mtime_ns for place in (here, *packages)]
    return hashlib.sha256(json.dumps([str(here), list(program), times]).encode()).hexdigest()[:24]


def _asked(argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> str | None:
    """What a program prints; None when it fails or takes too long. Nothing of it is left running."""
    running = subprocess.Popen(
        argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        text = running.communicate(timeout=PATIENCE_S)[0]
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        assert running.stdout is not None
        running.stdout.close()
    return text if running.returncode == 0 else None
