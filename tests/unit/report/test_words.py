"""The same words for the same thing in every report."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.report.samples import CASE, FAILURE, ISOLATED, MASK, MASKED

from ruleout.model import Carrier, Configuration, Factor, Limit, Mechanism, Outcome, OutcomeKind, Stage, Trial
from ruleout.report import words


def test_changes_are_told_against_the_baseline() -> None:
    assert words.changes(CASE.baseline, CASE.baseline) == "baseline"
    assert words.changes(CASE.baseline.moved({"deep_gemm": "0"}), CASE.baseline) == "deep_gemm=0"
    assert words.changes(Configuration(deep_gemm="0"), CASE.baseline) == "deep_gemm=0"


@pytest.mark.parametrize(
    ("mechanism", "target", "level", "text"),
    [
        (Mechanism.FLAG, "--graph", "absent", "without --graph"),
        (Mechanism.FLAG, "--graph", "present", "--graph"),
        (Mechanism.FLAG, "--kv", "bf16", "--kv bf16"),
        (Mechanism.ENV, "GEMM", "unset", "GEMM unset"),
        (Mechanism.ENV, "GEMM", "0", "GEMM=0"),
        (Mechanism.PYTHON, "", "5.2.0", "f=5.2.0"),
        (Mechanism.WORKLOAD, "concurrency", "1", "f=1"),
    ],
)
def test_a_level_is_told_as_a_person_types_it(mechanism: Mechanism, target: str, level: str, text: str) -> None:
    assert words.on_command(Factor("f", mechanism, target, ("a", "b"), "a"), level) == text


def test_trials_are_told_by_number() -> None:
    assert words.trials((3,)) == "trial 3"
    assert words.trials([3, 5]) == "trials 3, 5"


def test_another_failure_is_called_masked() -> None:
    assert words.outcome(MASKED) == "masked"
    assert words.outcome(None) == "unfinished"


def test_a_failure_is_told_with_the_type_of_its_exception_if_it_had_one() -> None:
    assert words.failure(FAILURE) == FAILURE.message
    assert words.failure(MASK).startswith("AssertionError: assert not a | b")


def test_a_workaround_is_told_as_a_person_types_it() -> None:
    assert words.workaround(CASE, Configuration(kv_cache_dtype="bf16", cuda_graph="present")) == (
        "--kv-cache-dtype bf16 --disable-cuda-graph"
    )


def test_the_minutes_of_all_trials_are_added_up() -> None:
    assert words.total(ISOLATED) == pytest.approx(5 * 12.1 + 0.5)


def test_what_was_asked_for_and_not_in_effect_is_told_once_with_its_trials() -> None:
    def tried(number: int, level: str, instead: str) -> Trial:
        outcome = Outcome(OutcomeKind.CLEAN, Stage.DECODE, "", effective={"kv_cache_dtype": instead})
        return Trial(number, CASE.baseline.moved({"kv_cache_dtype": level}), "", outcome)

    before = replace(tried(3, "auto", "fp8_e4m3"), configuration=Configuration())
    told = [before, tried(1, "bf16", "fp8_e4m3"), tried(2, "bf16", "fp8_e4m3"), tried(4, "fp8_e4m3", "?")]
    assert list(words.replaced(CASE, told)) == [
        "--kv-cache-dtype auto: fp8_e4m3 was in effect (trial 3)",
        "--kv-cache-dtype bf16: fp8_e4m3 was in effect (trials 1, 2)",
        "--kv-cache-dtype fp8_e4m3: another, which the log does not name, was in effect (trial 4)",
    ]


def test_a_limit_says_how_sure_it_is() -> None:
    known = Limit("kv_cache_dtype", "bf16", 3, "auto", 1)
    told = "--kv-cache-dtype bf16 is clean (trial 3), --kv-cache-dtype auto fails (trial 1)"
    assert words.limit(CASE, known, ISOLATED) == told
    gap = Limit("kv_cache_dtype", "fp8_e4m3", 3, "auto", 1, ("bf16",))
    assert words.limit(CASE, gap, ISOLATED).endswith("fails (trial 1); not tried in between: bf16")


def test_a_long_row_of_levels_is_told_by_its_ends() -> None:
    row = Factor("size", Mechanism.FLAG, "--size", tuple(map(str, range(40, 0, -1))), "40", ordered=True)
    assert words.factor(row) == "size: 40*, 40 levels in order from 40 to 1"


RELEASE = Factor("release", Mechanism.FLAG, "--ver", tuple(str(n) for n in range(20)), "19", ordered=True)


@pytest.mark.parametrize(
    ("levels", "clean", "text"),
    [
        (("19", "13", "14"), "12", "release=13 to 19 (tried: 13, 14, 19)"),
        (("19", "17", "18"), "16", "release=17 to 19"),
        (("19", "18"), "17", "release=19|18"),
        (("19", "13"), "15", "release=19|13"),
    ],
)
def test_levels_in_a_row_are_told_by_its_ends_unless_one_between_was_clean(
    levels: tuple[str, ...], clean: str, text: str
) -> None:
    case = replace(CASE, factors=(RELEASE,))
    trial = Trial(1, Configuration(release=clean), "", Outcome(OutcomeKind.CLEAN, Stage.READY, ""))
    cause = (Carrier("release", levels),)
    assert words.cause(case, replace(ISOLATED, causes=(cause,), trials=(trial,)), cause) == text


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ((), "0 trials"),
        ((1, 2), "2 trials"),
        ((1, 2, 4), "3 trials (numbered to 4; another was broken off)"),
        ((1, 2, 5), "3 trials (numbered to 5; others were broken off)"),
    ],
)
def test_numbers_of_trials_that_were_broken_off_are_accounted_for(ids: tuple[int, ...], text: str) -> None:
    trials = tuple(Trial(number, Configuration(), "") for number in ids)
    assert words.made(replace(ISOLATED, trials=trials)) == text
