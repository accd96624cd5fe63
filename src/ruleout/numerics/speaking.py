"""Which part of the stack a birth speaks for: by where it is, and by what was computed. It moves odds and settles none.

Modules are named alike in all engines, since their names are those of the checkpoint.
"""

from __future__ import annotations

import re

from ruleout.model import Component
from ruleout.model.traced import Birth, Found

C = Component
Words = tuple[tuple[str, Component | None], ...]
_OPERATIONS: Words = (
    (r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all", C.ALLREDUCE),
    (r"fp8|fp4|int8|scaled_mm|marlin|gptq|awq|machete|quant", C.QUANTIZATION),
    (r"paged_attention|flash_attn|mla_|scaled_dot_product|unified_attention", C.ATTENTION_BACKEND),
    (r"fused_moe|grouped_gemm|grouped_mm|topk_softmax", C.MOE_RUNNER),
)
_PLACES: Words = (
    (r"rotary|rope", C.ROPE_CONFIG),
    (r"fp8|fp4|int8|quant|marlin|gptq|awq|bitsandbytes", C.QUANTIZATION),
    (r"experts?\b|moe(?:block)?\b|router|(?:^|\.)gate\b", C.MOE_RUNNER),  # not the Moe in a model's name
    (r"_proj\b|norm|lm_head|embed", None),  # a plain product or a norm inside of attention is not its backend
    (r"indexer|attn|attention", C.ATTENTION_BACKEND),
    (r"sampl|logits_process", C.SAMPLING),
    (r"eagle|medusa|mtp|draft|nextn", C.SPEC_DECODE),
)
_CHECKPOINT, _PLACE = 0.9, 0.6
"""How likely the component is by this alone: a weight that is bad in the file, a place in the model."""


def speaks_for(found: Found, born: Birth | None) -> tuple[Component | None, float]:
    """The component, and how likely it is the cause by this alone; none where the place says nothing."""
    if found is Found.WEIGHTS:
        return C.WEIGHTS_CHECKPOINT, _CHECKPOINT
    if born is None or born.outside:
        return None, 0.0
    if born.collective:
        return C.ALLREDUCE, _PLACE
    place = f"{born.module} {born.class_}"
    return _first(_OPERATIONS, born.operation) or _first(_PLACES, place) or (None, 0.0)


def _first(table: Words, text: str) -> tuple[Component, float] | None:
    component = next((component for words, component in table if re.search(words, text, re.IGNORECASE)), None)
    return None if component is None else (component, _PLACE)
