"""For which part of the stack a birth speaks, and in which words it is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ruleout.model import Component
from ruleout.model.trace import BadWeight, Phase, TensorStats
from ruleout.model.traced import Birth, Found, Trace, TraceCoverage
from ruleout.numerics.speaking import speaks_for
from ruleout.numerics.telling import told

BIRTH = Birth("model.layers.2.mlp", "LlamaMLP", "aten.mul.Tensor", Phase.DECODE, 3, 1, "nan")
STATS = TensorStats("weight", (2, 4), "float32", nan=1, inf=2)


@pytest.mark.parametrize(
    ("module", "class_", "operation", "component"),
    [
        ("model.rotary_emb", "LlamaRotaryEmbedding", "aten.bmm.default", Component.ROPE_CONFIG),
        ("model.layers.2.self_attn", "LlamaAttention", "aten._softmax.default", Component.ATTENTION_BACKEND),
        ("model.layers.2.self_attn.attn", "RadixAttention", "", Component.ATTENTION_BACKEND),
        ("model.layers.2.self_attn.indexer", "GlmMoeDsaIndexer", "", Component.ATTENTION_BACKEND),
        ("model.layers.2.mlp.experts", "FusedMoE", "", Component.MOE_RUNNER),
        ("model.layers.2.mlp.experts.3.down_proj", "Linear", "aten.mm.default", Component.MOE_RUNNER),
        ("model.layers.2.mlp.gate", "GlmMoeDsaTopkRouter", "aten.div.Tensor", Component.MOE_RUNNER),
        ("model.layers.2.mlp.down_proj", "Linear", "_C.cutlass_scaled_mm.default", Component.QUANTIZATION),
        ("model.layers.2.self_attn.o_proj", "Fp8Linear", "", Component.QUANTIZATION),
        ("model.layers.2.self_attn.q_proj", "Linear", "aten.addmm.default", None),
        ("model.layers.2.input_layernorm", "LlamaRMSNorm", "aten.rsqrt.default", None),
        ("model.layers.2.mlp.gate_proj", "Linear", "aten.mm.default", None),
        ("", "LlamaForCausalLM", "", None),
    ],
)
def test_a_place_speaks_for_a_component(module: str, class_: str, operation: str, component: Component | None) -> None:
    birth = replace(BIRTH, module=module, class_=class_, operation=operation)
    found, weight = speaks_for(Found.OPERATION, birth)
    assert found is component
    assert (0 < weight < 1) if component else weight == 0


def test_weights_speak_for_the_checkpoint_wherever_it_shows() -> None:
    assert (
        speaks_for(Found.WEIGHTS, replace(BIRTH, module="model.layers.2.self_attn"))[0] is Component.WEIGHTS_CHECKPOINT
    )


def test_what_another_rank_sent_speaks_for_the_exchange() -> None:
    assert speaks_for(Found.MODULE, replace(BIRTH, collective="c10d.allreduce_"))[0] is Component.ALLREDUCE


def test_a_failure_without_bad_numbers_speaks_for_nothing() -> None:
    assert speaks_for(Found.FAILURE, None) == (None, 0.0)


def test_a_birth_in_a_sentence() -> None:
    where = "model.layers.2.mlp (LlamaMLP) by aten.mul.Tensor, in decode, step 3, rank 1"
    assert told(Trace(Found.OPERATION, BIRTH)) == f"NaN born in {where}"
    unsure = replace(BIRTH, operation="", exact=False, non_finite="inf", phase=Phase.UNKNOWN, step=None, rank=None)
    assert told(Trace(Found.MODULE, unsure)) == (
        "an infinity born in model.layers.2.mlp (LlamaMLP), in an unknown phase, or in its parent's code just before it"
    )


def test_a_weight_in_a_sentence() -> None:
    weight = BadWeight(STATS, "m.safetensors", "model.layers.2.mlp.down_proj.weight")
    assert told(Trace(Found.WEIGHTS, None, (weight,))) == (
        "1 NaN and 2 infinite in the weight model.layers.2.mlp.down_proj.weight, as read from m.safetensors; "
        "where it comes out was not seen"
    )
    reached = told(Trace(Found.WEIGHTS, replace(BIRTH, phase=Phase.PREFILL), (weight, weight)))
    assert reached.endswith(
        "and 1 others, as read from m.safetensors: it comes out of model.layers.2.mlp (LlamaMLP), in prefill"
    )


def test_that_nothing_was_found_is_told_with_its_limits() -> None:
    seen = TraceCoverage(modules=12, hidden=("compiled code hides what is inside of model",))
    assert told(Trace(Found.NOTHING, coverage=seen)) == (
        "nothing failed, and every number that was seen was finite "
        "(12 modules seen; not all: compiled code hides what is inside of model)"
    )
    weight = BadWeight(STATS, "m.safetensors", "model.layers.2.mlp.down_proj.weight")
    assert told(Trace(Found.NOTHING, weights=(weight, weight))).endswith(
        "; what is not finite in model.layers.2.mlp.down_proj.weight and 1 more came out of no module"
    )
    assert told(Trace(Found.FAILURE, coverage=TraceCoverage(modules=12))) == (
        "no number was bad before it failed (12 modules seen)"
    )
