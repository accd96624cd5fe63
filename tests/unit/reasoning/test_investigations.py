"""Whole investigations of fake deployments with planted causes: right, or open about what is left; never wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import pytest
from tests.support.checker import complaints
from tests.support.deployment import (
    UNRESOLVED,
    FakeDeployment,
    Investigated,
    case_of,
    factor,
    investigated,
    made,
    planted,
)

from ruleout.model import Case, Configuration, HypothesisStatus, OutcomeKind, Trial, VerdictStatus
from ruleout.reasoning import Assessment, assess

SEEDS = range(8)
Family = tuple[tuple[int, ...], int, float, int]
"""Sizes of the causes, seed, manifest rate, bystanders with a level that never runs."""


@cache
def done(causes: tuple[int, ...], seed: int, rate: float = 1.0, unseen: int = 0, masks: int = 2) -> Investigated:
    """The investigation of a planted deployment."""
    return investigated(planted(causes, seed, rate, masks, unseen=unseen), budget=45)


def said(run: Investigated) -> list[list[str]]:
    """The factors of the causes of a verdict."""
    return sorted(sorted(carrier.factor for carrier in cause) for cause in run.verdict.causes)


def truth(run: Investigated) -> list[list[str]]:
    """The factors of the causes that were planted."""
    return sorted(sorted(cause) for cause in run.deployment.causes)


def label(value: object) -> str:
    """A parameter in the name of a test."""
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)


PLAIN = [(causes, seed) for causes in ((1,), (2,), (3,), (1, 1), (1, 2)) for seed in SEEDS]
ALL: list[Family] = [
    *((causes, seed, 1.0, 0) for causes, seed in PLAIN),
    *((causes, seed, 1.0, 1) for causes in ((1,), (2,)) for seed in range(4)),
    *((causes, seed, 0.5, 0) for causes in ((1,), (2,)) for seed in range(3)),
]


@pytest.mark.parametrize(("causes", "seed"), PLAIN, ids=label)
def test_where_nothing_is_masked_the_causes_are_isolated(causes: tuple[int, ...], seed: int) -> None:
    run = done(causes, seed, masks=0)
    assert said(run) == truth(run)
    assert run.verdict.status is VerdictStatus.ISOLATED, run.verdict.why
    assert complaints(run.deployment.case, run.verdict) == []


@pytest.mark.parametrize(("causes", "seed", "rate", "unseen"), ALL, ids=label)
def test_what_is_isolated_is_right(causes: tuple[int, ...], seed: int, rate: float, unseen: int) -> None:
    run = done(causes, seed, rate, unseen)
    if run.verdict.status is VerdictStatus.ISOLATED:
        assert said(run) == truth(run)
        for cause in run.verdict.causes:
            (real,) = [c for c in run.deployment.causes if set(c) == {k.factor for k in cause}]
            for carrier in cause:
                assert set(carrier.levels) <= real[carrier.factor]
    else:
        assert run.verdict.status in (VerdictStatus.NARROWED, VerdictStatus.EXHAUSTED)
        assert run.verdict.why
        assert HypothesisStatus.CONFIRMED not in [h.status for h in run.verdict.hypotheses]


@pytest.mark.parametrize(("causes", "seed", "rate", "unseen"), ALL, ids=label)
def test_what_is_isolated_is_confirmed_by_trials_of_the_form_that_is_demanded(
    causes: tuple[int, ...], seed: int, rate: float, unseen: int
) -> None:
    run = done(causes, seed, rate, unseen)
    if run.verdict.status is VerdictStatus.ISOLATED:
        assert complaints(run.deployment.case, run.verdict) == []


@pytest.mark.parametrize(("causes", "seed", "rate", "unseen"), [f for f in ALL if f[2] == 1.0], ids=label)
def test_levels_that_were_seen_to_carry_are_all_listed(
    causes: tuple[int, ...], seed: int, rate: float, unseen: int
) -> None:
    run = done(causes, seed, rate, unseen)
    if run.verdict.status is not VerdictStatus.ISOLATED:
        return
    for cause in run.verdict.causes:
        (real,) = [c for c in run.deployment.causes if set(c) == {k.factor for k in cause}]
        failed = [
            t.configuration
            for t in run.trials
            if t.outcome is not None
            and t.outcome.kind is OutcomeKind.REPRODUCED
            and run.deployment.active(t.configuration) == [real]
        ]
        for carrier in cause:
            assert {configuration[carrier.factor] for configuration in failed} <= set(carrier.levels)


@pytest.mark.parametrize(("causes", "seed", "rate", "unseen"), [f for f in ALL if f[2] == 1.0], ids=label)
def test_every_workaround_that_is_named_works(causes: tuple[int, ...], seed: int, rate: float, unseen: int) -> None:
    run = done(causes, seed, rate, unseen)
    base = run.deployment.case.baseline
    assert all(run.deployment.works(base.moved(workaround.set)) for workaround in run.verdict.workarounds)
    for workaround in run.verdict.workarounds:
        assert run.trial(workaround.trial).configuration == base.moved(workaround.set)


@pytest.mark.parametrize(("causes", "seed", "rate", "unseen"), ALL, ids=label)
def test_probabilities_add_up_to_1_after_every_trial(
    causes: tuple[int, ...], seed: int, rate: float, unseen: int
) -> None:
    for assessment in done(causes, seed, rate, unseen).assessments:
        beliefs = assessment.beliefs
        assert beliefs.probability.sum() == pytest.approx(1)
        assert beliefs.of_group.sum() == pytest.approx(1)
        assert (beliefs.probability >= 0).all()
        for suspect in beliefs.space.suspects:
            groups = [p for g, p in zip(beliefs.groups, beliefs.of_group, strict=True) if any(suspect in c for c in g)]
            assert beliefs.marginal(suspect) == pytest.approx(sum(groups))


@pytest.mark.parametrize(("causes", "seed"), PLAIN, ids=label)
def test_a_trial_that_told_something_is_only_repeated_to_see_whether_it_is_still_so(
    causes: tuple[int, ...], seed: int
) -> None:
    run = done(causes, seed)
    told: set[Configuration] = set()
    for trial in run.trials:
        if trial.configuration in told:
            assert trial.purpose.startswith(("the baseline again", "again", "complete")), (trial.id, trial.purpose)
        if trial.outcome is not None and trial.outcome.informative:
            told.add(trial.configuration)


@pytest.mark.parametrize(("causes", "seed", "rate", "unseen"), ALL, ids=label)
def test_a_configuration_that_failed_otherwise_is_not_tried_again(
    causes: tuple[int, ...], seed: int, rate: float, unseen: int
) -> None:
    run = done(causes, seed, rate, unseen)
    masked = [t.configuration for t in run.trials if t.outcome is not None and t.outcome.masked]
    assert len(set(masked)) == len(masked)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_ruled_out_takes_no_part_and_its_trials_failed_without_its_baseline(seed: int) -> None:
    run = done((2,), seed)
    base = run.deployment.case.baseline
    (cause,) = run.deployment.causes
    assert run.verdict.ruled_out
    for out in run.verdict.ruled_out:
        assert out.factor not in cause
        assert out.because
        for number in out.because:
            trial = run.trial(number)
            assert trial.outcome is not None
            assert trial.outcome.kind is OutcomeKind.REPRODUCED
            assert trial.configuration[out.factor] != base[out.factor]


@pytest.mark.parametrize("seed", range(4))
def test_a_factor_with_a_level_that_never_ran_is_not_called_ruled_out(seed: int) -> None:
    run = done((1,), seed, unseen=1)
    ((name, level),) = run.deployment.masks[0].items()
    assert name not in {out.factor for out in run.verdict.ruled_out}
    left = {n.factor: n.untried for n in run.verdict.not_ruled_out}
    assert level in left[name]


def test_masked_trials_are_listed_with_what_struck() -> None:
    run = done((1,), 0)
    masked = [t.id for t in run.trials if t.outcome is not None and t.outcome.masked]
    assert [m.trial for m in run.verdict.masked] == masked
    assert all(m.failure.startswith("assert not mask") for m in run.verdict.masked)


@pytest.mark.parametrize("lost", ["sufficient", "necessary", "complete", "baseline_again"])
def test_the_checker_of_these_tests_misses_no_trial_that_is_missing(lost: str) -> None:
    verdict = done((2,), 1, masks=0).verdict
    case = done((2,), 1, masks=0).deployment.case
    without = replace(verdict.confirmed_by, **{lost: None if lost == "baseline_again" else ()})  # type: ignore[arg-type]
    assert complaints(case, verdict) == []
    assert complaints(case, replace(verdict, confirmed_by=without)) != []


# -- special deployments -------------------------------------------------------------------------------------------

FACTORS = (
    factor("attn", "eager", "sdpa", "flash"),
    factor("dtype", "bf16", "fp16"),
    factor("graphs", "on", "off"),
    factor("moe", "triton", "cutlass", "deep"),
)
CASE = case_of(*FACTORS)
ATTN = {"attn": frozenset({"eager"})}


def run(case: Case, *causes: dict[str, frozenset[str]], seed: int = 0, elsewhere: bool = False) -> Investigated:
    return investigated(FakeDeployment(case, causes, elsewhere=elsewhere), seed)


@pytest.mark.parametrize("seed", range(4))
def test_what_fails_with_everything_moved_is_settled_as_elsewhere(seed: int) -> None:
    found = run(CASE, seed=seed, elsewhere=True)
    assert found.verdict.status is VerdictStatus.ELSEWHERE
    assert found.verdict.elsewhere.probability >= 0.99
    assert found.verdict.causes == ()
    assert {out.factor for out in found.verdict.ruled_out} == {f.name for f in FACTORS}
    assert found.verdict.never_varied
    assert not set(found.verdict.never_varied) & {f.name for f in FACTORS}


@pytest.mark.parametrize("seed", [3, 7, 11])
def test_where_trials_are_left_that_would_decide_they_are_made(seed: int) -> None:
    """Luck and a level that never ran, each of which is too little to matter, may be too much together. The level is
    given up once it failed otherwise in company that runs as well, and luck is excluded."""
    found = investigated(planted((2,), seed, factors=7, unseen=1), seed)
    assert found.verdict.status is VerdictStatus.ISOLATED, found.verdict.why
    assert len(found.trials) <= 25


@pytest.mark.parametrize(("seed", "only"), [(3, 2), (3, 3), (0, 4)])
def test_a_partner_that_only_one_of_its_levels_shows_is_found(seed: int, only: int) -> None:
    """Whatever else was moved with the first cause failed; the one level that would have been clean may come last."""
    sizes = {"backend": 5, "gemm": 2, "graph": 3, "compile": 6, "attention": 2, "dtype": 2, "prefill": 4, "spec": 2}
    sizes |= {"overlap": 2, "tp": 6}
    case = case_of(*(factor(name, *(f"{name}{i}" for i in range(size))) for name, size in sizes.items()))
    carry = frozenset(f"backend{i}" for i in range(5) if i != only)
    found = run(case, {"gemm": frozenset({"gemm0"}), "backend": carry}, seed=seed)
    assert found.verdict.status is VerdictStatus.ISOLATED
    assert said(found) == [["backend", "gemm"]]


BLAMED = [
    {"moe": "moe1", "prefill": "prefill1", "spec": "spec1", "tp": "tp1"},
    {"moe": "moe1", "spec": "spec1"},
    {"tp": "tp1"},
    {"graph": "graph1", "moe": "moe1", "cache": "cache1", "spec": "spec1", "tp": "tp1", "tokenizer": "tokenizer1"},
    {
        "reduce": "reduce3",
        "dtype": "dtype2",
        "load": "load1",
        "fusion": "fusion2",
        "spec": "spec1",
        "compile": "compile2",
    },
    {"dtype": "dtype1", "load": "load3", "moe": "moe1", "fusion": "fusion1", "compile": "compile1", "tp": "tp1"},
    {"graph": "graph2", "reduce": "reduce1", "load": "load2", "moe": "moe1", "spec": "spec1", "tp": "tp1"},
    {"prefill": "prefill1"},
    {
        "graph": "graph1",
        "dtype": "dtype2",
        "cache": "cache1",
        "fusion": "fusion2",
        "tp": "tp1",
        "tokenizer": "tokenizer1",
    },
    {"compile": "compile1"},
    {
        "graph": "graph1",
        "reduce": "reduce4",
        "cache": "cache1",
        "fusion": "fusion1",
        "compile": "compile2",
        "tp": "tp1",
        "tokenizer": "tokenizer1",
    },
    {
        "graph": "graph1",
        "reduce": "reduce2",
        "load": "load1",
        "cache": "cache1",
        "tp": "tp1",
        "tokenizer": "tokenizer1",
    },
    {"dtype": "dtype1"},
    {"compile": "compile2"},
    {"fusion": "fusion1"},
    {"reduce": "reduce3"},
]
"""Trials after which `prefill` alone is sure to 99 %. The only level of `load` that would be clean was in one of them,
and is blamed for what two others did to it."""


def test_a_level_that_was_only_run_where_it_was_masked_is_run_where_it_tells() -> None:
    sizes = {"fusion": 3, "reduce": 5, "prefill": 2, "tp": 2, "dtype": 3, "graph": 3, "compile": 3, "tokenizer": 2}
    sizes |= {"load": 4, "moe": 2, "spec": 2, "cache": 2}
    case = case_of(*(factor(name, *(f"{name}{i}" for i in range(size))) for name, size in sizes.items()))
    pair = {"prefill": frozenset({"prefill0"}), "load": frozenset({"load0", "load1", "load2"})}
    masks = [{"dtype": "dtype1", "tp": "tp1"}, {"compile": "compile2", "spec": "spec1"}, {"reduce": "reduce4"}]
    found = investigated(FakeDeployment(case, [pair], masks), before=BLAMED)
    assert found.verdict.status is VerdictStatus.ISOLATED
    assert said(found) == [["load", "prefill"]]


def test_what_was_not_resolved_once_may_be_run_again_for_luck() -> None:
    """What is clean has to be clean twice here; that its first attempt came to nothing is no reason not to."""
    case = case_of(factor("batching", "on", "off"), factor("dtype", "f32", "bf16"))
    off = case.baseline.moved({"batching": "off"})
    died = made(2, off, UNRESOLVED)

    def plan(case: Case, trials: Sequence[Trial], seed: int) -> Assessment:
        return assess(case, [trials[0], died, *(replace(t, id=t.id + 1) for t in trials[1:])], seed)

    found = investigated(FakeDeployment(case, [{"batching": frozenset({"on"})}]), plan=plan)
    assert found.tried.count(off) >= 2
    assert found.assessments[-1].settled


def test_the_same_seed_makes_the_same_investigation() -> None:
    one, other = run(CASE, ATTN), run(CASE, ATTN)
    assert one.trials == other.trials
    assert one.verdict == other.verdict


def test_the_order_of_the_factors_in_the_file_makes_no_other_investigation() -> None:
    one, other = run(CASE, ATTN), run(replace(CASE, factors=FACTORS[::-1]), ATTN)
    assert one.tried == other.tried
    assert one.verdict.causes == other.verdict.causes


@pytest.mark.parametrize("seed", range(4))
def test_a_combination_that_must_not_be_tried_is_not(seed: int) -> None:
    never = (Configuration(attn="sdpa", graphs="off"), Configuration(moe="cutlass"))
    found = run(replace(CASE, never=never), ATTN, seed=seed)
    for configuration in found.tried:
        assert not any(all(configuration[f] == level for f, level in n.items()) for n in never)
    assert said(found) == [["attn"]]
    assert "moe" not in {out.factor for out in found.verdict.ruled_out}


def test_a_configuration_said_to_work_is_tried_at_once_and_once() -> None:
    good = Configuration(attn="flash")
    found = run(replace(CASE, good=(good,)), ATTN)
    assert found.tried[1] == CASE.baseline.moved(good)
    assert found.trials[1].purpose.startswith("said to work")
    assert [t.id for t in found.trials if t.purpose.startswith("said to work")] == [2]
    assert [(a.text, a.status, a.source) for a in found.verdict.assumptions[1:]] == [
        ("attn=flash works", "held", "user")
    ]


def test_a_configuration_said_to_work_that_does_not_is_a_refuted_assumption() -> None:
    found = run(replace(CASE, good=(Configuration(graphs="off"),)), ATTN)
    assert found.verdict.assumptions[-1].status == "refuted"
    assert said(found) == [["attn"]]


def test_a_proxy_is_never_part_of_a_cause() -> None:
    case = case_of(*FACTORS, factor("layers", "78", "4", proxy=True))
    found = run(case, ATTN)
    for assessment in found.assessments:
        layers = assessment.beliefs.space.names.index("layers")
        assert all(layers not in cause for group in assessment.beliefs.groups for cause in group)
    assert found.verdict.status is VerdictStatus.ISOLATED


@pytest.mark.parametrize("keep", [Configuration(attn="eager"), Configuration(moe="triton", graphs="on")])
def test_workarounds_leave_as_it_is_what_is_to_be_kept(keep: Configuration) -> None:
    pair = {"attn": frozenset({"eager"}), "dtype": frozenset({"bf16"})}
    found = run(replace(CASE, keep=keep), pair)
    assert found.verdict.workarounds
    for workaround in found.verdict.workarounds:
        left = CASE.baseline.moved(workaround.set)
        assert all(left[f] == level for f, level in keep.items())


def test_what_shows_every_time_is_an_assumption_that_held() -> None:
    found = run(CASE, ATTN)
    assert found.verdict.assumptions[0].status == "held"
    assert found.verdict.manifest_rate > 0.95


def test_what_shows_in_half_the_runs_is_an_assumption_that_was_refuted() -> None:
    found = investigated(FakeDeployment(CASE, [ATTN], rate=0.5, seed=3), budget=45)
    assert found.verdict.assumptions[0].status == "refuted"
    assert 0.2 < found.verdict.manifest_rate < 0.8


def test_when_the_budget_is_spent_the_verdict_says_so_and_names_the_next_step() -> None:
    found = investigated(FakeDeployment(CASE, [ATTN]), budget=3)
    assert found.verdict.status is VerdictStatus.EXHAUSTED
    assert len(found.trials) == 3
    (step,) = found.verdict.next
    assert step.minutes > 0
    assert len(step.change) > 0


# -- what is known to be amiss -------------------------------------------------------------------------------------


def test_no_level_is_given_up_that_was_never_run_by_itself() -> None:
    for seed in SEEDS:
        found = done((1, 1), seed)
        base = found.deployment.case.baseline
        if found.verdict.status is VerdictStatus.NARROWED:
            for left in found.verdict.not_ruled_out:
                assert all(base.moved({left.factor: level}) in found.tried for level in left.untried), seed


def test_a_counter_trial_that_is_masked_is_made_from_another_sufficient_trial() -> None:
    for causes, seed in PLAIN:
        found = done(causes, seed)
        assert "no trial left for it (necessary" not in found.verdict.why, (causes, seed)


def test_a_configuration_is_not_run_twenty_times_for_nothing() -> None:
    for seed in range(6):
        found = done((1,), seed, 0.5)
        assert max(found.tried.count(configuration) for configuration in found.tried) < 20, seed


def test_elsewhere_is_not_concluded_while_a_level_was_never_run_by_itself() -> None:
    found = done((1, 1), 120)
    assert found.verdict.status is not VerdictStatus.ELSEWHERE


MANY = factor("runner", *(f"r{i}" for i in range(7)))
SIZES = (3, 2, 6, 4, 6, 3, 3, 5, 2, 4, 3, 3, 2, 5, 2)
MANY_LEVELS = case_of(MANY, *(factor(f"f{n}", *(f"l{i}" for i in range(size))) for n, size in enumerate(SIZES)))
HIDING: tuple[tuple[Mapping[str, str], ...], ...] = ((), ({"f7": "l1"},), ({"f2": "l2"}, {"f5": "l1", "f4": "l3"}))
WAYS_OUT = ((1, 2), (3, 1), (6, 0))


@cache
def only_way_out(level: int, masks: int) -> Investigated:
    """Every level of one factor of seven carries the fault but one."""
    carries = frozenset(MANY.levels) - {MANY.levels[level]}
    return investigated(FakeDeployment(MANY_LEVELS, [{"runner": carries}], HIDING[masks]))


@pytest.mark.parametrize(("level", "masks"), WAYS_OUT)
def test_the_only_level_that_is_a_way_out_is_found_wherever_it_is(level: int, masks: int) -> None:
    found = only_way_out(level, masks)
    assert said(found) == [["runner"]]
    assert len(found.trials) <= 26


@pytest.mark.parametrize(("level", "masks"), WAYS_OUT)
def test_a_trial_of_everything_moved_brings_a_level_that_never_ran_or_moves_everything(level: int, masks: int) -> None:
    base, ran = MANY_LEVELS.baseline, set[tuple[str, str]]()
    for trial in only_way_out(level, masks).trials:
        change = set(trial.configuration.difference(base).items())
        if trial.purpose.startswith("elsewhere: everything"):
            assert change - ran or len(change) >= len(MANY_LEVELS.factors) - 1, trial
        if trial.outcome is not None and trial.outcome.informative:
            ran |= change


# -- nearly everything is refused ----------------------------------------------------------------------------------


class Touchy(FakeDeployment):
    """All its masks end in the same words."""

    def mask(self, configuration: Mapping[str, str]) -> str | None:
        return None if super().mask(configuration) is None else "mask"


@pytest.mark.parametrize("kind", [FakeDeployment, Touchy])
def test_the_cause_is_found_where_a_change_of_eight_of_ten_factors_fails_otherwise(kind: type[FakeDeployment]) -> None:
    case = case_of(*(factor(f"f{i}", "a", "b", "c") for i in range(10)))
    masks = [{f"f{i}": level} for i in range(2, 10) for level in "bc"]
    run = investigated(kind(case, [{"f0": frozenset("a")}], masks), budget=25)
    assert [[carrier.factor for carrier in cause] for cause in run.verdict.causes] == [["f0"]]
    assert run.verdict.status is VerdictStatus.EXHAUSTED
