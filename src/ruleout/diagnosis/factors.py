"""From suspects to factors: what a log makes likely is asked first, and nothing is believed for it.

A factor belongs to a component by the words of its flag, variable or name, which engines choose alike. A suspect's
probability is shared by the factors that its fix sets, that its lines name or that belong to its component; what falls
to no factor (a checkpoint, a driver, what nobody explained) favours none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod

from ruleout.model import Component, Factor
from ruleout.model.diagnosis import Suspect

C = Component

_WORDS: tuple[tuple[str, Component], ...] = (
    (r"kv_?(?:cache_?)?(?:dtype|type|quant)|cache_type|kv4|kv_fp", C.KV_CACHE_DTYPE),
    (r"specul|draft|mtp|eagle|nextn|medusa", C.SPEC_DECODE),
    (r"moe|expert|deep_?ep|(?:^|_)ep(?:_|$)|eplb", C.MOE_RUNNER),
    (r"rope|yarn|rotary", C.ROPE_CONFIG),
    (r"all_?reduce|mscclpp|symm_mem", C.ALLREDUCE),
    (r"nccl|p2p|(?:^|_)ib_|infiniband|gloo|dist_", C.NCCL),
    (r"attn|attention|mla|(?:prefill|decode)_backend|nsa|dsa|flash", C.ATTENTION_BACKEND),
    (r"quant|gemm|fp4|fp8|awq|gptq|marlin|linear_backend|scale", C.QUANTIZATION),
    (r"graph|eager|compile|inductor", C.CUDA_GRAPH),
    (r"tokenizer|chat_template|parser", C.TOKENIZER_TEMPLATE),
    (r"sampl|grammar|guided|structured|temperature|penalt", C.SAMPLING),
    (r"mem|kv_?cache_?(?:space|bytes)|max_model_len|context|offload|swap|utili[sz]ation", C.MEMORY),
    (r"chunk|radix|prefix|overlap|schedul|batch|num_seqs|async|preempt|concurren|running_req|disagg", C.SCHEDULER),
    (r"load_format|checkpoint|weight|revision|(?:^|_)model(?:_path|_dir)?$", C.WEIGHTS_CHECKPOINT),
    (r"transformers", C.TRANSFORMERS_VERSION),
    (r"vllm|sglang|torch|flashinfer|triton|cuda|driver|python|version", C.INSTALL_ABI),
)
_COMPONENTS = tuple((re.compile(words), component) for words, component in _WORDS)

_ALSO: dict[Component, frozenset[Component]] = {
    C.KERNEL_ARCH_SUPPORT: frozenset({C.ATTENTION_BACKEND, C.MOE_RUNNER, C.QUANTIZATION}),
}
"""A component that no setting stands for, and those whose settings choose other kernels instead."""
FIXED = 0.5
"""The share of a suspect's probability that goes to the factors its fix sets or its lines name, where there are any."""


def component_of(factor: Factor) -> Component | None:
    """The component that a factor belongs to; None when its names say nothing."""
    return component_named(factor.target) or component_named(factor.name)


def component_named(name: str) -> Component | None:
    """The component that a flag, a variable or a setting belongs to by its words; None when they say nothing."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return next((component for words, component in _COMPONENTS if plain and words.search(plain)), None)


def priors(suspects: Iterable[Suspect], factors: Sequence[Factor]) -> dict[str, float]:
    """How likely each factor is to take part in the cause, as far as suspects tell; all add up to 1.

    Empty when the suspects speak of no factor: then nothing favours any. Proxies take no part.
    """
    real = [factor for factor in factors if not factor.proxy and len(factor.levels) > 1]
    told = dict.fromkeys((factor.name for factor in real), 0.0)
    components = {factor.name: component_of(factor) for factor in real}
    for suspect in suspects:
        own = {suspect.component} | _ALSO.get(suspect.component, frozenset())
        belonging = [name for name, component in components.items() if component in own]
        fixed = [factor.name for factor in real if _sets(suspect, factor) or _named(suspect, factor)]
        _share(told, fixed, suspect.probability * (FIXED if belonging else 1.0))
        _share(told, belonging, suspect.probability * (1.0 - FIXED if fixed else 1.0))
    if not any(told.values()):
        return {}
    left = max(0.0, 1.0 - sum(told.values())) / len(real)
    total = sum(told.values()) + left * len(real)
    return {name: (p + left) / total for name, p in told.items()}


def spoken_of(suspects: Iterable[Suspect], factor: Factor) -> float:
    """The probability of the suspects that speak of a factor, by its component, or since their fix or lines name it."""
    return sum(suspect.probability for suspect in suspects if _speaks_of(suspect, factor))


def of_no_factor(suspects: Iterable[Suspect], factors: Sequence[Factor]) -> float:
    """How likely one of the suspects is right that speak of none of these factors, each for itself."""
    real = [factor for factor in factors if not factor.proxy and len(factor.levels) > 1]
    beside = [suspect for suspect in suspects if not any(_speaks_of(suspect, factor) for factor in real)]
    return 1 - prod(1 - suspect.probability for suspect in beside)


def _speaks_of(suspect: Suspect, factor: Factor) -> bool:
    own = {suspect.component} | _ALSO.get(suspect.component, frozenset())
    return _sets(suspect, factor) or _named(suspect, factor) or component_of(factor) in own


def _share(told: dict[str, float], names: Sequence[str], probability: float) -> None:
    for name in names:
        told[name] += probability / len(names)


def _sets(suspect: Suspect, factor: Factor) -> bool:
    """The suspect's fix sets this factor's flag or variable."""
    fixed = suspect.fix.get("set")
    return bool(factor.target) and isinstance(fixed, dict) and factor.target in fixed


def _named(suspect: Suspect, factor: Factor) -> bool:
    """A line that speaks for the suspect names this factor's flag or variable."""
    word = re.compile(rf"(?<![\w-]){re.escape(factor.target)}(?![\w-])") if factor.target else None
    return word is not None and any(word.search(line.text) for line in suspect.evidence)
