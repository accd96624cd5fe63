"""Trials that notes tell of, as trials of a case: which factor and level is meant, and what cannot be taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.deployment import REPRODUCED, TARGET, FakeDeployment, case_of, factor, planted

from ruleout.investigation.noted import choices, noted, read_note
from ruleout.model import Case, Configuration, Factor, Mechanism, OutcomeKind, Trial, UsageError
from ruleout.reading.notes import read_notes
from ruleout.reasoning import assess, conclude

CASE = Case(
    "c",
    "sglang",
    ("serve", "--page-size", "16", "--quick"),
    (
        Factor("kv", Mechanism.FLAG, "--kv-cache-dtype", ("auto", "bfloat16", "fp8_e4m3"), "auto"),
        Factor("cuda_graph", Mechanism.FLAG, "--disable-cuda-graph", ("absent", "present"), "absent"),
        Factor("prefix", Mechanism.FLAG, "--enable-prefix-caching", ("present", "absent"), "present"),
        Factor("deep_gemm", Mechanism.ENV, "SGLANG_DEEP_GEMM", ("unset", "0"), "unset"),
        Factor("transformers", Mechanism.PYTHON, "", ("5.2.0", "4.57.1"), "5.2.0"),
        Factor("tensor_parallel", Mechanism.FLAG, "--tensor-parallel-size", ("8", "4"), "8"),
    ),
)


def taken(text: str, case: Case = CASE) -> list[tuple[Configuration, OutcomeKind]]:
    """What each told trial changes of the case, and its outcome."""
    return [
        (n.configuration.difference(case.baseline), n.told.outcome) for n in noted(case, read_notes(text.encode()))[0]
    ]


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("- `--kv-cache-dtype bf16`: ok", {"kv": "bfloat16"}),
        ("- `--kv_cache_dtype=fp8_e4m3`: ok", {"kv": "fp8_e4m3"}),
        ("- kv=bf16: ok", {"kv": "bfloat16"}),
        ("- `--disable-cuda-graph`: ok", {"cuda_graph": "present"}),
        ("- CUDA graphs off: ok", {"cuda_graph": "present"}),
        ("- `--no-enable-prefix-caching`: ok", {"prefix": "absent"}),
        ("- without `--enable-prefix-caching`: ok", {"prefix": "absent"}),
        ("- prefix caching disabled: ok", {"prefix": "absent"}),
        ("- `SGLANG_DEEP_GEMM=0`: ok", {"deep_gemm": "0"}),
        ("- transformers 4.57.1: ok", {"transformers": "4.57.1"}),
        ("- `--tp 4`: ok", {"tensor_parallel": "4"}),
        ("- `--kv-cache-dtype auto`: ok", {}),
    ],
)
def test_a_setting_is_known_by_its_name_its_flag_or_the_words_of_it(text: str, changes: dict[str, str]) -> None:
    assert taken(text) == [(Configuration(changes), OutcomeKind.CLEAN)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- `--moe-runner-backend triton`: ok", "--moe-runner-backend is no factor of the case"),
        ("- `--kv-cache-dtype int4`: ok", "kv has no such level (auto, bfloat16, fp8_e4m3)"),
        ("- `--kv-cache-dtype bf16`: inconclusive", "tells nothing"),
        ("- `--kv-cache-dtype bf16`", "no outcome is told"),
    ],
)
def test_what_cannot_be_taken_is_told_with_its_line(text: str, why: str) -> None:
    trials, left = noted(CASE, read_notes(f"# notes\n\n{text}\n".encode()))
    assert trials == []
    assert [(one.line, why in one.why) for one in left] == [(3, True)]


def test_each_run_counts_and_is_known_again() -> None:
    notes = read_notes(b"- `--kv-cache-dtype bf16`: crash 2 of 3\n", "n.md")
    first, again = noted(CASE, notes)[0], noted(CASE, notes)[0]
    assert [n.told.outcome.value for n in first] == ["reproduced", "reproduced", "clean"]
    assert len({n.digest for n in first}) == 3
    assert [n.digest for n in first] == [n.digest for n in again]


def test_a_told_outcome_is_hearsay_and_says_where_it_is_told() -> None:
    text = b"- baseline: crash\n- `--kv-cache-dtype bf16`: different error\n- `--kv-cache-dtype fp8_e4m3`: same\n"
    other, same = [n.outcome(TARGET) for n in noted(CASE, read_notes(text, "n.md"))[0]][1:]
    assert other.hearsay
    assert other.failure is not None
    assert other.failure.message == "different error"
    assert same.failure is TARGET
    assert "n.md, line 3" in same.reason


def test_what_only_the_notes_varied_may_become_a_factor() -> None:
    text = b"- baseline: crash\n- `--page-size 64`: ok\n- without `--quick`: ok\n- `A_B=1`: ok\n- vllm 0.1.2: ok\n"
    found = [(c.factor.target, c.factor.levels) for c in choices(CASE, [read_notes(text, "n.md")])]
    assert found == [("--page-size", ("16", "64")), ("--quick", ("present", "absent")), ("A_B", ("unset", "1"))]


def test_notes_that_cannot_be_read_are_told_in_two_lines(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.md"):
        read_note(str(tmp_path / "none.md"))
    (tmp_path / "binary").write_bytes(bytes(range(32)) * 100)
    with pytest.raises(UsageError, match="not a text"):
        read_note(str(tmp_path / "binary"))


# -- what is made of them --------------------------------------------------------------------------------------


def hearsay(made: FakeDeployment, number: int, lies: bool = False, **moved: str) -> Trial:
    """A trial that is only told of."""
    from dataclasses import replace

    configuration = made.case.baseline.moved(moved)
    outcome, minutes = made.run(configuration)
    if lies:
        kind = OutcomeKind.CLEAN if outcome.kind is OutcomeKind.REPRODUCED else OutcomeKind.REPRODUCED
        outcome = replace(outcome, kind=kind, failure=TARGET if kind is OutcomeKind.REPRODUCED else None)
    return Trial(number, configuration, "told", replace(outcome, hearsay=True), minutes, "")


def test_what_is_told_moves_beliefs_and_confirms_nothing() -> None:
    case = case_of(factor("a", "0", "1"), factor("b", "0", "1"), factor("c", "0", "1"))
    made = FakeDeployment(case, [{"a": frozenset({"0"})}])
    first = Trial(1, case.baseline, "the baseline", REPRODUCED, 1.0)
    told = [
        hearsay(made, 2, a="1"),
        hearsay(made, 3, b="1", c="1"),
        hearsay(made, 4, b="1"),
        hearsay(made, 5, c="1"),
        hearsay(made, 6),
    ]
    trials = [first, *told]
    assessment = assess(case, trials)
    verdict = conclude(case, trials, assessment, TARGET)
    assert assessment.beliefs.leader == ((0,),)
    assert not assessment.settled
    assert assessment.step is not None
    assert verdict.status.value == "narrowed"
    assert verdict.workarounds == ()
    assert verdict.ruled_out == ()
    confirmed = verdict.confirmed_by
    assert (confirmed.necessary, confirmed.complete, confirmed.baseline_again) == ((), (), None)


def test_planted_causes_are_found_with_notes_that_lie() -> None:
    for seed in range(4):
        made = planted((1,), seed, masks=0)
        name = next(iter(made.causes[0]))
        other = next(f for f in made.case.factors if f.name != name)
        trials = [Trial(1, made.case.baseline, "the baseline", REPRODUCED, 1.0)]
        trials.append(hearsay(made, 2, lies=True, **{other.name: other.others[0]}))
        assessment = assess(made.case, trials)
        while assessment.step is not None and len(trials) < 60:
            outcome, minutes = made.run(assessment.step.configuration)
            trials.append(Trial(len(trials) + 1, assessment.step.configuration, "", outcome, minutes, "log"))
            seen = {t.configuration for t in trials if t.outcome and not t.outcome.hearsay}
            believed = [t for t in trials if t.outcome and not (t.outcome.hearsay and t.configuration in seen)]
            assessment = assess(made.case, believed)
        verdict = conclude(made.case, trials, assessment, TARGET)
        if verdict.status.value == "isolated":
            assert [{c.factor for c in cause} for cause in verdict.causes] == [{name}]
