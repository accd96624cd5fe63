"""The simulated deployment: a command that serves, or fails as planted, with an engine's staged log.

`python -m benchmarks.planted.serve --scenario S.json --ledger L.jsonl [--FLAG LEVEL]…` exits 0 when its probe was
answered, otherwise 1. The ledger gets a line per launch: configuration, outcome, minutes. It is what is scored, not
what a tool says about its own trials.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.planted.failures import MASKS, STAGES, TARGETS, Shows
from benchmarks.planted.scenario import (
    CLEAN,
    FULL_TRIAL,
    MASKED,
    REPRODUCED,
    Config,
    Factor,
    Launch,
    Scenario,
    holds,
    loads,
)

ABSENT, PRESENT = "absent", "present"
UNTESTABLE = 125
"""The exit status by which `git bisect run` skips a revision."""


def shown(scenario: Scenario, config: Config, outcome: str) -> Shows | None:
    """The failure that a launch with this outcome prints."""
    if outcome == MASKED:
        mask = scenario.mask(config)
        assert mask is not None
        return MASKS[mask.failure]
    return TARGETS[scenario.failure] if outcome == REPRODUCED else None


def minutes(failure: Shows | None) -> float:
    """What a launch costs."""
    return FULL_TRIAL if failure is None else failure.minutes


def parse(scenario: Scenario, argv: Sequence[str]) -> dict[str, str]:
    """The configuration that the flags set. Raises ValueError for flags and levels that there are not."""
    flags = {factor.flag: factor for factor in scenario.factors}
    config = {factor.name: ABSENT if ABSENT in factor.levels else factor.baseline for factor in scenario.factors}
    words = list(argv)
    while words:
        flag = words.pop(0)
        if flag not in flags:
            raise ValueError(f"unrecognized arguments: {flag}")
        factor = flags[flag]
        level = PRESENT if PRESENT in factor.levels else words.pop(0) if words else ""
        if level not in factor.levels:
            raise ValueError(f"argument {flag}: invalid choice: {level!r}")
        config[factor.name] = level
    return config


def launched(ledger: Path) -> list[Launch]:
    """What the ledger says was launched so far."""
    return [Launch(**json.loads(line)) for line in ledger.read_text().splitlines()] if ledger.exists() else []


def log(scenario: Scenario, config: Config, failure: Shows | None) -> list[str]:
    """The log of a launch."""
    names = list(STAGES)
    reached = names if failure is None else names[: names.index(failure.stage) + 1]
    settings = ", ".join(_setting(factor, config[factor.name]) for factor in scenario.factors)
    lines = [f"RULEOUT_COST_MINUTES={minutes(failure):g}"]
    for number, stage in enumerate(reached):
        lines.append(f"{_clock(number)} {STAGES[stage].format(settings=settings)}")
        if stage == "arg_parsing":
            said = [line for when, line in scenario.says if holds(when, config)]
            lines += [f"{_clock(number)} {line}" for line in (*scenario.chatter, *said)]
    if failure is None:
        return [*lines, f'{_clock(len(names))} INFO:     127.0.0.1:40000 - "POST /v1/completions HTTP/1.1" 200 OK']
    return [*lines, *failure.lines]


def _clock(number: int) -> str:
    return f"[2025-11-30 08:{number:02d}:00]"


def _setting(factor: Factor, level: str) -> str:
    if PRESENT in factor.levels:
        return f"{factor.flag.lstrip('-').replace('-', '_')}={level == PRESENT}"
    return f"{factor.name}={None if level == ABSENT else level!r}"


def main() -> int:
    """Serve."""
    asked = argparse.ArgumentParser(prog="serve", allow_abbrev=False)
    asked.add_argument("--scenario", type=Path, required=True)
    asked.add_argument("--ledger", type=Path, required=True)
    asked.add_argument("--bisect", action="store_true", help=f"exit {UNTESTABLE} where another failure struck first")
    given, rest = asked.parse_known_args()
    scenario = loads(given.scenario.read_text())
    try:
        config = parse(scenario, rest)
    except ValueError as problem:
        print(f"serve: error: {problem}", file=sys.stderr)
        return 2
    before = sum(earlier.config == config for earlier in launched(given.ledger))
    outcome = scenario.outcome(config, before)
    failure = shown(scenario, config, outcome)
    with given.ledger.open("a") as stream:
        stream.write(json.dumps(asdict(Launch(config, outcome, minutes(failure)))) + "\n")
    print("\n".join(log(scenario, config, failure)))
    if outcome == MASKED and given.bisect:
        return UNTESTABLE
    return 0 if outcome == CLEAN else 1


if __name__ == "__main__":
    sys.exit(main())
