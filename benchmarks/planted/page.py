"""docs/benchmarks.md: the tables and plots, with the command that made them and what they were made from."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from benchmarks.planted.bench import BUDGET
from benchmarks.planted.contenders import RULEOUT
from benchmarks.planted.families import FAMILIES
from benchmarks.planted.results import HISTORY_BUDGET, Result
from benchmarks.planted.tables import tables

ROOT = Path(__file__).resolve().parents[2]

TEXT = """# Benchmarks

## Planted faults

A simulated deployment of 8 to 16 settings with 2 to 7 levels fails because of what was planted in it. Some other
settings make it fail otherwise, and earlier, which hides the fault. A trial that comes as far as the fault costs 12
minutes; most others are cheap. ruleout is run as a person runs it (`ruleout investigate case.yaml --json`), its peers
through the same deployment with the same luck. What counts are the launches that the deployment recorded.

Right means: the factors of every cause, no level claimed that does not carry the fault, none left out of those that
were seen to carry it, and every workaround named really works. Of the peers only the factors are asked. Each strategy
has {budget} launches, and {history_budget} on a linear history.

```console
$ {command}
```

{when}, commit {commit}, {seeds}.

{tables}

![Share of scenarios answered right against simulated minutes]({folder}/minutes.svg)

![Stated probability against the share of verdicts that are right; the numbers are verdicts]({folder}/calibration.svg)

### Who takes part

{peers}

### How long it takes

{seconds}

`make bench-planted SEEDS=10` runs it, goes on with an interrupted run, and writes this page. Results of the same code
on the same scenarios are not run again.
"""

PEERS = """- **one factor at a time**: each factor alone moved from the failing configuration, until clean.
- **delta debugging**: ddmin (Zeller, Hildebrandt 2002) from a clean configuration that was found at random.
- **halving**: many factors moved at once until it is clean, then halved; every cause completed and confirmed.
- **random**: random configurations until one conjunction of up to three factors explains them.
- **covering array**: rows of strength 2 from [covertable](https://pypi.org/project/covertable/), and the one
  conjunction that explains them.
- **BugDoc**: the debugging decision trees of [bugdoc](https://pypi.org/project/bugdoc/) 0.1 (Lourenço, Freire, Shasha
  2020), up to 100 runs of its own.
- **git bisect**: `git bisect run` on a repository with a commit per revision; what cannot be tested exits with 125.
- **git-bayesect**: [git_bayesect](https://pypi.org/project/git_bayesect/) on the same; it cannot skip revisions."""


def page(results: Sequence[Result], command: str, results_folder: Path, page_folder: Path) -> str:
    """The page as Markdown."""
    seeds = sorted({result.seed for result in results})
    return TEXT.format(
        budget=BUDGET,
        history_budget=HISTORY_BUDGET,
        command=command,
        when=date.today().isoformat(),
        commit=commit(),
        seeds=f"{len(seeds)} seeds a family ({seeds[0]} to {seeds[-1]})" if seeds else "no seeds",
        tables=tables(results),
        folder=os.path.relpath(results_folder, page_folder),
        peers=PEERS,
        seconds=duration(results),
    )


def duration(results: Sequence[Result]) -> str:
    """How long a seed takes, by family, so that a run can be planned."""
    rows = ["| family | seconds a seed, one job | of these ruleout |", "| --- | --- | --- |"]
    for family in FAMILIES:
        own = [result for result in results if result.family == family]
        seeds = len({result.seed for result in own})
        if own:
            ruleout = sum(result.seconds for result in own if result.strategy == RULEOUT)
            rows.append(f"| {family} | {sum(result.seconds for result in own) / seeds:.0f} | {ruleout / seeds:.0f} |")
    return "\n".join(rows)


def commit() -> str:
    """The commit that was measured, and whether there were changes beside it."""
    words = ["git", "-C", str(ROOT)]
    head = subprocess.run([*words, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    changed = subprocess.run(
        [*words, "status", "--porcelain", "--", "src", "benchmarks/planted/*.py", "benchmarks/planted/strategies"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return (head.stdout.strip() or "unknown") + (" with changes" if changed.stdout.strip() else "")
