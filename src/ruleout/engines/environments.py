"""An engine's own virtual environment, made from a recipe in the cache folder and kept once it has shown that it works.

Steps are installed one after the other, because some packages decide by what is already there: torch comes first so
that nothing else picks its build. pip's own configuration (indexes, proxies) is honoured.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ruleout.engines.fixing import fix
from ruleout.engines.making import Progress, cache_folder, is_made, make_once, run_logged, silent
from ruleout.engines.recipes import Proof, Recipe, recipe
from ruleout.model import MissingError

TRANSFORMERS_5_2_0 = recipe("transformers-5.2.0")
"""The demo's."""


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
    made = _environment(recipe)
    make_once(
        made.folder,
        recipe.digest,
        lambda lock: _make(recipe, made, python, lock, progress),
        progress,
        intact=lambda: _runs(made),
    )
    return made


def installed(recipe: Recipe) -> Environment | None:
    """The environment of a recipe if it is there, complete and of this recipe; None otherwise. Nothing is made."""
    made = _environment(recipe)
    return made if is_made(made.folder, recipe.digest) and _runs(made) else None


def _environment(recipe: Recipe) -> Environment:
    return Environment(cache_folder() / "engines" / recipe.name)


def _runs(made: Environment) -> bool:
    """Not so once the Python it was made with is removed."""
    return os.access(made.python, os.X_OK)


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
    for fixup in recipe.fixups:
        fix(made.folder, fixup)
    for proof in recipe.proofs:
        progress(f"{recipe.name}: does `{' '.join(proof.argv)}` work?")
        _prove(recipe, proof, made, log, lock, env)


def _prove(recipe: Recipe, proof: Proof, made: Environment, log: Path, lock: int, env: Mapping[str, str]) -> None:
    said: list[str] = []
    argv = [str(made.script(proof.argv[0])), *proof.argv[1:]]
    offline = {**env, "HF_HUB_OFFLINE": "1", "PYTHONNOUSERSITE": "1"}
    status = run_logged(argv, log, lock=lock, env=offline, cwd=made.folder, line=said.append)
    if status or not any(proof.says in line for line in said):
        wrong = f"ended with {status}" if status else f"does not say {proof.says}"
        raise MissingError(
            f"{recipe.name} is installed but does not work: `{' '.join(proof.argv)}` {wrong} (log: {log})",
            "The end of the log says why. The pins are for Linux with Python 3.11: try with that, or another index.",
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
