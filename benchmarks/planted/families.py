"""The families of planted faults: a seed makes a deployment whose truth can be found by trials, and only by trials.

The first six are those of the design: one factor, two, three, several levels of one of many, two independent causes,
and a fault that shows in half of the runs. The others hurt on purpose.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from benchmarks.planted.catalogue import ADVICE, CATALOGUE, LOUD, NEIGHBOURS
from benchmarks.planted.failures import MASKS
from benchmarks.planted.founding import founding
from benchmarks.planted.histories import HISTORIES, history
from benchmarks.planted.scenario import Conjunction, Factor, Mask, Scenario, holds, ways_out

SIZES = (8, 10, 12, 14, 16)
"""How many factors a deployment has."""
LEVELS = (2, 2, 2, 3, 3, 4, 5, 6)
"""How many levels a factor has."""
PLAIN = ("assert-in-decode", "illegal-access-in-prefill")
_STRIKES = tuple(name for name in MASKS if name != "unknown-model-type")


def make(family: str, seed: int) -> Scenario:
    """The scenario of that family and seed, always the same."""
    if family == "founding":
        return founding(seed)
    if family in HISTORIES:
        return history(family, seed)
    luck = random.Random(f"{family}/{seed}")
    while True:
        scenario = _MAKERS[family](luck, family, seed)
        if answerable(scenario):
            return scenario


def answerable(scenario: Scenario) -> bool:
    """Whether trials can tell the truth from everything else.

    The baseline is not masked; every factor can be moved; of every cause each factor can be neutralised, and the cause
    itself be shown, while all others are neutralised.
    """
    if scenario.mask(scenario.baseline) is not None:
        return False
    for factor in scenario.factors:
        if not any(_seen(scenario, {**scenario.baseline, factor.name: level}) for level in factor.others):
            return False
    for cause in scenario.causes:
        rest = [other for other in scenario.causes if other is not cause]
        alone = [config for config in ways_out(scenario, rest) if _seen(scenario, config)]
        if not any(holds(cause, config) for config in alone):
            return False
        for name, levels in cause.items():
            out = (level for level in scenario.by_name[name].levels if level not in levels)
            if not any(_seen(scenario, {**config, name: level}) for level, config in itertools.product(out, alone)):
                return False
    return True


def _seen(scenario: Scenario, config: dict[str, str]) -> bool:
    return scenario.mask(config) is None


# -- the parts of a deployment -------------------------------------------------------------------------------------


def _factors(luck: random.Random, count: int, without: Collection[str] = ()) -> dict[str, Factor]:
    """So many factors; those that are to have many levels are chosen first, for few settings have so many."""
    names = luck.sample(known := sorted(CATALOGUE.keys() - set(without)), len(known))
    found = {}
    for size in sorted((luck.choice(LEVELS) for _ in range(count)), reverse=True):
        name = next((name for name in names if len(CATALOGUE[name][1]) >= size), names[0])
        names.remove(name)
        found[name] = _factor(luck, name, size)
    return found


def _factor(luck: random.Random, name: str, count: int) -> Factor:
    flag, known = CATALOGUE[name]
    chosen = set(luck.sample(known, min(count, len(known))))
    levels = tuple(level for level in known if level in chosen)
    return Factor(name, flag, levels, luck.choice(levels))


def _cause(luck: random.Random, factors: Sequence[Factor], more: float = 0.3) -> Conjunction:
    """All of these factors; of each the baseline's level and each other with the probability `more`, never all."""
    cause = {}
    for factor in factors:
        carrying = [level for level in factor.others if luck.random() < more]
        if len(carrying) == len(factor.others):
            carrying.pop()
        cause[factor.name] = frozenset({factor.baseline, *carrying})
    return cause


def _masks(luck: random.Random, factors: Sequence[Factor], count: int) -> tuple[Mask, ...]:
    """Levels, or pairs of levels, that fail otherwise."""
    found: list[Mask] = []
    while len(found) < count:
        when = {f.name: frozenset({luck.choice(f.levels)}) for f in luck.sample(factors, luck.choice((1, 2, 2)))}
        if not holds(when, {factor.name: factor.baseline for factor in factors}):
            found.append(Mask(when, luck.choice(_STRIKES)))
    return tuple(found)


def _deployment(luck: random.Random, family: str, seed: int, sizes: Sequence[int], rate: float = 1.0) -> Scenario:
    """A deployment with a cause of each of these sizes."""
    return _around(luck, family, seed, _factors(luck, luck.choice(SIZES)), sizes, rate)


def _around(
    luck: random.Random,
    family: str,
    seed: int,
    factors: dict[str, Factor],
    sizes: Sequence[int],
    rate: float = 1.0,
    innocent: Collection[str] = (),
) -> Scenario:
    """A scenario of these factors, of which some take part in no cause."""
    able = [factor for name, factor in factors.items() if name not in innocent]
    pool, causes = luck.sample(able, len(able)), []
    for size in sizes:
        causes.append(_cause(luck, pool[:size]))
        pool = pool[size:]
    everything = tuple(luck.sample(list(factors.values()), len(factors)))
    masks = _masks(luck, everything, luck.choice((1, 2, 3, 4)))
    return Scenario(family, seed, everything, tuple(causes), luck.choice(PLAIN), masks, rate)


# -- the families --------------------------------------------------------------------------------------------------


def _single(luck: random.Random, family: str, seed: int) -> Scenario:
    return _deployment(luck, family, seed, [1])


def _pair(luck: random.Random, family: str, seed: int) -> Scenario:
    return _deployment(luck, family, seed, [2])


def _triple(luck: random.Random, family: str, seed: int) -> Scenario:
    return _deployment(luck, family, seed, [3])


def _levels(luck: random.Random, family: str, seed: int) -> Scenario:
    """Of one factor with seven levels, several carry the fault."""
    wide = [name for name, (_, levels) in CATALOGUE.items() if len(levels) == 7]
    name = luck.choice(wide)
    factors = _factors(luck, luck.choice(SIZES) - 1, without=(name,))
    factors[name] = _factor(luck, name, 7)
    cause = _cause(luck, [factors[name]], more=0.6)
    if len(cause[name]) == 1:
        cause = {name: cause[name] | {luck.choice(factors[name].others)}}
    everything = tuple(luck.sample(list(factors.values()), len(factors)))
    masks = _masks(luck, everything, luck.choice((1, 2, 3, 4)))
    return Scenario(family, seed, everything, (cause,), luck.choice(PLAIN), masks)


def _two(luck: random.Random, family: str, seed: int) -> Scenario:
    return _deployment(luck, family, seed, [luck.choice((1, 2)), luck.choice((1, 2))])


def _flaky(luck: random.Random, family: str, seed: int) -> Scenario:
    return _deployment(luck, family, seed, [luck.choice((1, 2))], rate=0.5)


def _misleading(luck: random.Random, family: str, seed: int) -> Scenario:
    """The stack and a warning speak of factors that have nothing to do with it."""
    failure = luck.choice(sorted(NEIGHBOURS))
    innocent = NEIGHBOURS[failure]
    factors = _factors(luck, luck.choice(SIZES) - len(innocent), without=(*innocent, *LOUD))
    for name in innocent:
        factors[name] = _factor(luck, name, len(CATALOGUE[name][1]))
        if "EAGLE" in factors[name].levels:  # who does not speculate is not suspected of it
            factors[name] = replace(factors[name], baseline="EAGLE")
    made = _around(luck, family, seed, factors, [luck.choice((1, 2))], innocent=innocent)
    return replace(made, failure=failure, chatter=(f"WARNING: {ADVICE[failure]}",))


def _crowded(luck: random.Random, family: str, seed: int) -> Scenario:
    """Of half of the factors no two can be moved at once: most configurations fail otherwise, none by itself."""
    made = _deployment(luck, family, seed, [luck.choice((1, 2))])
    named = {name for cause in made.causes for name in cause}
    narrow = [factor for factor in made.factors if factor.name not in named][: max(5, len(made.factors) // 2)]
    masks = tuple(
        Mask({one.name: frozenset(one.others), other.name: frozenset(other.others)}, luck.choice(_STRIKES))
        for one, other in itertools.combinations(narrow, 2)
    )
    return replace(made, masks=masks)


def _elsewhere(luck: random.Random, family: str, seed: int) -> Scenario:
    """It fails whatever is set: the cause is in no factor."""
    return _deployment(luck, family, seed, [])


_MAKERS: dict[str, Callable[[random.Random, str, int], Scenario]] = {
    "single": _single,
    "pair": _pair,
    "triple": _triple,
    "levels": _levels,
    "two": _two,
    "flaky": _flaky,
    "misleading": _misleading,
    "crowded": _crowded,
    "elsewhere": _elsewhere,
}
DETERMINISTIC = ("single", "pair", "triple", "levels", "two")
SOLVABLE = ("single", "pair", "triple", "levels")
"""The families that one factor at a time can solve."""
FAMILIES = (*_MAKERS, "founding", *HISTORIES)
ABOUT: dict[str, str] = {
    "single": "one factor",
    "pair": "two factors together",
    "triple": "three factors together",
    "levels": "several of seven levels of one factor",
    "two": "two independent causes",
    "flaky": "shows in half of the runs",
    "misleading": "stack and warning name a wrong factor",
    "crowded": "most configurations fail otherwise",
    "elsewhere": "the cause is in no factor",
    "founding": "the founding case: four causes",
    **{name: kind.about for name, kind in HISTORIES.items()},
}
"""What a family is, for tables."""
