"""Which change would tell of a suspect on this very run: one that is not in effect, that this release knows, that fits.

What the engine resolved counts, not what was asked for: a level that is in effect already would tell nothing, and one
for other hardware, or one that lies on the failing path itself, would fail for reasons of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ruleout.diagnosis.components import COMPONENTS
from ruleout.diagnosis.flags import spelt
from ruleout.diagnosis.ran import in_effect, number, on_cpu, says, sparse
from ruleout.model import ABSENT, Component, FailureClass, Stage
from ruleout.model.diagnosis import ChosenBy, Diagnosis, Suspect

C = Component

OPEN = frozenset({C.MEMORY, C.SPEC_DECODE, C.SCHEDULER, C.ATTENTION_BACKEND, C.KV_CACHE_DTYPE})
"""Components whose change is told by the run's own figures and flags, also where a rule names no flag."""
_GPU_ONLY = frozenset({C.ATTENTION_BACKEND, C.KERNEL_ARCH_SUPPORT, C.CUDA_GRAPH, C.ALLREDUCE, C.QUANTIZATION})
_LATER = frozenset({C.ATTENTION_BACKEND, C.KV_CACHE_DTYPE, C.QUANTIZATION, C.MOE_RUNNER, C.SCHEDULER, C.SAMPLING,
                    C.CUDA_GRAPH, C.KERNEL_ARCH_SUPPORT})  # fmt: skip
"""Components whose choice changes nothing before something is computed."""
_FORMATS = {
    "--fp4-gemm-backend": r"(?i)(?:nv|mx|opt_)fp4|fp4_gemm|mm_fp4|Fp4Gemm",
    "--fp8-gemm-backend": r"(?i)fp8|e4m3",
    "--linear-backend": r"(?i)(?:nv|mx|opt_)fp4|fp4_gemm|mm_fp4|fp8",
}
"""Flags that are about one format of the weights, and what tells that the run has it."""
_ATTENTION = re.compile(r"attention|attn|fmha|mla")
_CHOICES = re.compile(r"(?i)one of|choose from|supported:|expects")
_ESTIMATE = re.compile(r"estimated maximum model length is (\d+)")
_LENGTHS = ("max_model_len", "max_seq_len", "context_length", "ctx_size")
_LENGTH = {"vllm": "--max-model-len", "sglang": "--context-length", "llama.cpp": "--ctx-size"}
_LENGTH_MATTERS = re.compile(r"(?i)KV cache|max(?:imum)?[ _](?:seq|model)|context")
_SHARES = {"sglang": "mem_fraction_static", "vllm": "gpu_memory_utilization"}
_FIXED = ("kv_cache_memory_bytes", "num_gpu_blocks_override", "max_total_tokens")
"""Settings that give the KV cache its size by themselves."""
_BUILDING = re.compile(r"create_weights|load_weights|load_model|weight_loader")
"""Where memory goes to weights, whatever stage the log had come to."""
_SHORTEST, _LEAST = 1024, 0.3
AFTER_CACHE = frozenset(
    {Stage.KERNEL_COMPILE, Stage.CUDA_GRAPH_CAPTURE, Stage.WARMUP, Stage.READY, Stage.PREFILL, Stage.DECODE,
     Stage.CONCURRENCY}
)  # fmt: skip


def alternative(diagnosis: Diagnosis, suspect: Suspect) -> dict[str, str]:
    """The change that would tell most of this suspect, as this release spells it; empty where none is known.

    A rule's own change comes first. Where a rule names none, the rule knows better than its component, except for OPEN.
    """
    for change in _candidates(diagnosis, suspect):
        known = spelt(diagnosis.engine, change)
        if known and (left := {flag: level for flag, level in known.items() if not in_effect(diagnosis, flag, level)}):
            return left
    return {}


def _candidates(diagnosis: Diagnosis, suspect: Suspect) -> Iterator[Mapping[str, str]]:
    fixed = suspect.fix.get("set")
    if isinstance(fixed, dict):
        yield fixed
    kernels = suspect.component in (C.ATTENTION_BACKEND, C.KERNEL_ARCH_SUPPORT) and not on_cpu(diagnosis)
    if kernels and diagnosis.engine.name == "sglang" and sparse(diagnosis):
        # Dense attention, which needs no kernels of DSA: https://github.com/voipmonitor/rtx6kpro (models/glm5.md)
        yield {"--attention-backend": "flashinfer", "--kv-cache-dtype": "bf16"}
    if suspect.rule and not fixed and suspect.component not in OPEN and not _too_large(diagnosis):
        return
    if suspect.component in _LATER and _too_early(diagnosis):
        return
    if suspect.component is C.MEMORY:
        yield from _room(diagnosis)
    if suspect.component is C.SPEC_DECODE:
        asked = [s for s in diagnosis.settings if s.name.startswith("speculative_") and s.chosen_by is ChosenBy.USER]
        yield {f"--{s.name.replace('_', '-')}": ABSENT for s in asked}
    if suspect.component in _GPU_ONLY and on_cpu(diagnosis):
        return
    if suspect.component is C.ALLREDUCE and diagnosis.environment.tp == 1:
        return
    products = suspect.component is C.KERNEL_ARCH_SUPPORT and not suspect.rule and not _about_attention(diagnosis)
    for component in (C.QUANTIZATION, suspect.component) if products else (suspect.component,):
        for change in COMPONENTS[component].changes.get(diagnosis.engine.name, ()):
            if all(_fits(diagnosis, suspect, flag, level) for flag, level in change.items()):
                yield change


def _too_early(diagnosis: Diagnosis) -> bool:
    """Nothing computes yet: processes only find each other, or names of weights find no place."""
    if diagnosis.stage is Stage.DISTRIBUTED_INIT:
        return True
    failure = diagnosis.failure
    return bool(
        failure
        and diagnosis.stage is Stage.WEIGHT_LOAD
        and (failure.class_ is FailureClass.MISSING_WEIGHTS or failure.exception == "KeyError")
    )


def _too_large(diagnosis: Diagnosis) -> bool:
    """A kernel of attention is too large for this GPU: another backend has others."""
    failure = diagnosis.failure
    return bool(failure and failure.class_ is FailureClass.SHARED_MEMORY and _about_attention(diagnosis))


def _about_attention(diagnosis: Diagnosis) -> bool:
    failure = diagnosis.failure
    return bool(failure and any(_ATTENTION.search(text) for text in (failure.text, failure.message, *failure.frames)))


def _room(diagnosis: Diagnosis) -> Iterator[dict[str, str]]:
    """Changes that leave more memory where it ran out: what the message estimates, else less of the present figure.

    Only what takes that memory is worth a try. A share of the GPU, or a length, decides on the KV cache: neither helps
    a start that has not come as far, and none of them changes what the host needs.
    """
    failure, engine = diagnosis.failure, diagnosis.engine.name
    text = failure.text + failure.message if failure else ""
    if failure and failure.class_ is FailureClass.HOST_OOM_KILL:
        return
    if found := _ESTIMATE.search(text):
        if int(found[1]) >= _SHORTEST:  # less is no use to anybody
            yield {"--max-model-len": found[1]}
        return
    if given := [s.name for s in diagnosis.settings if s.name in _FIXED and s.chosen_by is ChosenBy.USER]:
        yield {f"--{name.replace('_', '-')}": ABSENT for name in given}  # so many bytes, whatever the share
        return
    share = number(diagnosis, _SHARES.get(engine, ""))
    has_cache = _has_cache(diagnosis)
    if engine == "sglang" and has_cache:
        graphs = {"--cuda-graph-max-bs": "8"} if diagnosis.stage is Stage.CUDA_GRAPH_CAPTURE else {}
        yield {"--mem-fraction-static": _figure(max(_LEAST, (share or 0.8) - 0.1)), **graphs}
    if engine == "vllm" and "No available memory" in text and (share or 0.9) < 0.9:
        yield {"--gpu-memory-utilization": "0.95"}
    elif engine == "vllm" and has_cache and "out of memory" in text:
        yield {"--gpu-memory-utilization": _figure(max(_LEAST, (share or 0.9) - 0.1))}
    batch = number(diagnosis, "max_num_batched_tokens")
    if engine == "vllm" and not has_cache and diagnosis.stage in AFTER_CACHE and batch and batch >= 2 * _SHORTEST:
        yield {"--max-num-batched-tokens": str(int(batch // 2))}  # of so many is the run that is measured
    length = next((value for name in _LENGTHS if (value := number(diagnosis, name))), None)
    matters = engine == "llama.cpp" or _LENGTH_MATTERS.search(text)  # the others give the cache a share of the GPU
    if engine in _LENGTH and length and length >= 2 * _SHORTEST and matters:
        yield {_LENGTH[engine]: str(int(length // 2))}


def _has_cache(diagnosis: Diagnosis) -> bool:
    """Whether the KV cache was there when memory ran out, as far as the log tells."""
    failure = diagnosis.failure
    if diagnosis.stage not in AFTER_CACHE or (failure and any(_BUILDING.search(frame) for frame in failure.frames)):
        return False
    began = [span.name for span in diagnosis.stages if not failure or span.line <= failure.line]
    early = Stage.WEIGHT_LOAD in began and not (
        {Stage.KV_CACHE_ALLOC, Stage.CUDA_GRAPH_CAPTURE, Stage.READY} & {*began}
    )
    return not (early and diagnosis.stage in (Stage.KERNEL_COMPILE, Stage.WARMUP, Stage.PREFILL))


def _figure(share: float) -> str:
    return f"{share:.2f}".rstrip("0")


def _fits(diagnosis: Diagnosis, suspect: Suspect, flag: str, level: str) -> bool:
    """The level is made for this hardware and these weights, and is not what fails: no frame leads through it."""
    if flag in _FORMATS and not says(diagnosis, suspect, _FORMATS[flag]):
        return False
    word = level.lower().partition("_")[0]
    frames = diagnosis.failure.frames if diagnosis.failure else ()
    if word == "flashinfer" and (diagnosis.environment.sm or "").startswith("gfx"):
        return False
    said = diagnosis.failure.message if diagnosis.failure else ""
    places = [*frames, "" if _CHOICES.search(said) else said]
    return not word or not any(word in place.lower() for place in places)
