"""What holds for every deployment: no verdict contradicts a trial, and no trial is made twice for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.deployment import FakeDeployment, Investigated, factor, investigated, planted

from ruleout.model import Carrier, Configuration, Outcome, OutcomeKind, Trial, VerdictStatus
from ruleout.reasoning import assess

SHAPES = ((1,), (2,), (1, 1), (3,))
AGAIN = ("again", "the baseline again", "complete", "necessary")
"""Purposes of which a repetition is part."""


class Overriding(FakeDeployment):
    """An engine that knows better: one level of one factor is never in effect, and its log says so."""

    def run(self, configuration: Mapping[str, str]) -> tuple[Outcome, float]:
        """The outcome of what was in effect."""
        first = self.case.factors[0]
        if configuration[first.name] != first.levels[-1]:
            return super().run(configuration)
        outcome, minutes = super().run({**configuration, first.name: first.baseline})
        return replace(outcome, effective={first.name: first.baseline}), minutes


def special(deployment: FakeDeployment, what: str) -> FakeDeployment:
    """The deployment with a further factor of a kind, or with an engine that overrides."""
    case = deployment.case
    if what == "versions":
        versions = replace(factor("version", *(f"v{i}" for i in range(9))), ordered=True, baseline="v6")
        since = {"version": frozenset({"v4", "v5", "v6", "v7", "v8"})}
        causes = [*deployment.causes[:-1], {**deployment.causes[-1], **since}]
        return replace(deployment, case=replace(case, factors=(*case.factors, versions)), causes=causes)
    if what == "proxy":
        return replace(
            deployment, case=replace(case, factors=(*case.factors, factor("layers", "all", "2", proxy=True)))
        )
    if what == "overrides":
        return Overriding(case, deployment.causes, deployment.masks, deployment.rate, seed=deployment.seed)
    return deployment


@cache
def done(causes: tuple[int, ...], seed: int, rate: float, masks: int, what: str) -> Investigated:
    """An investigation of a planted deployment, to its end."""
    return investigated(special(planted(causes, seed, rate, masks, factors=4), what), seed, budget=50)


Kind = tuple[tuple[int, ...], int, float, int, str]
kinds = st.tuples(
    st.sampled_from(SHAPES),
    st.integers(1000, 1040),
    st.sampled_from((1.0, 1.0, 0.6)),
    st.integers(0, 3),
    st.sampled_from(("plain", "versions", "proxy", "overrides")),
)


def in_effect(trial: Trial) -> Configuration:
    """What a trial did, whatever it was asked to."""
    return trial.configuration.moved(trial.outcome.effective if trial.outcome is not None else {})


def kind_of(trial: Trial) -> OutcomeKind:
    """How a trial ended."""
    assert trial.outcome is not None
    return trial.outcome.kind


def active(cause: tuple[Carrier, ...], configuration: Configuration) -> bool:
    """Whether all carriers of a cause are at levels that are said to carry it."""
    return all(configuration[c.factor] in c.levels for c in cause)


@settings(max_examples=12, deadline=None)
@given(kinds)
def test_no_verdict_contradicts_a_trial(kind: Kind) -> None:
    found = done(*kind)
    verdict, base = found.verdict, found.deployment.case.baseline
    failed = {in_effect(t) for t in found.trials if kind_of(t) is OutcomeKind.REPRODUCED}
    for workaround in verdict.workarounds:
        assert base.moved(workaround.set) not in failed
        assert kind_of(found.trial(workaround.trial)) is OutcomeKind.CLEAN
    for out in verdict.ruled_out:
        assert all(out.factor != c.factor for cause in verdict.causes for c in cause)
    if verdict.status is VerdictStatus.ISOLATED:
        if verdict.manifest_rate > 0.99:  # it shows every time, so a clean trial cannot have had it
            clean = [in_effect(t) for t in found.trials if kind_of(t) is OutcomeKind.CLEAN]
            assert not any(active(cause, configuration) for cause in verdict.causes for configuration in clean)
        for configuration in failed:  # what failed had some level of each factor of a cause that nobody saw work alone
            assert any(all(configuration[c.factor] != _off(found, c) for c in cause) for cause in verdict.causes)


def _off(found: Investigated, carrier: Carrier) -> str:
    """A level of a carrier that switched it off in a necessary trial."""
    levels = [found.trial(i).configuration[carrier.factor] for i in found.verdict.confirmed_by.necessary]
    return next((level for level in levels if level not in carrier.levels), "")


@settings(max_examples=12, deadline=None)
@given(kinds)
def test_a_trial_repeats_a_configuration_only_where_that_is_its_purpose(kind: Kind) -> None:
    found = done(*kind)
    told: set[Configuration] = set()
    for trial in found.trials:
        if trial.configuration in told:
            assert trial.purpose.startswith((*AGAIN, "the baseline", "level")), (trial.id, trial.purpose)
            if found.deployment.rate == 1.0:
                assert trial.purpose.startswith(("again", "the baseline again")), (trial.id, trial.purpose)
        if trial.outcome is not None and trial.outcome.kind is not OutcomeKind.UNRESOLVED:
            told.add(trial.configuration)


@settings(max_examples=8, deadline=None)
@given(kinds, st.data())
def test_the_same_journal_and_seed_make_the_same_plan_at_every_point(kind: Kind, data: st.DataObject) -> None:
    found = done(*kind)
    n = data.draw(st.integers(0, len(found.assessments) - 1))
    known = len(found.trials) - (len(found.assessments) - 1) + n
    trials = found.trials[: min(known, len(found.trials))]
    seed = data.draw(st.integers(0, 3))
    assert assess(found.deployment.case, trials, seed).step == assess(found.deployment.case, trials, seed).step
