"""Remedies that cannot work: a release of transformers that does not know the model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ruleout.diagnosis.remedies import impossible, possible, remedied
from ruleout.model import Component, Diagnosis, EngineId, Environment, LogOutcome, LogWarning, Stage, Suspect
from ruleout.model.model_types import first_releases


@pytest.mark.parametrize(
    "text",
    [
        "You can try downgrading to transformers==4.57.1 as a workaround.",
        "pip install 'transformers<5.0'",
        "Use transformers<=5.1.0.",
        "downgrade transformers to 4.57.6",
        "pip install transformers==5.1.0",
        "Please install transformers<5.2.0",
    ],
)
def test_a_release_from_before_the_model_is_no_remedy(text: str) -> None:
    why = impossible(text, "glm_moe_dsa")
    assert why.startswith("cannot work: transformers ")
    assert why.endswith("does not know glm_moe_dsa, 5.2.0 is the first to")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("pip install transformers==5.2.0", "glm_moe_dsa"),
        ("upgrade transformers to 5.3", "glm_moe_dsa"),
        ("pip install transformers>=4.57", "glm_moe_dsa"),
        ("downgrading to transformers==4.57.1", "llama"),
        ("downgrading to transformers==4.57.1", "nobody_s_model"),
        ("downgrading to transformers==4.57.1", None),
        ("transformers 4.57.1 is installed", "glm_moe_dsa"),
        ("downgrade torch to 2.4", "glm_moe_dsa"),
    ],
)
def test_where_nothing_speaks_against_it_nothing_is_said(text: str, kind: str | None) -> None:
    assert impossible(text, kind) == ""


def test_the_table_knows_when_models_came() -> None:
    first = first_releases()
    assert (first["glm_moe_dsa"], first["deepseek_v3"], first["gpt_oss"]) == ("5.2.0", "4.51.0", "4.55.0")
    assert "llama" not in first


def test_a_warning_and_a_fix_say_so() -> None:
    warning = LogWarning(3, "If you experience issues, use transformers==4.57.1")
    ran = Diagnosis(
        EngineId("sglang"), LogOutcome.CRASH, Stage.DECODE, environment=Environment(model_type="glm_moe_dsa")
    )
    told = remedied(replace(ran, warnings=(warning, LogWarning(4, "another"))))
    assert [bool(w.remedy) for w in told.warnings] == [True, False]
    suspect = Suspect(Component.TRANSFORMERS_VERSION, "c", 0.5, fix={"note": "pin transformers==4.57.1"})
    (checked,) = possible([suspect], "glm_moe_dsa")
    assert "cannot work" in str(checked.fix["note"])
    assert possible([suspect], "llama") == [suspect]
