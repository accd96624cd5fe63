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
    """The tables of all logs that are there, and what they come to."""
    answers = list(memory.answers(folders))
    notes = [f"- {_name(answer)}: {answer.case.note}." for answer in answers if answer.case.note]
    return [*_given_lines(answers), "", *_alone_lines(answers), "", *notes, "", *_glm5_lines()]


def _given_lines(answers: list[memory.Answer]) -> list[str]:
    lines = [
        "Given the pool that a log prints, the tokens that it keeps. The log rounds: pools between which it prints the "
        "same keep so many tokens as the fourth column says.",
        "",
        "| log | tokens printed | from the pool | by the rounding of the log | error |",
        "|---|---|---|---|---|",
    ]
    near, excused = 0, []
    for answer in answers:
        error, (low, high) = answer.given_pool / answer.seen - 1, answer.rounded
        near += abs(error) <= 0.005
        if abs(error) > 0.005 and low <= answer.seen <= high:
            excused.append(f"{_name(answer)} (its rounding alone is ±{50 * (high - low) / answer.seen:.1f} %)")
        rounded = f"{low:,} to {high:,}"
        lines.append(
            f"| {_name(answer)} | {answer.seen:,} | {answer.given_pool:,} | {rounded} | {_percent(error, 2)} |"
        )
    told = f"; as near as the log says: {', '.join(excused)}" if excused else ""
    return [*lines, "", f"Within 0.5 %: {near} of {len(answers)}{told}."]


def _alone_lines(answers: list[memory.Answer]) -> list[str]:
    lines = [
        "From configuration, host and flags alone. The pool is what large numbers leave of each other, and some of "
        "them are measured, not computed: `between` is what the audit says for both ends of these. `off` is the error "
        "of the pool as a part of the host's memory.",
        "",
        "| log | tokens printed | from configuration, host and flags | between | off | error |",
        "|---|---|---|---|---|---|",
    ]
    near = 0
    inside: list[str] = []
    outside: list[str] = []
    for answer in answers:
        error, (low, high) = answer.alone / answer.seen - 1, answer.between
        near += abs(error) <= 0.15
        if abs(error) > 0.15:
            (inside if low <= answer.seen <= high else outside).append(_name(answer))
        off = "–" if answer.off is None else _percent(answer.off, 1)
        span = "–" if low == high else f"{low:,} to {high:,}"
        lines.append(
            f"| {_name(answer)} | {answer.seen:,} | {answer.alone:,} | {span} | {off} | {_percent(error, 1)} |"
        )
    lines += ["", f"Within 15 %: {near} of {len(answers)}."]
    lines += [f"Farther off, but between the ends: {', '.join(inside)}."] if inside else []
    lines += [f"Outside of both: {', '.join(outside)}."] if outside else []
    return lines


def _glm5_lines() -> list[str]:
    found = list(memory.glm5())
    nearest, tokens = min(found, key=lambda one: abs(one[1] - TRUTH))
    return [
        f"GLM-5 in NVFP4 on eight RTX PRO 6000, TP 8, where a deployment with SGLang reported {TRUTH:,} tokens: "
        f"nearest is {nearest}, {_percent(tokens / TRUTH - 1, 1)}.",
        "",
        "| KV cache | tokens | error |",
        "|---|---|---|",
        *(f"| {kind} | {count:,} | {_percent(count / TRUTH - 1, 1)} |" for kind, count in found),
    ]


def _name(answer: memory.Answer) -> str:
    return answer.case.log.removesuffix(".log")


def _percent(part: float, digits: int) -> str:
    return f"{100 * part:+.{digits}f} %"


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
