"""Makes the table of warnings' weights from logs of servers: `tools/warning_weights.py LOG…`, healthy and failing ones.

Only hashes and counts are kept. A log in which nothing failed counts as healthy; the others up to their first failure.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from ruleout.diagnosis.weights import counted, written  # noqa: E402
from ruleout.reading.diagnose import read_facts  # noqa: E402

TABLE = ROOT / "src" / "ruleout" / "diagnosis" / "warnings.json"


def main() -> int:
    """Write the table."""
    TABLE.write_text(written(counted(read_facts([Path(name)]) for name in sys.argv[1:])), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
