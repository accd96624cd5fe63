"""`ruleout diagnose` with so many patterns more: `more.py COUNT LOG`. They are of the kind that formats have."""

from __future__ import annotations

import sys

from ruleout.interfaces.cli import main
from ruleout.reading import facts
from ruleout.reading.triggers import FAILURES

PARTS = (
    "scheduler",
    "allocator",
    "prefix",
    "radix",
    "draft",
    "expert",
    "router",
    "sampler",
    "kernel",
    "offload",
    "lora",
)


def more(count: int) -> list[str]:
    """Made-up patterns that no line of the benchmark's logs has."""
    parts = [(PARTS[n % len(PARTS)].capitalize(), PARTS[n // len(PARTS) % len(PARTS)], n) for n in range(count)]
    return [rf"{one} (?:{other}|state) {n} (?:could not|must not) be \w+" for one, other, n in parts]


if __name__ == "__main__":
    vars(facts)["FAILURES"] = (*FAILURES, *more(int(sys.argv[1])))
    main(["diagnose", *sys.argv[2:]])
