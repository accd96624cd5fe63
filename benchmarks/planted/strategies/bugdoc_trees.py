"""BugDoc's debugging decision trees, the algorithm that its authors use for conjunctions and disjunctions.

R. Lourenço, J. Freire, D. Shasha: BugDoc: Algorithms to Debug Computational Processes, SIGMOD 2020,
https://doi.org/10.1145/3318464.3389763; https://pypi.org/project/bugdoc/ (0.1, 2020). It sends each run over a ZeroMQ
socket on a fixed port to a worker; here the socket is replaced by a call, so that runs are in order and no port is
opened. It installs on Python 3.11 without its declared requirements (Django 1.11 and nose among them), of which the
trees import none.
"""

from __future__ import annotations

import ast
import contextlib
import io
import logging
import random
import tempfile
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.planted.bench import Answer, Bench, SpentError
from benchmarks.planted.scenario import CLEAN, MASKED, Conjunction, Scenario

RUNS = 100
"""Of BugDoc's own, at most. It stops by itself where its trees agree with new runs."""


def bugdoc_trees(bench: Bench) -> Answer:
    """The paths of its last tree that it believes to be decisive for a failure. Raises ImportError without BugDoc."""
    from bugdoc.algos import debugging_decision_trees as trees

    logging.getLogger().setLevel(logging.WARNING)  # importing BugDoc makes the root logger talk
    random.seed(bench.scenario.seed)  # BugDoc draws from the module's own generator
    bench.budget = max(bench.budget, RUNS + 1)
    names = [factor.name for factor in bench.scenario.factors]
    baseline = bench.scenario.baseline
    first = [*(baseline[name] for name in names), _word(bench.run(baseline))]
    trees.zmq = _Wire(bench, names)
    trees.load_runs = lambda *_: _history(first, names)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        debugger = trees.AutoDebug(max_iter=RUNS)
        debugger.is_poller_not_sync = False  # else it sleeps for the sake of its sockets
        levels = {factor.name: list(factor.levels) for factor in bench.scenario.factors}
        try:
            believed, _, _ = debugger.run(str(Path(folder) / "runs.adb"), levels, ["result"])
        except SpentError:
            believed = debugger.believeddecisive
    return _answer(bench.scenario, names, [path for moral, path in believed if moral == "bad"])


def _answer(scenario: Scenario, names: Sequence[str], paths: Sequence[Sequence[tuple[int, str, bool]]]) -> Answer:
    """Paths over the same factors are one cause: BugDoc has a path for each way through the tree."""
    causes: dict[frozenset[str], dict[str, frozenset[str]]] = {}
    for path in paths:
        cause = _conjunction(scenario, names, path)
        known = causes.setdefault(frozenset(cause), dict(cause))
        for name, levels in cause.items():
            known[name] |= levels
    if frozenset() in causes:  # a tree without branches: it fails whatever is set
        return Answer()
    smallest = [cause for group, cause in causes.items() if not any(other < group for other in causes)]
    return Answer(tuple(smallest), status="answered" if smallest else "undecided")


def _conjunction(scenario: Scenario, names: Sequence[str], path: Sequence[tuple[int, str, bool]]) -> Conjunction:
    """The levels that a path through a tree allows: `== level` where it is true, `!= level` where it is not."""
    allowed: dict[str, frozenset[str]] = {}
    for column, level, true in path:
        name = names[column]
        before = allowed.get(name, frozenset(scenario.by_name[name].levels))
        allowed[name] = before & {level} if true else before - {level}
    return allowed


def _history(first: list[str], names: Sequence[str]) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """What BugDoc reads from a file of earlier runs; its own reader turns text into bytes, which equal no level."""
    shown = {"good": int(first[-1] == "True"), "bad": int(first[-1] == "False")}
    goodness = {name: {first[column]: dict(shown)} for column, name in enumerate(names)}
    return [first], [[*first[:-1], ast.literal_eval(first[-1])]], goodness


def _word(outcome: str) -> str:
    """BugDoc's results: good, bad, or a run that could not be made."""
    return "None" if outcome == MASKED else str(outcome == CLEAN)


class _Wire:
    """The part of ZeroMQ that BugDoc uses: module, context, socket and poller in one, and each run answered at once."""

    PUSH, PULL, POLLIN, NOBLOCK = 0, 1, 1, 1

    def __init__(self, bench: Bench, names: Sequence[str]) -> None:
        self.bench, self.names = bench, names
        self.answers: deque[str] = deque()

    def Context(self) -> _Wire:  # noqa: N802
        return self

    def Poller(self) -> _Wire:  # noqa: N802
        return self

    def socket(self, _: int) -> _Wire:
        return self

    def ignored(self, *_: object) -> None:
        """Nothing is bound, registered or closed."""

    bind = register = unregister = close = term = ignored

    def send_string(self, message: str) -> None:
        levels = ast.literal_eval(message.split("|")[1])
        outcome = self.bench.run(dict(zip(self.names, levels, strict=True)))
        self.answers.append(str([*levels, _word(outcome)]))

    def poll(self, _: int) -> list[tuple[_Wire, int]]:
        return [(self, self.POLLIN)]

    def recv_string(self, _: int) -> str:
        return self.answers.popleft()
