"""What is known without the cases that are held out: rates, scales, and those clues and rules that others support.

The table of clues and the catalogue were written by people who had seen cases of this folder, so no split can make the
figures of a held-out third those of a stranger's log. What can be taken back is: the counted base rates and the scales
come from the other two thirds alone; a clue counts only if one of those shows it; a rule counts only if it does not
cite the held-out case as a source. What cannot is the choice of a clue's words and of its weight.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from cases import Case

from ruleout.diagnosis.clue import Clue
from ruleout.diagnosis.infer import probabilities, scores, unexplained
from ruleout.diagnosis.rates import COUNTED
from ruleout.diagnosis.scales import SCALES, Scales
from ruleout.diagnosis.sharpen import shares
from ruleout.model import Component, FailureClass

Counted = dict[FailureClass, dict[Component, int]]

FIRMNESS = 16.0
"""How firmly the scales that ship are held while others are fitted, as the nats that a factor of e costs. Clues fit the
cases that they were written from better than any others, so a free fit would make everything too sure."""
_STEPS = (0.6, 0.75, 0.87, 1.0, 1.15, 1.33, 1.7)
_SWEEPS = 3
_MOST = {"unexplained": 0.5, "untold": 0.7, "halving": 1.0, "inferred": 1.0, "sharpness": 2.0, "trust": 1.5}


@dataclass(frozen=True)
class Known:
    """What probabilities are computed with. `clues` is None when all count."""

    counted: Counted
    scales: Scales
    clues: frozenset[int] | None = None
    own_rules: bool = True

    def likely(self, case: Case, *, rules: bool) -> dict[Component, float]:
        """The probability of each component; empty where nothing was read."""
        failure = case.run.diagnosis.failure
        if failure is None:
            return {}
        found = [f for f in case.clues if self.clues is None or id(f.clue) in self.clues]
        score = scores(failure.class_, found, self.counted, self.scales)
        left = unexplained(found, self.scales)
        likely = probabilities(score, left, self.scales, inferred=failure.inferred)
        held = [m for m in case.rules if self.own_rules or not any(map(case.cites, m.rule.references))]
        return shares(likely, held, self.scales, inferred=failure.inferred) if rules and held else likely


SHIPPED = Known(COUNTED, SCALES)


def counts(cases: Sequence[Case]) -> Counted:
    """How often each component was the cause, by the class of the failure."""
    found: dict[FailureClass, Counter[Component]] = defaultdict(Counter)
    for case in cases:
        found[case.class_][case.component] += 1
    return {class_: dict(row) for class_, row in found.items()}


def learned(cases: Sequence[Case]) -> Known:
    """What these cases teach."""
    support: Counter[int] = Counter(id(found.clue) for case in cases for found in case.clues)
    known = Known(counts(cases), SCALES, frozenset(support), own_rules=False)
    return replace(known, scales=fitted(cases, known))


def fitted(cases: Sequence[Case], known: Known) -> Scales:
    """The scales under which these cases' causes are most likely, held near those that ship.

    Each case is predicted from the counts of the others, so that no rate is taken for surer than it is.
    """
    less = {case.name: _without(known.counted, case) for case in cases}

    def loss(scales: Scales) -> float:
        total = FIRMNESS * sum(math.log(_value(scales, n) / _value(SCALES, n)) ** 2 for n in _MOST)
        for case in cases:
            mine = replace(known, scales=scales, counted=less[case.name])
            for rules in (True, False):
                likely = mine.likely(case, rules=rules)
                total -= math.log(max(1e-6, likely.get(case.component, 0.0))) / 2 if likely else 0.0
        return total

    return _descended(known.scales, loss)


def _value(scales: Scales, name: str) -> float:
    return float(getattr(scales, name))


def _descended(scales: Scales, loss: Callable[[Scales], float]) -> Scales:
    """Coordinate descent over a coarse grid, which is as fine as some eighty cases can tell."""
    best = loss(scales)
    for _ in range(_SWEEPS):
        before = best
        for name, most in _MOST.items():
            tried = {min(most, _value(scales, name) * step) for step in _STEPS}
            for value in sorted(tried):
                candidate = replace(scales, **{name: value})
                if (found := loss(candidate)) < best:
                    best, scales = found, candidate
        if best == before:
            break
    return scales


def _without(counted: Counted, case: Case) -> Counted:
    row = dict(counted.get(case.class_, {}))
    if row.get(case.component):
        row[case.component] -= 1
    return {**counted, case.class_: row}


def thirds(cases: Sequence[Case], repeats: int) -> Iterator[tuple[list[Case], list[Case]]]:
    """Each third held out once, `repeats` times over; cases of one thread stay together."""
    for repeat in range(repeats):
        threads = sorted({case.thread for case in cases})
        random.Random(repeat).shuffle(threads)
        part = {thread: index % 3 for index, thread in enumerate(threads)}
        for held in range(3):
            yield [c for c in cases if part[c.thread] != held], [c for c in cases if part[c.thread] == held]


def shown(clues: Sequence[Clue], cases: Sequence[Case]) -> int:
    """How many of the clues some case shows."""
    seen = {id(found.clue) for case in cases for found in case.clues}
    return sum(id(clue) in seen for clue in clues)
