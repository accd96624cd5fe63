"""An installed program is asked a question, in its own environment and with a deadline; nothing of it stays running."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def output_of(argv: Sequence[str], env: Mapping[str, str], cwd: str | None, seconds: float) -> str | None:
    """What a program prints; None when it fails or takes longer. Raises OSError when it cannot be started."""
    running = subprocess.Popen(
        argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8", errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        text = running.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        assert running.stdout is not None
        running.stdout.close()
    return text if running.returncode == 0 else None


def mark(path: str, words: Sequence[str]) -> str:
    """Of a question to a program: changes when the program does, or what is installed beside it."""
    here = Path(path)
    packages = sorted(here.parent.parent.glob("lib/python3*/site-packages"))
    times = [place.stat().st_mtime_ns for place in (here, *packages)]
    return hashlib.sha256(json.dumps([str(here), list(words), times]).encode()).hexdigest()[:24]
