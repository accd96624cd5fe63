"""The conclusion for a reader with five minutes: how many causes, by which trials, and what nobody tried."""

from __future__ import annotations

from dataclasses import replace
from html import unescape

import pytest
from tests.unit.report.samples import CASE, CLEAN, ISOLATED, MASK, MASKED, NOT_REPRODUCED, REPRODUCED, trial

from ruleout.model import (
    Carrier,
    Component,
    Configuration,
    Confirmation,
    Elsewhere,
    Hypothesis,
    HypothesisStatus,
    Limit,
    Masked,
    Mode,
    NotRuledOut,
    Observation,
    Trial,
    Verdict,
    VerdictStatus,
)
from ruleout.report.findings import findings
from ruleout.report.page import page
from ruleout.report.summary import facts, headline

KV, GRAPH = Carrier("kv_cache_dtype", ("auto",)), Carrier("cuda_graph", ("absent",))


def told(verdict: Verdict) -> dict[str, str]:
    """The facts by their labels; of the same label one below the other."""
    found: dict[str, str] = {}
    for label, text in facts(CASE, verdict, ""):
        found[label] = f"{found[label]}\n{text}" if label in found else text
    return found


def test_several_causes_have_a_row_each_and_the_headline_says_that_each_is_enough() -> None:
    verdict = replace(ISOLATED, causes=((KV,), (GRAPH,)))
    assert headline(CASE, verdict) == "Isolated (99.4 %): 2 causes, each enough by itself"
    rows = told(verdict)
    assert (rows["Cause 1"], rows["Cause 2"]) == ("kv_cache_dtype=auto", "cuda_graph=absent")
    assert "each alone, everything else changed, it still fails (trial 4)" in rows["Shown by"]
    assert "nothing but these changed, clean (trial 3)" in rows["Shown by"]
    assert "Cause 1" not in told(ISOLATED)


@pytest.mark.parametrize("status", [VerdictStatus.NARROWED, VerdictStatus.EXHAUSTED, VerdictStatus.INTERRUPTED])
def test_the_baseline_shows_nothing_of_the_likeliest_cause(status: VerdictStatus) -> None:
    found = Confirmation(sufficient=(1,))
    assert "Supported by" not in told(replace(ISOLATED, status=status, confirmed_by=found))
    more = told(replace(ISOLATED, status=status, confirmed_by=Confirmation(sufficient=(1, 4))))
    assert more["Supported by"] == "other settings changed, it still fails (trial 4)"


def test_the_same_trials_are_not_told_twice() -> None:
    found = Confirmation((4,), (3, 5), (3, 5), 6)
    shown = told(replace(ISOLATED, causes=((KV,),), confirmed_by=found))["Shown by"]
    assert "from there" not in shown
    assert shown.count("3, 5") == 1


def test_what_the_engine_took_for_a_level_of_the_cause_is_told() -> None:
    first = replace(
        ISOLATED.trials[0],
        outcome=replace(REPRODUCED, resolved={"kv_cache_dtype": "fp8_e4m3", "disable_cuda_graph": "False"}),
    )
    rows = told(replace(ISOLATED, trials=(first, *ISOLATED.trials[1:])))
    assert rows["Chosen by the engine"] == "--kv-cache-dtype auto: the engine took fp8_e4m3 (trial 1)"
    assert "Chosen by the engine" not in told(ISOLATED)


def test_levels_of_a_cause_that_no_telling_trial_had_are_named() -> None:
    verdict = replace(ISOLATED, causes=((KV,),))  # fp8_e4m3 was only had where another failure came first
    assert told(verdict)["Levels untried"] == "kv_cache_dtype: fp8_e4m3 (masked)"
    assert "Levels untried" not in told(ISOLATED)  # where it was seen to fail


def test_a_factor_that_was_only_changed_where_masked_is_told_once_and_apart() -> None:
    verdict = replace(
        ISOLATED,
        trials=(
            trial(1, REPRODUCED),
            trial(2, MASKED, deep_gemm="0"),
            trial(3, CLEAN, kv_cache_dtype="bf16"),
            replace(trial(4, CLEAN, deep_gemm="0"), instruments=Configuration(CUDA_LAUNCH_BLOCKING="1")),
            trial(5, replace(CLEAN, hearsay=True), deep_gemm="0"),
        ),
        not_ruled_out=(NotRuledOut("deep_gemm", ("unset",), ("0",)),),
        never_varied=("deep_gemm", "the machine and its driver", "page_size=64 (the engine's choice)"),
    )
    rows = told(verdict)
    assert rows["Varied only where masked"] == "deep_gemm"
    assert (rows["Not varied"], rows["Left to the engine"]) == ("the machine and its driver", "page_size=64")
    assert "Not ruled out" not in rows


def test_what_masks_is_named_the_most_frequent_first() -> None:
    masked = tuple(Masked(Configuration(), f"failure {n % 5}", n) for n in range(10, 60) if n % 5 or n == 10)
    rows = told(replace(ISOLATED, masked=masked))["Masked, says nothing"].split("\n")
    assert [row.rpartition(": ")[2] for row in rows] == ["failure 1", "failure 2", "failure 3", "2 other failures"]
    assert rows[-1].startswith("trials 10, 14, 19,")


def test_a_level_that_only_masked_trials_had_is_not_called_untried() -> None:
    left = NotRuledOut("backend", ("triton",), ("fa3", "aiter"))
    hidden = Masked(Configuration(backend="aiter", deep_gemm="0"), "assert not fp8", 7)
    verdict = replace(ISOLATED, not_ruled_out=(left,), masked=(hidden,))
    assert told(verdict)["Not ruled out"] == "backend (masked: aiter; untried: fa3)"
    for report in (findings(CASE, verdict), page(CASE, verdict)):
        assert "backend: tried triton; masked: aiter; untried: fa3" in unescape(report)


def test_a_failure_that_tells_of_another_size_each_time_masks_as_one() -> None:
    def short_of(number: int, gib: str) -> Trial:
        failure = replace(MASK, message=f"only {gib} GiB are free", signature="memory")
        return trial(number, replace(MASKED, failure=failure), deep_gemm="0")

    trials = (short_of(7, "9.37"), short_of(8, "9.23"), trial(9, MASKED, cuda_graph="present"))
    masked = tuple(Masked(t.configuration, "not enough", t.id) for t in trials)
    rows = told(replace(ISOLATED, trials=(*ISOLATED.trials, *trials), masked=masked))["Masked, says nothing"]
    assert rows.split("\n")[0] == "trials 7, 8: AssertionError: only 9.37 GiB are free"


def test_what_is_changed_from_there_needs_a_there() -> None:
    rows = told(replace(ISOLATED, confirmed_by=Confirmation((1,), (3, 5), (3,), 6)))
    assert rows["Shown by"].startswith("a part of it changed, clean (trials 3, 5); ")
    assert "from there" not in findings(CASE, replace(ISOLATED, confirmed_by=Confirmation((1,), (3, 5), (3,), 6)))


def test_what_hypotheses_are_told_adds_up() -> None:
    likely = tuple(Hypothesis(f"f{n}=a", 0.1, HypothesisStatus.OPEN) for n in range(7))
    rows = told(replace(ISOLATED, status=VerdictStatus.NARROWED, hypotheses=likely))["Hypothesis"].split("\n")
    assert rows[3:] == ["10 % f3=a", "60 % others together, each less likely"]
    narrowed = replace(ISOLATED, status=VerdictStatus.NARROWED, hypotheses=likely)
    assert "- open: others together, each less likely (30 %)" in findings(CASE, narrowed), "of seven"
    assert "others together, each less likely" in page(CASE, narrowed)
    assert "others together" not in findings(CASE, replace(narrowed, hypotheses=())) + findings(CASE, ISOLATED)
    sure = replace(ISOLATED, status=VerdictStatus.NARROWED, hypotheses=(replace(likely[0], probability=0.998),))
    assert told(sure)["Hypothesis"] == "99.8 % f0=a"


OUTSIDE = Elsewhere(
    0.999,
    Component.KERNEL_ARCH_SUPPORT,
    "the cause is in none of the factors that were varied; the log speaks for kernel_arch_support: its attention is "
    "sparse (DSA: it has an indexer); what may help: a GPU; or another model",
)


def test_a_headline_is_no_paragraph_and_what_may_help_has_a_row() -> None:
    verdict = replace(ISOLATED, status=VerdictStatus.ELSEWHERE, elsewhere=OUTSIDE, causes=())
    assert headline(CASE, verdict).endswith("that were varied; the log speaks for kernel_arch_support")
    rows = told(verdict)
    assert rows["Evidence speaks for"] == "kernel_arch_support: its attention is sparse (DSA: it has an indexer)"
    assert rows["What may help"] == "a GPU; or another model"
    assert OUTSIDE.claim[1:] in findings(CASE, verdict)
    narrowed = replace(verdict, status=VerdictStatus.NARROWED)
    assert "What may help" in told(narrowed)
    assert "- What may help: a GPU; or another model." in findings(CASE, narrowed)


def test_what_a_watched_trial_says_is_not_said_again_as_what_the_evidence_speaks_for() -> None:
    outcome = replace(REPRODUCED, observed=(Observation("its attention is sparse (DSA: it has an indexer)"),))
    watched = replace(trial(7, outcome), instruments=Configuration(RULEOUT_TRACE_MODE="watch"))
    verdict = replace(ISOLATED, status=VerdictStatus.ELSEWHERE, elsewhere=OUTSIDE, trials=(watched,))
    assert "Evidence speaks for" not in told(verdict)
    assert "What may help" in told(verdict)


def test_a_way_out_after_which_something_else_fails_comes_last_and_says_so() -> None:
    killed = trial(3, replace(CLEAN, failure=replace(MASK, message="killed for memory")), kv_cache_dtype="bf16")
    verdict = replace(
        ISOLATED,
        trials=(killed, *(t for t in ISOLATED.trials if t.id != 3)),
        limits=(Limit("kv_cache_dtype", "bf16", 3, "auto", 1),),
    )
    later = "another failure comes later: AssertionError: killed for memory"
    first, second = told(verdict)["Workaround"].split("\n")
    assert (first, later in second) == ("--disable-cuda-graph   (clean in 1 of 1, trial 5)", True)
    assert told(verdict)["It works up to"].startswith(f"--kv-cache-dtype bf16 is clean (trial 3; {later})")


def test_a_way_out_that_was_looked_for_is_the_headline() -> None:
    verdict = replace(ISOLATED, status=VerdictStatus.WORKAROUND)
    assert headline(CASE, verdict) == "Workaround found: --kv-cache-dtype bf16"


def test_nothing_is_sure_by_nought_percent() -> None:
    assert "0 %" not in findings(CASE, NOT_REPRODUCED)
    assert "**isolated** (99.4 %)" in findings(CASE, ISOLATED)


def test_without_probes_nobody_is_told_to_raise_the_load() -> None:
    def advice(mode: Mode) -> str:
        return dict(facts(replace(CASE, mode=mode), NOT_REPRODUCED, ""))["What to do"]

    assert "probes" in advice(Mode.SERVE)
    assert "probes" not in advice(Mode.JOB)


def test_elsewhere_is_not_told_again_as_the_only_hypothesis() -> None:
    alone = (Hypothesis("elsewhere: no factor takes part", 1.0, HypothesisStatus.CONFIRMED),)
    verdict = replace(ISOLATED, status=VerdictStatus.ELSEWHERE, elsewhere=Elsewhere(1.0), causes=(), hypotheses=alone)
    assert headline(CASE, verdict).startswith("Elsewhere (> 99.9 %)")
    assert "Hypothesis" not in told(verdict)


def test_a_failure_that_is_reported_late_is_said_to_be_until_it_was_watched() -> None:
    assert "noticed" in told(ISOLATED)["Reported late"]
    outcome = replace(REPRODUCED, observed=(Observation("it fails in sampler.py:forward"),))
    watched = replace(trial(7, outcome), instruments=Configuration(CUDA_LAUNCH_BLOCKING="1"))
    rows = told(replace(ISOLATED, trials=(*ISOLATED.trials, watched)))
    assert "Reported late" not in rows
    assert rows["Watched"] == "it fails in sampler.py:forward [trial 7]"


def test_a_person_who_called_a_trial_masked_is_quoted() -> None:
    said = replace(MASKED, by_person=True, failure=None, reason="marked other by a person, was clean: the GPU was gone")
    rows = told(replace(ISOLATED, trials=(trial(2, said),), masked=(Masked(Configuration(), "", 2),)))
    assert rows["Masked, says nothing"] == f"trial 2: {said.reason}"
