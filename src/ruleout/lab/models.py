"""The demo's checkpoints, built by the engine's own libraries and kept in the cache folder.

They are not downloaded, so the demo needs no account and no model hub, and every bit of them is known.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ruleout.engines.environments import Environment
from ruleout.engines.making import Progress, cache_folder, make_once, run_logged, silent
from ruleout.model import MissingError

_BUILDER = Path(__file__).with_name("build_tiny.py")


def tiny_models(environment: Environment, progress: Progress = silent) -> Path:
    """The folder that holds `glm-tiny` and `llama-tiny`, from the cache or built now.

    Raises MissingError when they cannot be built; the log is then beside the folder.
    """
    digest = hashlib.sha256(environment.folder.name.encode() + _BUILDER.read_bytes()).hexdigest()
    folder = cache_folder() / "lab" / "models" / digest[:12]
    make_once(folder, digest, lambda lock: _build(folder, environment, lock, progress), progress)
    return folder


def _build(folder: Path, environment: Environment, lock: int, progress: Progress) -> None:
    log = folder.with_name(f"{folder.name}.log")
    log.write_text("")
    progress("building the tiny models glm-tiny and llama-tiny")
    folder.mkdir()
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    argv = [str(environment.python), str(_BUILDER), str(folder)]
    if run_logged(argv, log, lock=lock, env=env):
        raise MissingError(
            f"the tiny models could not be built (log: {log})",
            f"Remove {environment.folder} so that the environment is made anew, and run the same command again.",
        )
