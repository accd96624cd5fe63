"""An engine's own virtual environment, made from pinned requirements in the cache folder and kept.

Steps are installed one after the other, because some packages decide by what is already there: torch comes first so
that nothing else picks its build. pip's own configuration (indexes, proxies) is honoured.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from ruleout.engines.making import Progress, cache_folder, make_once, run_logged, silent
from ruleout.model import MissingError


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an environment is made of. `steps` are pip requirements, a group installed at a time."""

    engine: str
    version: str
    steps: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """Also the name of its folder."""
        return f"{self.engine}-{self.version}"

    @property
    def digest(self) -> str:
        """Changes with everything that matters to what is installed."""
        return hashlib.sha256(json.dumps([self.name, self.steps]).encode()).hexdigest()


TRANSFORMERS_5_2_0 = Recipe(
    engine="transformers",
    version="5.2.0",
    steps=(
        ("torch==2.13.0",),
        (
            "transformers[serving]==5.2.0",
            "accelerate==1.15.0",
            "fastapi==0.165.0",
            "huggingface-hub==1.33.0",
            "numpy==2.4.6",
            "openai==3.57.0",
            "pydantic==2.14.4",
            "safetensors==0.8.0",
            "starlette==1.10.0",
            "tokenizers==0.22.2",
            "typer==0.29.2",
            "typer-slim==0.24.0",
            "uvicorn==0.54.0",
        ),
    ),
)
"""As measured: 1.2 GB and 40 s where torch comes without CUDA; several times that where it comes with it."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment that is there."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def script(self, name: str) -> Path:
        """One of its console scripts."""
        return self.folder / "bin" / name


def environment(recipe: Recipe, progress: Progress = silent, python: str = sys.executable) -> Environment:
    """The environment of a recipe, from the cache or made now.

    Args:
        python: the interpreter it is made with (3.11 or later).

    Raises MissingError when it cannot be made; the log is then beside it.
    """
    root = cache_folder() / "engines"
    made = Environment(root / recipe.name)
    make_once(
        made.folder,
        recipe.digest,
        lambda lock: _make(recipe, made, python, lock, progress),
        progress,
        intact=lambda: os.access(made.python, os.X_OK),  # not so once the Python it was made with is removed
    )
    return made


_MISLEADING = frozenset({"PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"})
"""Variables that would put packages elsewhere than into the environment, or bring in others."""


def _make(recipe: Recipe, made: Environment, python: str, lock: int, progress: Progress) -> None:
    log = made.folder.with_name(f"{recipe.name}.log")
    log.write_text("")
    env = {key: value for key, value in os.environ.items() if key not in _MISLEADING}
    env |= {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUNBUFFERED": "1"}
    progress(f"making the environment of {recipe.engine} {recipe.version}")
    if run_logged([python, "-m", "venv", str(made.folder)], log, lock=lock, env=env):
        raise MissingError(
            f"{python} cannot make a virtual environment (log: {log})",
            "Install its venv module (Debian, Ubuntu: the package python3-venv), or run ruleout with another Python.",
        )

    def tell(line: str) -> None:
        if line.startswith(("Collecting ", "Installing ")):
            progress(f"{recipe.name}: {line.split(' (')[0].split(': ')[0].lower()}")

    for step in recipe.steps:
        argv = [str(made.python), "-m", "pip", "install", "--no-input", "--progress-bar", "off", *step]
        if run_logged(argv, log, lock=lock, env=env, line=tell):
            raise MissingError(
                f"pip could not install {' '.join(step)} for {recipe.engine} (log: {log})",
                f"{_remedy(log)} Then run the same command again.",
            )


def _remedy(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")
    if "No space left" in text or "Disk quota exceeded" in text:
        return f"Make room on the disk of {log.parent}, or set RULEOUT_CACHE_DIR to a folder with room."
    if "No matching distribution" in text and "Failed to establish" not in text and "resolution" not in text:
        return "Its package index has no such version for this Python: run ruleout with Python 3.11 to 3.13."
    return (
        "Check that the network or a package index is reached (pip's configuration is honoured) and the disk has room."
    )
