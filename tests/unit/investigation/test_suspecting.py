"""What the baseline's log makes likely orders the trials and proves nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ruleout.investigation.suspecting import assumptions, explained, suspicion, to_test
from ruleout.model import (
    AssumptionStatus,
    Case,
    Component,
    Configuration,
    Elsewhere,
    Evidence,
    Factor,
    Mechanism,
    Observation,
    Outcome,
    OutcomeKind,
    Stage,
    Suspicion,
    Trial,
    Verdict,
    VerdictStatus,
)
from ruleout.model.diagnosis import Suspect

KV = Factor("kv", Mechanism.FLAG, "--kv-cache-dtype", ("auto", "bf16"), "auto")
GRAPH = Factor("graph", Mechanism.FLAG, "--disable-cuda-graph", ("absent", "present"), "absent")
LIBRARY = Factor("acmelib", Mechanism.PYTHON, "", ("5.2.0", "4.57.1"), "5.2.0", {"5.2.0": "a", "4.57.1": "b"})
CASE = Case("c", "sglang", ("serve",), (KV, GRAPH, LIBRARY))
LOG = """\
[2026-11-03 10:00:00] server_args=ServerArgs(model_path='/m/acme', kv_cache_dtype='auto', tp_size=8)
[2026-11-03 10:00:01] WARNING: with this model, you can try downgrading to acmelib==4.57.1 as a workaround.
[2026-11-03 10:00:02 TP0] Setting KV cache dtype to fp8_e4m3.
[2026-11-03 10:00:09 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/srv/memory_pool.py", line 5, in set_kv_buffer
    assert self.kv_cache_dtype != torch.float8_e4m3fn, "the KV cache dtype fp8_e4m3 is not supported here"
AssertionError: the KV cache dtype fp8_e4m3 is not supported here
"""


@pytest.fixture
def found(tmp_path: Path) -> Suspicion:
    """The suspicion after that log."""
    log = tmp_path / "server.log"
    log.write_text(LOG, encoding="utf-8")
    return suspicion(CASE, log)


def trial(kind: OutcomeKind, **levels: str) -> Trial:
    """A judged trial of the baseline with those levels."""
    return Trial(2, CASE.baseline.moved(levels), "", Outcome(kind, Stage.DECODE, ""))


def test_the_factor_that_the_failure_speaks_of_is_the_likeliest(found: Suspicion) -> None:
    assert max(found.priors, key=lambda name: found.priors[name]) == "kv"
    assert sum(found.priors.values()) == pytest.approx(1, abs=0.01)


def test_without_a_log_nothing_is_suspected(tmp_path: Path) -> None:
    assert suspicion(CASE, tmp_path / "server.log") == Suspicion()


def test_a_level_that_the_log_advises_is_tried_once_by_itself(found: Suspicion) -> None:
    assert to_test(CASE, found, []) == CASE.baseline.moved({"acmelib": "4.57.1"})
    assert to_test(CASE, found, [trial(OutcomeKind.OTHER, acmelib="4.57.1")]) is None


def test_a_forbidden_combination_is_not_tried_even_if_the_log_advises_it(found: Suspicion) -> None:
    case = Case("c", "sglang", ("serve",), CASE.factors, never=(Configuration({"acmelib": "4.57.1"}),))
    assert to_test(case, found, []) is None


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (OutcomeKind.OTHER, AssumptionStatus.REFUTED),
        (OutcomeKind.REPRODUCED, AssumptionStatus.REFUTED),
        (OutcomeKind.CLEAN, AssumptionStatus.HELD),
        (OutcomeKind.UNRESOLVED, AssumptionStatus.OPEN),
    ],
)
def test_advice_is_an_assumption_that_its_trial_settles(
    found: Suspicion, kind: OutcomeKind, status: AssumptionStatus
) -> None:
    (one,) = assumptions(CASE, found, [trial(kind, acmelib="4.57.1")])
    assert one.status is status
    assert "acmelib=4.57.1" in one.text


def test_a_trial_that_changes_more_than_the_advice_does_not_settle_it(found: Suspicion) -> None:
    (one,) = assumptions(CASE, found, [trial(OutcomeKind.CLEAN, acmelib="4.57.1", graph="present")])
    assert one.status is AssumptionStatus.OPEN


def test_elsewhere_names_the_likeliest_component_that_no_factor_stands_for() -> None:
    suspects = (
        Suspect(Component.KV_CACHE_DTYPE, "kv", 0.6),
        Suspect(Component.WEIGHTS_CHECKPOINT, "a torn shard", 0.2),
    )
    verdict = Verdict(VerdictStatus.ELSEWHERE, 0.99, elsewhere=Elsewhere(0.99))
    told = explained(CASE, verdict, Suspicion(suspects))
    assert told.elsewhere.component is Component.WEIGHTS_CHECKPOINT
    assert "a torn shard" in told.elsewhere.claim
    assert told.elsewhere.probability == verdict.elsewhere.probability


def test_the_engines_own_choice_is_listed_as_never_varied_unless_a_trial_had_another(found: Suspicion) -> None:
    case = Case("c", "sglang", ("serve",), (GRAPH, LIBRARY))
    kept = explained(case, Verdict(VerdictStatus.NARROWED, 0.5), found)
    assert any("kv_cache_dtype=fp8_e4m3" in name for name in kept.never_varied)
    other = Outcome(OutcomeKind.CLEAN, Stage.DECODE, "", resolved={"kv_cache_dtype": "bfloat16"})
    moved = Verdict(VerdictStatus.NARROWED, 0.5, trials=(Trial(2, case.baseline, "", other),))
    assert not any("kv_cache_dtype" in name for name in explained(case, moved, found).never_varied)
    varied = explained(CASE, Verdict(VerdictStatus.NARROWED, 0.5), found)
    assert not any("kv_cache_dtype" in name for name in varied.never_varied)


def test_what_was_seen_of_a_hang_takes_its_share_from_what_the_log_makes_likely(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(LOG, encoding="utf-8")
    line = Evidence("evidence/stacks.txt", 9, "all_reduce (torch/distributed/distributed_c10d.py:1)")
    seen = Observation("all 2 ranks wait for an all_reduce", Component.ALLREDUCE, 0.6, (line,))
    circumstance = Observation("no process computes")
    before, after = suspicion(CASE, log), suspicion(CASE, log, [seen, circumstance])
    assert (after.suspects[0].component, after.suspects[0].claim) == (Component.ALLREDUCE, seen.text)
    assert after.suspects[0].evidence == (line,)
    told = {one.component: one.probability for one in after.suspects}
    assert told[Component.ALLREDUCE] >= 0.6
    assert before.elsewhere == 0.0, "only what was seen besides the log speaks for elsewhere"
    assert after.elsewhere == pytest.approx(0.6)
    allreduce = Factor("reduce", Mechanism.FLAG, "--disable-custom-all-reduce", ("absent", "present"), "absent")
    varied = replace(CASE, factors=(*CASE.factors, allreduce))
    assert suspicion(varied, log, [seen, circumstance]).elsewhere == 0.0
    assert all(told[s.component] <= s.probability for s in before.suspects if s.component is not Component.ALLREDUCE)
    verdict = explained(CASE, Verdict(VerdictStatus.ELSEWHERE, 0.99, elsewhere=Elsewhere(0.99)), after)
    assert verdict.elsewhere.component is Component.ALLREDUCE
    assert "what was seen of it speaks for allreduce: all 2 ranks wait" in verdict.elsewhere.claim
    assert verdict.elsewhere.evidence == (line,)
