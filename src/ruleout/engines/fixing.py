"""Fix-ups of an installed environment: a fix-up that no longer fits what was installed is an error, not a no-op."""

from __future__ import annotations

import re
from pathlib import Path

from ruleout.engines.recipes import FixUp
from ruleout.model import MissingError


def fix(folder: Path, fixup: FixUp) -> None:
    """Carries out one fix-up in the virtual environment of that folder. Raises MissingError when it does not fit."""
    (packages,) = folder.glob("lib/python3*/site-packages")
    path = packages / fixup.path
    if fixup.text is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fixup.text, encoding="utf-8")
    if fixup.lines is not None:
        _switch_off(path, fixup)


def _switch_off(path: Path, fixup: FixUp) -> None:
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    after = re.sub(rf"(?m)^(?={fixup.lines})", "# ", before)
    if after == before:
        raise MissingError(
            f"the fix-up `{fixup.name}` does not fit what was installed: {path}",
            "Its package index has served another build than the one pinned: check which index pip uses.",
        )
    path.write_text(after, encoding="utf-8")
