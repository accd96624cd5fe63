"""Plans: for several workers, for who only wants it to work, with what the engine overrode; and why, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.deployment import (
    CLEAN,
    REPRODUCED,
    TARGET,
    FakeDeployment,
    case_of,
    factor,
    investigated,
    made,
    planted,
)

from ruleout.model import Case, Configuration, Goal, Outcome, Trial, VerdictStatus
from ruleout.model.figures import percent
from ruleout.reasoning import assess, assess_batch, companions, conclude, explained

FACTORS = (
    factor("attn", "eager", "sdpa", "flash"),
    factor("dtype", "bf16", "fp16"),
    factor("graphs", "on", "off"),
    factor("moe", "triton", "cutlass", "deep"),
    factor("kv", "auto", "bf16"),
)
CASE = case_of(*FACTORS)
ATTN = {"attn": frozenset({"eager"})}


def after(case: Case, n: int, seed: int = 0) -> list[Trial]:
    """The first trials of an investigation."""
    return investigated(FakeDeployment(case, [ATTN]), seed, budget=n).trials


# -- several workers -----------------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 3))
def test_a_batch_begins_with_the_next_step_and_repeats_nothing(n: int, k: int, seed: int) -> None:
    trials = after(CASE, n)
    steps = assess_batch(CASE, trials, k, seed)
    step = assess(CASE, trials, seed).step
    assert (steps[0] if steps else None) == step
    assert len(steps) <= k
    assert len({s.configuration for s in steps}) == len(steps)
    assert steps == assess_batch(CASE, trials, k, seed)


def test_two_workers_need_fewer_rounds_than_one() -> None:
    def rounds(k: int, seed: int) -> int:
        deployment = planted((2,), seed, masks=0, factors=8)
        case, trials, n = deployment.case, [made(1, deployment.case.baseline, REPRODUCED)], 1
        while steps := assess_batch(case, trials, k):
            n += 1
            for step in steps:
                outcome, minutes = deployment.run(step.configuration)
                trials.append(made(len(trials) + 1, step.configuration, outcome, minutes=minutes))
        return n

    one, four = (sum(rounds(k, seed) for seed in range(4)) for k in (1, 4))
    assert four <= 0.7 * one


def test_where_nothing_is_left_to_do_there_is_no_batch() -> None:
    found = investigated(FakeDeployment(CASE, [ATTN]))
    assert found.verdict.status is VerdictStatus.ISOLATED
    assert assess_batch(CASE, found.trials, 4) == ()


# -- a workaround --------------------------------------------------------------------------------------------------


def first_way_out(case: Case, causes: Sequence[dict[str, frozenset[str]]]) -> tuple[int, Trial]:
    """After how many trials one was clean that keeps what is to be kept, and that trial."""
    found = investigated(FakeDeployment(case, causes), budget=30)
    for number, trial in enumerate(found.trials, 1):
        kept = all(trial.configuration[f] == level for f, level in case.keep.items())
        if trial.outcome == CLEAN and kept:
            return number, trial
    raise AssertionError("no way out was found")


def test_who_only_wants_it_to_work_gets_there_sooner_and_keeps_what_is_to_be_kept() -> None:
    case = replace(CASE, goal=Goal.WORKAROUND, keep=Configuration(dtype="bf16", graphs="on"))
    number, trial = first_way_out(case, [ATTN])
    assert number <= 3
    assert trial.configuration["dtype"] == "bf16"
    assert trial.configuration["graphs"] == "on"


def test_as_long_as_there_may_be_a_workaround_its_trials_leave_alone_what_is_to_be_kept() -> None:
    case = replace(CASE, goal=Goal.WORKAROUND, keep=Configuration(moe="triton"))
    trials = [made(1, case.baseline, REPRODUCED)]
    for number in range(2, 4):
        step = assess(case, trials).step
        assert step is not None
        assert step.configuration["moe"] == "triton"
        trials.append(made(number, step.configuration, REPRODUCED))


# -- what took effect ----------------------------------------------------------------------------------------------


def overridden(outcome: Outcome, **effective: str) -> Outcome:
    """The outcome of a trial in which the engine did something else than it was asked to."""
    return replace(outcome, effective=effective)


def test_a_flag_that_was_overridden_is_evidence_of_what_took_effect() -> None:
    moved = CASE.baseline.moved({"attn": "sdpa"})
    base = made(1, CASE.baseline, REPRODUCED)
    as_flash = assess(CASE, [base, made(2, moved, overridden(CLEAN, attn="flash"))])
    plainly = assess(CASE, [base, made(2, CASE.baseline.moved({"attn": "flash"}), CLEAN)])
    space = as_flash.beliefs.space
    assert as_flash.beliefs.of_group.tolist() == pytest.approx(plainly.beliefs.of_group.tolist())
    assert as_flash.beliefs.seen.rows[1].tolist() == space.row(CASE.baseline.moved({"attn": "flash"})).tolist()


def test_a_flag_that_was_ignored_says_nothing_about_the_level_that_was_asked_for() -> None:
    moved = CASE.baseline.moved({"dtype": "fp16"})
    trials = [made(1, CASE.baseline, REPRODUCED), made(2, moved, overridden(REPRODUCED, dtype="bf16"))]
    beliefs = assess(CASE, trials).beliefs
    dtype = beliefs.space.names.index("dtype")
    assert beliefs.marginal(dtype) == pytest.approx(
        assess(CASE, [trials[0], made(2, CASE.baseline, REPRODUCED)]).beliefs.marginal(dtype)
    )


def test_elsewhere_is_settled_also_where_the_engine_never_takes_a_level_of_the_baseline() -> None:
    trials = [made(1, CASE.baseline, overridden(REPRODUCED, attn="fallback"))]
    while (step := assess(CASE, trials).step) is not None and len(trials) < 40:
        asked = step.configuration["attn"] == CASE.baseline["attn"]
        outcome = overridden(REPRODUCED, attn="fallback") if asked else REPRODUCED
        trials.append(made(len(trials) + 1, step.configuration, outcome))
    assert conclude(CASE, trials, assess(CASE, trials), None).status is VerdictStatus.ELSEWHERE
    assert len(trials) <= 14


def test_elsewhere_is_settled_also_where_the_first_log_does_not_say_what_took_effect() -> None:
    trials = [made(1, CASE.baseline, REPRODUCED)]
    while (step := assess(CASE, trials).step) is not None and len(trials) < 40:
        asked = step.configuration["attn"] == CASE.baseline["attn"]
        outcome = overridden(REPRODUCED, attn="sdpa") if asked else REPRODUCED
        trials.append(made(len(trials) + 1, step.configuration, outcome))
    assert conclude(CASE, trials, assess(CASE, trials), None).status is VerdictStatus.ELSEWHERE
    assert len(trials) <= 14


def replaced(level: str) -> list[Trial]:
    """An investigation of ATTN on an engine that puts this level of moe in the place of the baseline's."""
    deployment, trials = FakeDeployment(CASE, [ATTN]), list[Trial]()
    step: Configuration | None = CASE.baseline
    while step is not None and len(trials) < 40:
        outcome, minutes = deployment.run(step)
        if step["moe"] == CASE.baseline["moe"]:
            outcome = overridden(outcome, moe=level)
        trials.append(made(len(trials) + 1, step, outcome, minutes=minutes))
        found = assess(CASE, trials).step
        step = found.configuration if found is not None else None
    return trials


@pytest.mark.parametrize("level", ["cutlass", "fallback"])
def test_a_cause_is_isolated_also_where_the_engine_never_takes_another_level_of_the_baseline(level: str) -> None:
    trials = replaced(level)
    verdict = conclude(CASE, trials, assess(CASE, trials), None)
    assert verdict.status is VerdictStatus.ISOLATED
    assert verdict.confirmed_by is not None
    assert verdict.confirmed_by.baseline_again == len(trials)


def test_what_takes_the_place_of_the_baseline_s_level_is_no_level_of_its_own() -> None:
    trials = replaced("cutlass")
    assert not any(trial.configuration["moe"] == "cutlass" for trial in trials)
    assert assess(CASE, trials).beliefs.space.standing == {"moe": "cutlass"}
    never = replace(CASE, never=(Configuration(moe="cutlass"),))
    assert assess(never, trials[:1]).step is not None, "to forbid it does not forbid the baseline"


def test_a_level_that_is_none_of_the_factor_s_is_one_of_its_own_and_is_never_asked_for() -> None:
    trials = [
        made(1, CASE.baseline, REPRODUCED),
        made(2, CASE.baseline.moved({"attn": "sdpa"}), overridden(REPRODUCED, attn="fallback")),
    ]
    for number in range(3, 9):
        assessment = assess(CASE, trials)
        if assessment.step is None:
            break
        assert assessment.step.configuration["attn"] in CASE.factor("attn").levels
        outcome, minutes = FakeDeployment(CASE, [ATTN]).run(assessment.step.configuration)
        trials.append(made(number, assessment.step.configuration, outcome, minutes=minutes))
    assert "fallback" in assess(CASE, trials).beliefs.space.levels[0]


def test_what_is_overridden_every_time_is_not_asked_for_for_ever() -> None:
    deployment, trials = FakeDeployment(CASE, [{"dtype": frozenset({"bf16"})}]), [made(1, CASE.baseline, REPRODUCED)]
    while (step := assess(CASE, trials).step) is not None and len(trials) < 40:
        effective = step.configuration.moved({"dtype": "bf16"})  # the engine knows better
        outcome, minutes = deployment.run(effective)
        trials.append(made(len(trials) + 1, step.configuration, overridden(outcome, dtype="bf16"), minutes=minutes))
    assert len(trials) < 40
    asked = [t.configuration for t in trials if t.configuration["dtype"] == "fp16"]
    assert len(set(asked)) == len(asked)
    verdict = conclude(CASE, trials, assess(CASE, trials), None)
    assert verdict.status is not VerdictStatus.ISOLATED


# -- what changed along with it ------------------------------------------------------------------------------------


def with_settings(found: Sequence[Trial], kv: dict[str, str]) -> list[Trial]:
    """The same trials, the engine having resolved a setting by the attention backend."""
    told = []
    for t in found:
        assert t.outcome is not None
        resolved = {"--page-size": kv[t.configuration["attn"]], "attn": t.configuration["attn"]}
        told.append(replace(t, outcome=replace(t.outcome, resolved=resolved)))
    return told


def test_a_setting_that_changed_in_every_clean_trial_keeps_a_cause_from_being_isolated() -> None:
    found = investigated(FakeDeployment(CASE, [ATTN]))
    trials = with_settings(found.trials, {"eager": "1", "sdpa": "64", "flash": "64"})
    verdict = conclude(CASE, trials, assess(CASE, trials), None)
    assert verdict.status is VerdictStatus.NARROWED
    assert "--page-size" in verdict.why
    assert companions(CASE, trials, found.verdict.causes[0]) == ("--page-size",)


def test_a_setting_that_was_the_same_in_a_failing_trial_does_not() -> None:
    found = investigated(FakeDeployment(CASE, [{"attn": frozenset({"eager", "sdpa"})}]))
    failing = {t.configuration["attn"] for t in found.trials if t.outcome == REPRODUCED}
    assert failing == {"eager", "sdpa"}
    trials = with_settings(found.trials, {"eager": "1", "sdpa": "64", "flash": "64"})
    assert companions(CASE, trials, found.verdict.causes[0]) == ()
    assert conclude(CASE, trials, assess(CASE, trials), None).status is VerdictStatus.ISOLATED


# -- why -----------------------------------------------------------------------------------------------------------


def test_a_step_explains_its_arithmetic_in_words_that_agree_with_it() -> None:
    trials = after(CASE, 1)
    step = assess(CASE, trials).step
    assert step is not None
    assert step.explanation is not None
    why = step.explanation
    assert why.change == step.configuration.difference(CASE.baseline)
    assert (why.bits, why.minutes, why.risk) == (step.bits, step.minutes, step.risk)
    beliefs = assess(CASE, trials).beliefs
    row = beliefs.space.row(step.configuration)
    removed = float(beliefs.probability @ (1 - beliefs.activity(row[None, :])[:, 0]))
    assert why.removed == pytest.approx(removed, abs=1e-3)
    text = "\n".join(explained(step))
    assert f"{percent(why.removed)} of the probability" in text
    assert f"a failure has a chance of {percent(why.fails)}" in text
    assert text.count(f"a failure has a chance of {percent(why.fails)}") == 1, "the purpose says it already"
    assert "Next best: " in text


def test_an_explanation_of_the_baseline_says_that_nothing_changes() -> None:
    found = investigated(FakeDeployment(CASE, [ATTN]))
    last = found.assessments[-2].step
    assert last is not None
    assert last.purpose.startswith("the baseline again")
    assert any("changes nothing" in line for line in explained(last))


def test_without_factors_the_cause_is_elsewhere_as_soon_as_the_baseline_has_failed() -> None:
    case = case_of()
    trials = (made(1, case.baseline, REPRODUCED),)
    assessment = assess(case, trials)
    assert (assessment.step, assessment.settled, assess_batch(case, trials, 3)) == (None, True, ())
    assert conclude(case, trials, assessment, TARGET, ()).status is VerdictStatus.ELSEWHERE
