"""How near the audit's memory comes to what servers measured, and how fast it reads.

python -m benchmarks.audit --logs FOLDER… [--page docs/audit-measured.md] [--without-speed]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from benchmarks.audit import memory, speed

TRUTH = 425_664


def memory_lines(folders: list[Path]) -> list[str]:
    """The table of all logs that are there."""
    lines = ["| log | tokens printed | from the pool it prints | error | from configuration, host and flags | error |"]
    lines.append("|---|---|---|---|---|---|")
    notes = []
    for answer in memory.answers(folders):
        given = 100 * (answer.given_pool / answer.seen - 1)
        digit = "" if abs(given) <= 0.5 else " (the same to the digit it prints)" if answer.exact else " (!)"
        alone = "–" if answer.alone is None else f"{answer.alone:,}"
        error = "" if answer.alone is None else f"{100 * (answer.alone / answer.seen - 1):+.1f} %"
        name = answer.case.log.removesuffix(".log")
        lines.append(
            f"| {name} | {answer.seen:,} | {answer.given_pool:,} | {given:+.2f} %{digit} | {alone} | {error} |"
        )
        if answer.case.note:
            notes.append(f"- {name}: {answer.case.note}.")
    lines += [
        "",
        *notes,
        "",
        f"GLM-5 in NVFP4 on eight RTX PRO 6000, TP 8, where a deployment reported {TRUTH:,} tokens:",
        "",
    ]
    lines += ["| KV cache | tokens | error |", "|---|---|---|"]
    memory.glm5(lambda kind, found: lines.append(f"| {kind} | {found:,} | {100 * (found / TRUTH - 1):+.1f} % |"))
    return lines


def speed_lines(scratch: Path | None, gigabytes: float, rounds: int) -> list[str]:
    """Headers of 400 GB, and `--deep` beside dd."""
    lines = [
        f"On {os.cpu_count()} cores with a load of {os.getloadavg()[0]:.0f}; an audit is one thread, so alone it takes "
        "the time of the CPU.",
        "",
    ]
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        tensors, size = speed.sparse_checkpoint(Path(name))
        run = speed.audited(Path(name))
        lines.append(
            f"- Headers of {size / 1e9:.0f} GB, {tensors:,} tensors: {run.wall:.1f} s ({run.cpu:.1f} s of the CPU), "
            f"{run.peak:.0f} MB at most; findings: {', '.join(run.found) or 'none'}."
        )
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        speed.real_checkpoint(Path(name), int(gigabytes * 1e9))
        dd, deep, peak = speed.rates(Path(name), rounds)
        share = speed.best(deep) / speed.best(dd)
        lines.append(
            f"- `--deep` of a file of {gigabytes:g} GB, not in the page cache: {speed.best(deep):.2f} GB/s, dd "
            f"{speed.best(dd):.2f} GB/s ({share:.0%}; the best of {rounds} in turns), {peak:.0f} MB at most."
        )
    return lines


def main() -> None:
    """Measures, prints, and writes the page if one is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=Path, nargs="*", default=[], help="folders with servers' logs")
    parser.add_argument("--page", type=Path, help="write the page there")
    parser.add_argument("--scratch", type=Path, help="where files for the measurement go")
    parser.add_argument("--gigabytes", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without-speed", action="store_true")
    given = parser.parse_args()
    lines = ["# The audit, measured", "", "By `make bench-audit LOGS=…`; the logs are not part of this repository."]
    lines += ["", "## Memory", "", *memory_lines(given.logs)]
    if not given.without_speed:
        lines += ["", "## Speed", "", *speed_lines(given.scratch, given.gigabytes, given.rounds)]
    page = "\n".join(lines) + "\n"
    print(page)
    if given.page is not None:
        given.page.write_text(page)


if __name__ == "__main__":
    main()
