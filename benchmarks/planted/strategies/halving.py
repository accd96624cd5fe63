"""Plain halving with confirmation: group tests by hand, without probabilities.

Many factors are moved at once until a run is clean; the moved set is halved to what it takes; then, with every other
way out kept, the rest of each cause is looked for in the same manner. Levels that were in masked runs are shunned.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from benchmarks.planted.bench import Answer, Bench, factors_only
from benchmarks.planted.scenario import CLEAN, MASKED, REPRODUCED
from benchmarks.planted.strategies.delta_debugging import ddmin

TRIES = 25
AGREE = 3
"""Failing runs with everything moved until the fault is believed to stay."""

Moves = dict[str, str]


def halving(bench: Bench) -> Answer:
    """Ways out first, then of each the conjunction that it belongs to."""
    return _Halving(bench).answer()


class _Halving:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.luck = random.Random(bench.scenario.seed)
        self.seen: dict[tuple[tuple[str, str], ...], str] = {}
        self.blamed: Counter[tuple[str, str]] = Counter()
        self.harmless: set[tuple[str, str]] = set()

    def answer(self) -> Answer:
        if self._run({}) != REPRODUCED:
            return Answer(status="undecided", note="the baseline did not fail")
        names = [factor.name for factor in self.bench.scenario.factors]
        first = self._clean({}, names)
        if first is None:
            return Answer()
        ways = self._needed({}, first)
        causes = [self._completed(name, ways, names) for name in ways]
        confirmed = self.bench.run(self.bench.moved(**ways)) == CLEAN
        confirmed &= self.bench.run(self.bench.scenario.baseline) == REPRODUCED
        status = "answered" if confirmed else "undecided"
        return Answer(factors_only(*causes), workarounds=(ways,), status=status)

    def _completed(self, name: str, ways: Moves, names: Sequence[str]) -> list[str]:
        """The cause that a way out belongs to: what else, moved while the other ways out are kept, makes it clean."""
        cause, kept = [name], {other: level for other, level in ways.items() if other != name}
        while True:
            left = [n for n in names if n not in cause and n not in kept]
            more = self._clean(kept, left)
            if more is None:
                return cause
            cause += self._needed(kept, more)

    def _clean(self, kept: Moves, pool: Sequence[str]) -> Moves | None:
        """Moves within the pool that make it clean; None when it fails however much of it is moved."""
        size, failed, used = len(pool), 0, Counter[tuple[str, str]]()
        for _ in range(TRIES if pool else 0):
            moves = {name: self._level(name, used) for name in self.luck.sample(list(pool), size)}
            outcome = self._run({**kept, **moves})
            if outcome == CLEAN:
                return moves
            if outcome == MASKED:
                size = max(1, size * 2 // 3)
                continue
            used.update(moves.items())
            failed += 1
            if failed >= AGREE and all(self._tried(name, used) for name in pool):
                return None
        return None

    def _needed(self, kept: Moves, moves: Moves) -> Moves:
        """What of the moves it takes for a clean run."""
        names = ddmin(list(moves), lambda some: self._run({**kept, **{n: moves[n] for n in some}}) == CLEAN)
        return {name: moves[name] for name in names}

    def _tried(self, name: str, used: Counter[tuple[str, str]]) -> bool:
        return any((name, level) in used for level in self.bench.scenario.by_name[name].others)

    def _level(self, name: str, used: Counter[tuple[str, str]]) -> str:
        """A level other than the baseline's, rather one that was not seen to fail and is not blamed for a mask."""
        levels = list(self.bench.scenario.by_name[name].others)
        self.luck.shuffle(levels)
        return min(levels, key=lambda level: (self.blamed[name, level], used[name, level]))

    def _run(self, moves: Moves) -> str:
        key = tuple(sorted(moves.items()))
        if key not in self.seen:
            outcome = self.seen[key] = self.bench.run(self.bench.moved(**moves))
            if outcome == MASKED:
                self.blamed.update(set(key) - self.harmless)
            else:
                self.harmless.update(key)
                for move in key:
                    del self.blamed[move]
        return self.seen[key]
