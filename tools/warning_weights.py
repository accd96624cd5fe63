"""Makes the table of warnings' weights from logs of servers: `tools/warning_weights.py [--output FILE] LOG…`.

Healthy and failing ones: a log in which nothing failed counts as healthy, the others up to their first failure. A LOG
may be a folder, whose `*.log` files are runs of their own. Only hashes and counts are kept. Without --output, it is the
table that ships with ruleout which is written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from ruleout.diagnosis.weights import counted, written  # noqa: E402
from ruleout.model import LogOutcome  # noqa: E402
from ruleout.reading.diagnose import read_facts  # noqa: E402

TABLE = ROOT / "src" / "ruleout" / "diagnosis" / "warnings.json"


def main() -> int:
    """Write the table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("logs", metavar="LOG", nargs="+", type=Path)
    asked.add_argument("--output", type=Path, default=TABLE, help="the file to write")
    given = asked.parse_args()
    paths = [path for log in given.logs for path in (sorted(log.glob("*.log")) if log.is_dir() else [log])]
    try:
        runs = [read_facts([path]) for path in paths]
        told = [run for run in runs if run.failure or run.outcome in (LogOutcome.HEALTHY, LogOutcome.STOPPED)]
        table = counted(told)
        given.output.write_text(written(table), encoding="utf-8")
    except OSError as problem:
        sys.stderr.write(f"{problem.filename}: {problem.strerror}\n  Name logs that can be read, or folders of them.\n")
        return 1
    healthy, failing = (sum(row[n] for row in table.runs.values()) for n in (0, 1))
    sys.stdout.write(f"{given.output}: {len(table.kinds)} kinds in {healthy} healthy and {failing} failing runs\n")
    if left := len(runs) - len(told):
        sys.stdout.write(f"{left} more say neither that they ran nor that they failed, and were left out\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
