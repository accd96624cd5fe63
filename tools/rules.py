"""Makes the catalogue's JSON from its YAML; `--check` only compares. A test runs the check."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from ruleout.diagnosis.catalogue import read_files  # noqa: E402
from ruleout.diagnosis.rulefile import read_rules  # noqa: E402

FOLDER = ROOT / "src" / "ruleout" / "diagnosis" / "rules"
PAGE = FOLDER / "catalogue.json"


def page() -> str:
    """All rules as JSON, in the order of files and lines."""
    paths = sorted(FOLDER.glob("*.yaml"))
    read_files(paths)  # complains about what is there twice
    return json.dumps([rule for path in paths for rule in read_rules(path)], indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the JSON, or with --check say whether it is current."""
    text = page()
    if "--check" in sys.argv:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
