"""`ruleout.diagnosis/1` to the contract's letter, and its words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ruleout.model import (
    ChosenBy,
    Component,
    DiagnosedFailure,
    Diagnosis,
    EngineId,
    Environment,
    Evidence,
    FailureClass,
    LogOutcome,
    LogSource,
    LogWarning,
    ProposedStep,
    Setting,
    Stage,
    StageSpan,
    StepKind,
    Suspect,
)
from ruleout.model.diagnosis import SURVIVED
from ruleout.report import diagnosis as words
from ruleout.report.diagnosis import diagnosis_document

FULL = Diagnosis(
    EngineId("sglang", "0.5.9"),
    LogOutcome.CRASH,
    Stage.DECODE,
    (StageSpan(Stage.WEIGHT_LOAD, 41, 312.0),),
    DiagnosedFailure(
        FailureClass.DEVICE_SIDE_ASSERT, "5f2c", "…", 812, 0, True, (Evidence("server.log", 840, "Received sigquit"),)
    ),
    Environment(gpu="RTX PRO 6000", sm="120", gpus=8, tp=8, model="/models/GLM-5-NVFP4/", model_type="glm_moe_dsa"),
    (Setting("kv_cache_dtype", "auto", "fp8_e4m3", ChosenBy.ENGINE, 7),),
    (LogWarning(12, "RoPE"),),
    (Suspect(Component.KERNEL_ARCH_SUPPORT, "c", 0.41, "r", (), {"set": {"--kv-cache-dtype": "bf16"}}, "t"),),
    0.59,
    ("kv_cache_dtype",),
    (ProposedStep(StepKind.TRIAL, "why", {"--kv-cache-dtype": "bf16"}, "…", 12.0),),
    sources=(LogSource("server.log", 1214, 99_000),),
)  # fmt: skip


def test_every_key_of_the_contract_is_there_under_its_name() -> None:
    document = diagnosis_document(FULL)
    assert document["schema"] == "ruleout.diagnosis/1"
    assert document["engine"] == {"name": "sglang", "version": "0.5.9"}
    assert (document["outcome"], document["stage"]) == ("crash", "decode")
    assert document["stages"][0] == {"name": "weight_load", "line": 41, "seconds": 312.0, "source": ""}
    failure = document["failure"]
    assert {key: failure[key] for key in ("class", "signature", "message", "line", "rank", "asynchronous")} == {
        "class": "device_side_assert", "signature": "5f2c", "message": "…", "line": 812, "rank": 0,
        "asynchronous": True,
    }  # fmt: skip
    assert failure["consequences"] == [{"source": "server.log", "line": 840, "text": "Received sigquit"}]
    assert {"gpu", "sm", "gpus", "cuda", "torch", "transformers", "model", "model_type", "quantization", "tp"} <= set(
        document["environment"]
    )
    setting = {"name": "kv_cache_dtype", "requested": "auto", "resolved": "fp8_e4m3", "chosen_by": "engine", "line": 7}
    assert setting.items() <= document["settings"][0].items()
    assert {"line", "text", "weight", "why"} <= set(document["warnings"][0])
    assert {"component", "claim", "probability", "rule", "evidence", "fix", "test", "behind"} == set(
        document["suspects"][0]
    )
    assert document["suspects"][0]["component"] == "kernel_arch_support"
    assert document["never_varied"] == ["kv_cache_dtype"]
    assert {"kind", "change", "command", "why", "minutes", "cost"} == set(document["next"][0])
    json.dumps(document, allow_nan=False)


def test_what_nobody_knows_is_null_or_empty() -> None:
    document = diagnosis_document(Diagnosis(EngineId(), LogOutcome.UNKNOWN, Stage.UNKNOWN))
    assert document["failure"] is None
    assert document["environment"]["gpu"] is None
    assert document["suspects"] == document["next"] == document["never_varied"] == document["settings"] == []
    assert document["unexplained"] == 1.0


def test_a_name_that_is_no_text_becomes_one() -> None:
    odd = Diagnosis(EngineId(), LogOutcome.UNKNOWN, Stage.UNKNOWN, sources=(LogSource("caf\udce9.log", 1, 1),))
    json.dumps(diagnosis_document(odd), ensure_ascii=False).encode()


def test_what_ran_is_told_in_the_order_in_which_people_say_it() -> None:
    assert " · ".join(words.what_ran(FULL)) == (
        "SGLang 0.5.9 · GLM-5-NVFP4 (glm_moe_dsa) · 8 × RTX PRO 6000 (SM120) · TP 8"
    )


@pytest.mark.parametrize("stage", list(Stage))
@pytest.mark.parametrize("kind", list(FailureClass))
def test_every_stage_and_class_has_words_of_people(stage: Stage, kind: FailureClass) -> None:
    told = words.stage(stage) + words.class_(kind)
    assert "_" not in told


@pytest.mark.parametrize("outcome", [LogOutcome.HEALTHY, LogOutcome.STOPPED])
def test_a_run_that_survived_something_is_not_said_to_have_had_nothing_fail(outcome: LogOutcome) -> None:
    told = words.conclusion(replace(FULL, outcome=outcome, failure=None, warnings=(LogWarning(77, "E", why=SURVIVED),)))
    assert "nothing failed" not in told
    assert "line 77" in told
    many = tuple(LogWarning(line, "E", why=SURVIVED) for line in (77, 91))
    assert "2 errors" in words.conclusion(replace(FULL, outcome=outcome, failure=None, warnings=many))


def test_a_stopped_run_whose_request_failed_says_so_and_how_far_it_came() -> None:
    spans = (StageSpan(Stage.READY, 4), StageSpan(Stage.DECODE, 9))
    told = words.conclusion(replace(FULL, outcome=LogOutcome.STOPPED, stage=Stage.READY, stages=spans))
    assert "a request failed" in told
    assert told.endswith("it came as far as decode")
