"""How fast `ruleout diagnose` answers on a gigabyte, beside grep and ripgrep with the same patterns.

CPU time counts, because machines are shared; wall time stands beside it. Run it with `make bench-reading`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import logs
import patterns

HERE = Path(__file__).parent
MORE = 200
SPARSE, DENSE = 20_000, 5
"""One line in so many looks like a failure."""


@dataclass(frozen=True)
class Run:
    """What a process took: seconds, and its peak of memory in MB."""

    cpu: float
    wall: float
    peak: float
    status: int


def measure(command: list[str], environment: Mapping[str, str]) -> Run:
    """Run a command to its end. Its output goes to a file: grep would stop early for /dev/null."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        return _measure(command, environment, output.fileno(), began)


def _measure(command: list[str], environment: Mapping[str, str], output: int, began: float) -> Run:
    actions = [(os.POSIX_SPAWN_DUP2, output, 1)]
    pid = os.posix_spawn(command[0], command, {**os.environ, **environment}, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - began
    return Run(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status))


def contenders(folder: Path) -> dict[str, tuple[list[str], dict[str, str]]]:
    """The commands, without the log's name; those that are not installed are left out with a word."""
    asked = patterns.patterns(logs.ordinary())
    (folder / "rust").write_text("\n".join(map(patterns.rust, asked)) + "\n")
    said = []
    for pattern in asked:
        try:
            said.append(patterns.extended(pattern))
        except (ValueError, KeyError):
            print(f"  grep cannot say {pattern!r}; it looks for one pattern less")
    (folder / "ere").write_text("\n".join(said) + "\n")
    print(f"{len(asked)} patterns for grep and ripgrep")
    found: dict[str, tuple[list[str], dict[str, str]]] = {
        "ruleout diagnose": ([sys.executable, "-m", "ruleout", "diagnose"], {}),
        f"  with {MORE} patterns more": ([sys.executable, str(HERE / "more.py"), str(MORE)], {}),
    }
    if grep := shutil.which("grep"):
        found["grep -E -c"] = [grep, "-E", "-c", "-a", "-f", str(folder / "ere")], {"LC_ALL": "C"}
    if ripgrep := shutil.which("rg"):
        found["rg -j1 -c"] = [ripgrep, "-j1", "-c", "-a", "--no-unicode", "-f", str(folder / "rust")], {}
    else:
        print("  ripgrep is not installed: left out")
    return found


def main() -> None:
    """Print a table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--megabytes", type=int, default=1000)
    asked.add_argument("--repeat", type=int, default=2, help="the best of so many runs counts")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="ruleout-bench-") as name:
        folder = Path(name)
        commands = contenders(folder)
        short = folder / "short.log"
        logs.write(short, 20_000, SPARSE)
        start = min(
            (measure([*commands["ruleout diagnose"][0], str(short)], {}) for _ in range(5)), key=lambda r: r.wall
        )
        print(f"200 lines: {start.wall:.2f} s of wall time, {start.cpu:.2f} s of CPU time, {start.peak:.0f} MB")
        for kind, one_in in (("sparse", SPARSE), ("dense (one line in five)", DENSE)):
            path = folder / "server.log"
            logs.write(path, given.megabytes * 1_000_000, one_in)
            size = path.stat().st_size / 1e6
            print(
                f"\n{kind}, {size:.0f} MB\n  {'':<30}{'MB/s of CPU':>12}{'MB/s of wall':>14}{'peak MB':>9}{'ratio':>7}"
            )
            first = 0.0
            for label, (command, environment) in commands.items():
                runs = [measure([*command, str(path)], environment) for _ in range(given.repeat)]
                best = min(runs, key=lambda run: run.cpu)
                first = first or best.cpu
                failed = "" if best.status == 0 else f"  exit {best.status}"
                print(
                    f"  {label:<30}{size / best.cpu:>12.0f}{size / best.wall:>14.0f}{best.peak:>9.0f}"
                    f"{best.cpu / first:>7.2f}{failed}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
