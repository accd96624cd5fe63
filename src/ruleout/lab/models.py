"""The practice checkpoints, built by the engine's own libraries and kept in the cache folder.

They are not downloaded, so nothing needs an account or a model hub, and every bit of them is known.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ruleout.engines.environments import Environment
from ruleout.engines.making import Progress, cache_folder, make_once, run_logged, silent
from ruleout.model import MissingError, UsageError

_TINY = Path(__file__).with_name("build_tiny.py")
_PRACTICE = Path(__file__).with_name("build_practice.py")


def tiny_models(environment: Environment, progress: Progress = silent) -> Path:
    """The folder that holds `glm-tiny` and `llama-tiny`, from the cache or built now.

    Raises MissingError when they cannot be built; the log is then beside the folder.
    """
    digest = hashlib.sha256(environment.folder.name.encode() + _TINY.read_bytes()).hexdigest()
    return _built(digest, "the tiny models glm-tiny and llama-tiny", environment, [str(_TINY)], progress)


def practice_models(environment: Environment, progress: Progress = silent) -> Path:
    """The folder with checkpoints that fail, from the cache or built now; `build_practice.py` says which they are.

    Raises MissingError when they cannot be built; the log is then beside the folder.
    """
    tiny = tiny_models(environment, progress)
    digest = hashlib.sha256(tiny.name.encode() + _PRACTICE.read_bytes()).hexdigest()
    return _built(digest, "the practice models", environment, [str(_PRACTICE), str(tiny)], progress)


def practice_model(name: str, environment: Environment, progress: Progress = silent) -> Path:
    """The folder of one checkpoint, tiny or practice. Raises UsageError when there is none of that name."""
    folders = tiny_models(environment, progress), practice_models(environment, progress)
    known = {path.name: path for folder in folders for path in sorted(folder.iterdir()) if path.is_dir()}
    if name not in known:
        raise UsageError(f"{name}: no practice model of that name", f"Name one of {', '.join(known)}.")
    return known[name]


def _built(digest: str, what: str, environment: Environment, script: list[str], progress: Progress) -> Path:
    folder = cache_folder() / "lab" / "models" / digest[:12]

    def build(lock: int) -> None:
        log = folder.with_name(f"{folder.name}.log")
        log.write_text("")
        progress(f"building {what}")
        folder.mkdir()
        env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
        if run_logged([str(environment.python), *script, str(folder)], log, lock=lock, env=env):
            raise MissingError(
                f"{what} could not be built (log: {log})",
                f"Remove {environment.folder} so that the environment is made anew, and run the same command again.",
            )

    make_once(folder, digest, build, progress)
    return folder
