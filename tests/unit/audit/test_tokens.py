"""Special tokens, vocabularies and templates: one that is wrong in one place is told, and healthy ones are not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.models import model, spoil

from ruleout.audit import ModelFolder, audit
from ruleout.model.audit import Severity


def ids(folder: Path, *severities: Severity) -> set[str]:
    wanted = severities or (Severity.ERROR, Severity.WARNING)
    return {finding.id for finding in audit(ModelFolder(folder)).findings if finding.severity in wanted}


OTHERS = {"rope-interleave-ignored"}
"""What is true of a healthy GLM-MoE-DSA all the same."""


def test_a_healthy_folder_has_no_finding(tmp_path: Path) -> None:
    assert ids(model(tmp_path / "m")) == OTHERS


@pytest.mark.parametrize(
    ("name", "keys", "expected"),
    [
        ("config.json", {"eos_token_id": 512}, "token-beyond-vocabulary"),
        ("config.json", {"eos_token_id": [1, -3]}, "token-beyond-vocabulary"),
        ("config.json", {"pad_token_id": "2"}, "token-beyond-vocabulary"),
        ("generation_config.json", {"eos_token_id": [1, 9999]}, "token-beyond-vocabulary"),
        ("generation_config.json", {"eos_token_id": 2}, "eos-differs"),
        ("config.json", {"vocab_size": 100}, "tokenizer-beyond-vocabulary"),
        ("tokenizer_config.json", {"eos_token": "<|pad|>"}, "eos-differs"),
        ("tokenizer_config.json", {"eos_token": {"content": "<|gone|>"}}, "eos-unknown"),
        ("tokenizer_config.json", {"chat_template": "{% if x %}"}, "chat-template-syntax"),
        ("tokenizer_config.json", {"chat_template": [{"name": "a", "template": "{{"}]}, "chat-template-syntax"),
        ("tokenizer_config.json", {"chat_template": 5}, "chat-template-unreadable"),
        ("tokenizer.json", {"model": None}, "unreadable-file"),
        ("config.json", {"model_type": ...}, "model-type-missing"),
        ("config.json", {"model_type": "glm_moe_dsb"}, "model-type-unknown"),
        ("tokenizer_config.json", {"chat_template": " "}, "chat-template-empty"),
        ("config.json", {"architectures": None}, "architecture-missing"),
        ("config.json", {"architectures": ["LlamaForCausalLM"]}, "architecture-other-type"),
        ("config.json", {"mlp_layer_types": ["dense"]}, "layers-miscounted"),
        ("config.json", {"mlp_layer_types": ...}, "dense-layers-not-read"),
        ("config.json", {"index_topk": 0}, "index-topk"),
    ],
)
def test_what_was_spoilt_is_found(tmp_path: Path, name: str, keys: Mapping[str, Any], expected: str) -> None:
    folder = model(tmp_path / "m")
    spoil(folder / name, **keys)
    assert expected in ids(folder)


def test_a_folder_without_a_tokenizer_is_told(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    (folder / "tokenizer.json").unlink()
    assert "tokenizer-missing" in ids(folder, Severity.ERROR)


def test_a_pad_token_of_minus_one_is_how_llama_says_that_it_has_none(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    spoil(folder / "generation_config.json", pad_token_id=-1)
    spoil(folder / "config.json", pad_token_id=-1)
    assert ids(folder) == OTHERS


def test_a_negative_pad_token_is_no_error(tmp_path: Path) -> None:
    folder = model(tmp_path / "m")
    spoil(folder / "generation_config.json", pad_token_id=-100)
    assert ids(folder) == OTHERS
    assert "pad-token-negative" in ids(folder, Severity.NOTE)
    spoil(folder / "generation_config.json", pad_token_id=-1)
    assert "pad-token-negative" not in ids(folder, Severity.NOTE)
