"""What `ruleout diagnose` says of a log."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


class Diagnosed:
    """The parts of a diagnosis that tests compare."""

    def __init__(self, *logs: Path) -> None:
        out = subprocess.check_output([sys.executable, "-m", "ruleout", "diagnose", "--json", *map(str, logs)])
        self.document: dict[str, Any] = json.loads(out)
        failure: dict[str, Any] = self.document["failure"] or {}
        self.failure = failure.get("class"), self.document["stage"]
        self.message = str(failure.get("message"))
        self.suspect = next((s["component"] for s in self.document["suspects"]), None)

    def setting(self, name: str) -> dict[str, Any]:
        """A setting, as requested and as resolved."""
        return next(setting for setting in self.document["settings"] if setting["name"] == name)
