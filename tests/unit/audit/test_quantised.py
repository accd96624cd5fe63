"""Which layers a configuration quantises, in the spelling of each writer, and how they are stored."""

from __future__ import annotations

import time

import pytest

from ruleout.audit import quantised
from ruleout.audit.quantised_patterns import Patterns
from ruleout.audit.quantised_reading import NotKnown, declared


@pytest.mark.parametrize(
    ("pattern", "meant", "other"),
    [
        ("lm_head", "lm_head", "lm_head2"),
        ("model.layers.0", "model.layers.0.mlp.up_proj", "model.layers.01.mlp.up_proj"),
        ("model.layers.3.self_attn*", "model.layers.3.self_attn.q_proj", "model.layers.4.self_attn.q_proj"),
        ("*shared_experts*", "model.layers.9.mlp.shared_experts.up_proj", "model.layers.9.mlp.experts.1.up_proj"),
        ("re:.*self_attn.*", "model.layers.1.self_attn.o_proj", "model.layers.1.mlp.up_proj"),
        ("re:model\\.layers\\.[12]\\..*", "model.layers.2.mlp.up_proj", "model.layers.3.mlp.up_proj"),
    ],
)
def test_a_pattern_means_what_its_writer_meant(pattern: str, meant: str, other: str) -> None:
    assert Patterns([pattern]).match(meant)
    assert not Patterns([pattern]).match(other)


def test_names_of_awq_match_in_the_middle() -> None:
    assert Patterns(["visual"], inside=True).match("model.visual.blocks.0")
    assert not Patterns(["visual"]).match("model.visual.blocks.0")


def test_a_hostile_pattern_takes_no_time() -> None:
    began = time.monotonic()
    patterns = Patterns(["re:(a+)+$", "re:(a|aa)+$", "*" * 60 + "b", "a*" * 30 + "b", "re:(?=look)x"])
    assert not patterns.match("a" * 5000 + "!")
    assert time.monotonic() - began < 5


def test_exclusions_and_groups_are_read_in_each_spelling() -> None:
    for config, left_out, kept in (
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}, "lm_head", "a.b"),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "exclude_modules": ["a*"]}, "a.b", "lm_head"),
        ({"quant_method": "fp8", "modules_to_not_convert": ["lm_head"]}, "lm_head", "a.b"),
        ({"quant_method": "fp8", "ignored_layers": ["lm_head"], "weight_block_size": [128, 128]}, "lm_head", "a.b"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64, "modules_to_not_convert": ["vis"]}, "a.vis.b", "a.b"),
    ):
        found = declared(config)
        assert found is not None
        assert found.scheme(left_out) is None
        assert found.scheme(kept) is not None


@pytest.mark.parametrize(
    "config",
    [
        {"quant_method": "bitsandbytes"},
        {},
        {"quant_method": "awq", "bits": 3},
        {"quant_method": "awq", "version": "marlin"},
        {"quant_method": "gptq", "bits": "4"},
        {"quant_method": "gptq", "bits": 4, "group_size": 0},
        {"quant_method": "gptq", "bits": 4, "group_size": 10**30},
        {"quant_method": "fp8", "weight_block_size": [128]},
        {"quant_method": "fp8", "weight_block_size": [0, 0]},
        {"quant_method": "modelopt", "quant_algo": "W1A1"},
        {"quant_method": "compressed-tensors"},
        {"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": 4}}},
        {"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {}}}, "format": ["x"]},
        {"quant_method": ["fp8"]},
    ],
)
def test_what_is_not_described_here_is_said(config: dict[str, object]) -> None:
    with pytest.raises(NotKnown):
        declared(config)


def test_layouts_are_those_of_the_writers() -> None:
    def shapes(scheme: quantised.Scheme) -> dict[str, tuple[int, ...]]:
        return {stored.suffix: stored.shapes[0] for stored in scheme.layout(256, 512) if stored.needed}

    assert shapes(quantised.nvfp4_modelopt(inputs=True)) == {
        "weight": (256, 256), "weight_scale": (256, 32), "weight_scale_2": (), "input_scale": (),
    }  # fmt: skip
    assert shapes(quantised.fp8_blocks(128, 128)) == {"weight": (256, 512), "weight_scale_inv": (2, 4)}
    assert shapes(quantised.awq(4, 128)) == {"qweight": (512, 32), "qzeros": (4, 32), "scales": (4, 256)}
    assert shapes(quantised.gptq(4, 128)) == {"qweight": (64, 256), "qzeros": (4, 32), "scales": (4, 256)}
    with pytest.raises(ValueError, match="groups of 16"):
        quantised.nvfp4_packed(inputs=False).layout(4, 24)
