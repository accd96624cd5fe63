"""Who takes part: ruleout by its public command, and its peers, each of which names in its module where it is from."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from benchmarks.planted.bench import Strategy
from benchmarks.planted.histories import HISTORIES
from benchmarks.planted.strategies.bugdoc_trees import bugdoc_trees
from benchmarks.planted.strategies.covering_array import covering_array
from benchmarks.planted.strategies.delta_debugging import delta_debugging
from benchmarks.planted.strategies.git_histories import git_bayesect, git_bisect
from benchmarks.planted.strategies.halving import halving
from benchmarks.planted.strategies.one_factor import one_factor_at_a_time
from benchmarks.planted.strategies.random_search import random_search
from benchmarks.planted.strategies.ruleout_command import ruleout_command

HERE = Path(__file__).resolve().parent
PRODUCT = HERE.parents[1] / "src" / "ruleout"
_MEASURES = ("bench.py", "failures.py", "scenario.py", "scoring.py", "serve.py")
RULEOUT, ONE_FACTOR = "ruleout", "one factor at a time"


@dataclass(frozen=True)
class Contender:
    """A strategy under its name.

    Attributes:
        histories: whether it takes part in linear histories; None for both kinds.
        needs: the package without which it cannot.
    """

    name: str
    strategy: Strategy
    histories: bool | None = False
    needs: str = ""

    def takes_part(self, family: str) -> bool:
        """Whether it is meant for such a family."""
        return self.histories is None or self.histories == (family in HISTORIES)

    def missing(self) -> str:
        """Why it cannot take part here; empty when it can."""
        if not self.needs or importlib.util.find_spec(self.needs) is not None:
            return ""
        return f"{self.needs} is not installed"

    def fingerprint(self) -> str:
        """Of the code that answers and judges: a result of other code is not reused."""
        strategies = HERE / "strategies"
        files = [HERE / name for name in _MEASURES]
        if self.name == RULEOUT:
            files.append(strategies / "ruleout_command.py")
            files += sorted(p for p in PRODUCT.rglob("*") if p.suffix in (".py", ".json", ".yaml"))
        else:
            files += sorted(strategies.glob("*.py"))
        digest = sha256()
        for path in files:
            digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()[:12]


CONTENDERS: tuple[Contender, ...] = (
    Contender(RULEOUT, ruleout_command, histories=None),
    Contender(ONE_FACTOR, one_factor_at_a_time, histories=None),
    Contender("delta debugging", delta_debugging),
    Contender("halving", halving),
    Contender("random", random_search),
    Contender("covering array", covering_array, needs="covertable"),
    Contender("BugDoc", bugdoc_trees, needs="bugdoc"),
    Contender("git bisect", git_bisect, histories=True),
    Contender("git-bayesect", git_bayesect, histories=True, needs="git_bayesect"),
)
