"""A planted fault is a question that has an answer, and the same question for the same seed."""

from __future__ import annotations

import random
from itertools import product

import pytest
from benchmarks.planted.families import FAMILIES, answerable, make
from benchmarks.planted.founding import ADVISED, BLAMED
from benchmarks.planted.histories import HISTORIES, first_bad
from benchmarks.planted.scenario import (
    CLEAN,
    MASKED,
    REPRODUCED,
    Factor,
    Mask,
    Scenario,
    dumps,
    holds,
    loads,
    ways_out,
)

SEEDS = range(12)
DEPLOYMENTS = [family for family in FAMILIES if family not in HISTORIES]
SIZES = {
    "single": [1], "pair": [2], "triple": [3], "levels": [1], "elsewhere": [], "founding": [1, 1, 1, 1],
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_makes_the_same_scenario_and_another_another(family: str) -> None:
    assert dumps(make(family, 3)) == dumps(make(family, 3))
    assert len({dumps(make(family, seed)) for seed in SEEDS}) > 1


@pytest.mark.parametrize("family", FAMILIES)
def test_a_scenario_survives_being_written_and_read(family: str) -> None:
    scenario = make(family, 1)
    assert loads(dumps(scenario)) == scenario


@pytest.mark.parametrize("family", FAMILIES)
def test_the_planted_fault_fails_the_baseline_and_no_mask_hides_it_there(family: str) -> None:
    for seed in SEEDS:
        scenario = make(family, seed)
        assert scenario.mask(scenario.baseline) is None
        assert all(holds(cause, scenario.baseline) for cause in scenario.causes)
        shown = [scenario.outcome(scenario.baseline, before) for before in range(40)]
        assert REPRODUCED in shown
        assert (CLEAN in shown) == (scenario.rate < 1)


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "elsewhere"])
def test_there_is_a_configuration_that_really_works(family: str) -> None:
    for seed in SEEDS:
        scenario = make(family, seed)
        working = [config for config in ways_out(scenario, scenario.causes) if scenario.works(config)]
        assert working
        assert {scenario.outcome(working[0], before) for before in range(5)} == {CLEAN}


@pytest.mark.parametrize("family", [family for family in DEPLOYMENTS if family not in ("crowded", "founding")])
def test_a_deployment_has_the_size_and_the_causes_of_its_family(family: str) -> None:
    for seed in SEEDS:
        scenario = make(family, seed)
        assert 8 <= len(scenario.factors) <= 16
        assert all(2 <= len(factor.levels) <= 7 for factor in scenario.factors)
        assert 1 <= len(scenario.masks) <= 4
        if family in SIZES:
            assert [len(cause) for cause in scenario.causes] == SIZES[family]
        assert len({name for cause in scenario.causes for name in cause}) == sum(map(len, scenario.causes))


def test_of_the_family_levels_several_but_not_all_of_seven_carry() -> None:
    for seed in SEEDS:
        scenario = make("levels", seed)
        ((name, levels),) = scenario.causes[0].items()
        assert len(scenario.by_name[name].levels) == 7
        assert 2 <= len(levels) <= 6


def test_a_flaky_fault_shows_in_about_half_of_the_runs() -> None:
    scenario = make("flaky", 0)
    shown = [scenario.outcome(scenario.baseline, before) == REPRODUCED for before in range(400)]
    assert 160 < sum(shown) < 240


def test_an_elsewhere_fault_stays_whatever_is_set() -> None:
    luck = random.Random(0)
    scenario = make("elsewhere", 0)
    configs = [{f.name: luck.choice(f.levels) for f in scenario.factors} for _ in range(50)]
    assert {scenario.outcome(config, 0) for config in configs} <= {REPRODUCED, MASKED}


def test_most_of_the_space_of_a_crowded_deployment_is_masked_yet_every_single_change_is_seen() -> None:
    luck, masked, met = random.Random(0), 0, 0
    for seed in SEEDS:
        scenario = make("crowded", seed)
        for _ in range(100):
            config = {factor.name: luck.choice(factor.levels) for factor in scenario.factors}
            masked, met = masked + (scenario.mask(config) is not None), met + 1
        for factor in scenario.factors:
            assert all(scenario.mask({**scenario.baseline, factor.name: level}) is None for level in factor.others)
    assert masked / met > 0.7


def test_the_founding_case_yields_to_no_single_change_and_not_to_the_advice_of_its_log() -> None:
    for seed in SEEDS:
        scenario = make("founding", seed)
        decode = scenario.by_name["decode_backend"]
        assert len(decode.levels) == 7
        singles = [{**scenario.baseline, f.name: level} for f in scenario.factors for level in f.others]
        assert not any(scenario.works(config) for config in singles)
        assert scenario.outcome({**scenario.baseline, "decode_backend": "triton"}, 0) == MASKED
        for rest in product(*(factor.levels for factor in scenario.factors if factor.name == "kv_cache_dtype")):
            assert scenario.mask({**scenario.baseline, "kv_cache_dtype": rest[0], BLAMED: ADVISED}) is not None
        assert not any(BLAMED in cause for cause in scenario.causes)


@pytest.mark.parametrize("family", HISTORIES)
def test_a_history_is_clean_up_to_a_change_and_fails_from_there_on(family: str) -> None:
    for seed in SEEDS:
        scenario = make(family, seed)
        factor = scenario.ordered
        assert factor is not None
        assert len(factor.levels) == HISTORIES[family].length
        bad = [revision in scenario.causes[0][factor.name] for revision in factor.levels]
        assert bad == sorted(bad)
        assert not bad[0]
        assert bad[-1]
        untestable = [scenario.mask({factor.name: revision}) is not None for revision in factor.levels]
        kind = HISTORIES[family]
        assert sum(untestable) == round((kind.gaps + kind.stretch) * kind.length)
        if kind.stretch:
            first = untestable.index(True)
            assert all(untestable[first : first + sum(untestable)])
        assert not untestable[0]
        assert not untestable[-1]
        found = factor.levels.index(first_bad(scenario))
        assert bad[found]
        assert not untestable[found]
        assert all(untestable[number] or not bad[number] for number in range(found))


def test_luck_belongs_to_the_configuration_so_that_all_strategies_meet_the_same() -> None:
    scenario = make("flaky", 5)
    other = {**scenario.baseline, scenario.factors[0].name: scenario.factors[0].others[0]}
    alone = [scenario.outcome(scenario.baseline, before) for before in range(6)]
    scenario.outcome(other, 0)
    assert [scenario.outcome(scenario.baseline, before) for before in range(6)] == alone


def test_a_question_without_an_answer_is_not_asked() -> None:
    factors = (Factor("a", "--a", ("a0", "a1"), "a0"), Factor("b", "--b", ("b0", "b1"), "b0"))
    cause = {"a": frozenset({"a0"})}
    stuck = (Mask({"b": frozenset({"b1"})}, "does-not-build"),)
    blocked = (Mask({"a": frozenset({"a1"})}, "does-not-build"),)
    assert answerable(Scenario("x", 0, factors, (cause,), "assert-in-decode"))
    assert not answerable(Scenario("x", 0, factors, (cause,), "assert-in-decode", stuck))
    assert not answerable(Scenario("x", 0, factors, (cause,), "assert-in-decode", blocked))
