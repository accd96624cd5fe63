"""Makes from the rules' YAML the JSON that is loaded and the page that is read; `--check` only compares.

A test runs the check, so that neither can drift from the rules.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

import known_failures  # noqa: E402

from ruleout.diagnosis.catalogue import read_files  # noqa: E402
from ruleout.diagnosis.rulefile import read_rules  # noqa: E402

FOLDER = ROOT / "src" / "ruleout" / "diagnosis" / "rules"


def made() -> dict[Path, str]:
    """What is made, by its file: all rules in the order of files and lines."""
    paths = sorted(FOLDER.glob("*.yaml"))
    rules = read_files(paths)  # complains about what is there twice
    plain = [rule for path in paths for rule in read_rules(path)]
    return {
        FOLDER / "catalogue.json": json.dumps(plain, indent=1, ensure_ascii=False) + "\n",
        ROOT / "docs" / "known-failures.md": known_failures.page(rules),
    }


def main() -> int:
    """Write both, or with --check name those that are not current."""
    old = [path for path, text in made().items() if not (path.exists() and path.read_text(encoding="utf-8") == text)]
    if "--check" in sys.argv:
        for path in old:
            sys.stderr.write(f"{path.relative_to(ROOT)} is not what the rules say: run tools/rules.py\n")
        return 1 if old else 0
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
