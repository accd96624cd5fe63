"""Two diagnoses that need no program: what mostly is the cause of such a class, and the first word that fits."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cases import Case
from measure import Told

from ruleout.diagnosis.rates import rates
from ruleout.model import Component, FailureClass

C = Component
WORDS: tuple[tuple[str, Component], ...] = (
    (r"(?i)out of memory|no available memory", C.MEMORY),
    (r"(?i)undefined symbol|ImportError|ModuleNotFoundError|no kernel image", C.INSTALL_ABI),
    (r"(?i)transformers", C.TRANSFORMERS_VERSION),
    (r"(?i)nccl", C.NCCL),
    (r"(?i)all_?reduce", C.ALLREDUCE),
    (r"(?i)unsupported arch|sm_?\d+|shared memory", C.KERNEL_ARCH_SUPPORT),
    (r"(?i)kv_?cache_?dtype|fp8.*kv|kv.*fp8", C.KV_CACHE_DTYPE),
    (r"(?i)moe|expert", C.MOE_RUNNER),
    (r"(?i)quant|fp4|fp8|awq|gptq", C.QUANTIZATION),
    (r"(?i)cuda_?graph|captur", C.CUDA_GRAPH),
    (r"(?i)attention|flash|mla", C.ATTENTION_BACKEND),
    (r"(?i)rope|rotary", C.ROPE_CONFIG),
    (r"(?i)specul|eagle|mtp|draft", C.SPEC_DECODE),
    (r"(?i)tokenizer|template", C.TOKENIZER_TEMPLATE),
    (r"(?i)weight|safetensors|checkpoint", C.WEIGHTS_CHECKPOINT),
)
"""What one would search a log for, in the order in which one would believe it."""


def by_class(cases: Sequence[Case]) -> list[Told]:
    """The base rates of the class that was read, without any count of these cases."""
    return [(rates(case.read_class or FailureClass.OTHER, {}), case.component) for case in cases]


def by_words(cases: Sequence[Case]) -> list[Told]:
    """The components whose words stand in the excerpt, in the order of the list."""
    found = []
    for case in cases:
        text = "\n".join(line.text for line in case.run.near)
        hits = [component for pattern, component in WORDS if re.search(pattern, text)]
        found.append(({component: 1.0 - n / 100 for n, component in enumerate(dict.fromkeys(hits))}, case.component))
    return found
