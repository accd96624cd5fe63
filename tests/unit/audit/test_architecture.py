"""Whether an engine knows a model: code that comes with the folder matters only where the engine has none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.models import model, spoil
from tests.support.rope_variants import GLM

from ruleout.audit import ModelFolder, audit
from ruleout.model.audit import Launch

CODE = {"AutoConfig": "configuration_own.OwnConfig", "AutoModelForCausalLM": "modeling_own.OwnForCausalLM"}


@pytest.mark.parametrize(
    ("model_type", "launch", "expected"),
    [
        ("deepseek_v3", Launch("vllm", "0.32.0"), False),
        ("phi3", Launch("sglang", "0.5.23"), False),
        ("phi3", Launch("transformers"), False),
        ("deepseek_v3", Launch("transformers", "5.24.0"), False),
        ("glm_moe_dsa", Launch("transformers", "4.57.0"), True),
        ("brand_new", Launch("vllm", "0.32.0"), True),
        ("brand_new", Launch("transformers"), True),
        ("brand_new", Launch("vllm", "0.32.0", {"trust_remote_code": "present"}), False),
        ("brand_new", Launch("command"), False),
    ],
)
def test_code_that_comes_with_the_model_matters_where_the_engine_has_none(
    tmp_path: Path, model_type: str, launch: Launch, expected: bool
) -> None:
    folder = model(tmp_path / "m", {**GLM, "auto_map": CODE})
    spoil(folder / "config.json", model_type=model_type)
    found = audit(ModelFolder(folder), launch).findings
    assert any(finding.id == "remote-code-not-trusted" for finding in found) is expected
