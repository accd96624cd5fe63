"""How often each component was the cause, by the class of the failure: where one starts, before any clue.

Three sources. `COUNTED`: publicly discussed failures of SGLang, vLLM, TensorRT-LLM, lmdeploy, llama.cpp and
transformers (2025 and 2026), most with a cause that an experiment or a merged fix settled. `EXPECTED`: what the classes
mean, as a share of 6 more cases, so that a class that was seen twice is not taken for law. And 3 more cases are spread
over all components as the causes of all classes are, since the next failure may be one of a kind that was not seen yet.
"""

from __future__ import annotations

from ruleout.model import Component, FailureClass

C, F = Component, FailureClass

EXPECTED_CASES, SPREAD_CASES = 6.0, 3.0

EXPECTED: dict[FailureClass, dict[Component, float]] = {
    F.DEVICE_SIDE_ASSERT: {C.QUANTIZATION: 0.3, C.SCHEDULER: 0.25, C.KERNEL_ARCH_SUPPORT: 0.2, C.SPEC_DECODE: 0.15,
                           C.ATTENTION_BACKEND: 0.1},
    F.ILLEGAL_MEMORY_ACCESS: {C.ATTENTION_BACKEND: 0.2, C.MOE_RUNNER: 0.2, C.SPEC_DECODE: 0.2, C.SCHEDULER: 0.15,
                              C.CUDA_GRAPH: 0.15, C.OTHER: 0.1},
    F.NAN_INF: {C.QUANTIZATION: 0.25, C.KERNEL_ARCH_SUPPORT: 0.2, C.MOE_RUNNER: 0.2, C.ATTENTION_BACKEND: 0.15,
                C.WEIGHTS_CHECKPOINT: 0.1, C.KV_CACHE_DTYPE: 0.1},
    F.OOM: {C.MEMORY: 0.75, C.CUDA_GRAPH: 0.1, C.WEIGHTS_CHECKPOINT: 0.05, C.OTHER: 0.05, C.USER_CONFIG: 0.05},
    F.HOST_OOM_KILL: {C.MEMORY: 0.95, C.OTHER: 0.05},
    F.NO_KERNEL_IMAGE: {C.INSTALL_ABI: 0.6, C.KERNEL_ARCH_SUPPORT: 0.4},
    F.UNSUPPORTED_ARCH: {C.KERNEL_ARCH_SUPPORT: 0.85, C.ATTENTION_BACKEND: 0.15},
    F.SHARED_MEMORY: {C.KERNEL_ARCH_SUPPORT: 0.75, C.ATTENTION_BACKEND: 0.15, C.MOE_RUNNER: 0.1},
    F.KERNEL_LAUNCH_ERROR: {C.ALLREDUCE: 0.2, C.MOE_RUNNER: 0.2, C.QUANTIZATION: 0.2, C.KERNEL_ARCH_SUPPORT: 0.2,
                            C.CUDA_GRAPH: 0.1, C.OTHER: 0.1},
    F.ILLEGAL_INSTRUCTION: {C.KERNEL_ARCH_SUPPORT: 0.7, C.INSTALL_ABI: 0.2, C.OTHER: 0.1},
    F.INCOMPATIBLE_CONFIG_ASSERT: {C.ATTENTION_BACKEND: 0.2, C.USER_CONFIG: 0.2, C.KV_CACHE_DTYPE: 0.15,
                                   C.QUANTIZATION: 0.1, C.MOE_RUNNER: 0.1, C.SPEC_DECODE: 0.1, C.SCHEDULER: 0.05,
                                   C.KERNEL_ARCH_SUPPORT: 0.05, C.CUDA_GRAPH: 0.05},
    F.IMPORT_ABI: {C.INSTALL_ABI: 0.55, C.TRANSFORMERS_VERSION: 0.35, C.TOKENIZER_TEMPLATE: 0.1},
    F.MISSING_SYMBOL: {C.INSTALL_ABI: 0.85, C.TRANSFORMERS_VERSION: 0.15},
    F.UNKNOWN_MODEL_TYPE: {C.TRANSFORMERS_VERSION: 0.9, C.USER_CONFIG: 0.1},
    F.QUANT_FORMAT_MISMATCH: {C.QUANTIZATION: 0.6, C.WEIGHTS_CHECKPOINT: 0.3, C.MOE_RUNNER: 0.1},
    F.MISSING_WEIGHTS: {C.WEIGHTS_CHECKPOINT: 0.8, C.USER_CONFIG: 0.1, C.QUANTIZATION: 0.1},
    F.SHAPE_MISMATCH: {C.MOE_RUNNER: 0.25, C.WEIGHTS_CHECKPOINT: 0.25, C.QUANTIZATION: 0.2, C.SPEC_DECODE: 0.1,
                       C.ATTENTION_BACKEND: 0.1, C.TRANSFORMERS_VERSION: 0.05, C.SCHEDULER: 0.05},
    F.COMPILE_ERROR: {C.KERNEL_ARCH_SUPPORT: 0.4, C.INSTALL_ABI: 0.3, C.ATTENTION_BACKEND: 0.2, C.OTHER: 0.1},
    F.NCCL_TIMEOUT_HANG: {C.NCCL: 0.5, C.ALLREDUCE: 0.15, C.SCHEDULER: 0.15, C.SPEC_DECODE: 0.1, C.MEMORY: 0.1},
    F.HANG: {C.ALLREDUCE: 0.25, C.NCCL: 0.2, C.SCHEDULER: 0.2, C.SPEC_DECODE: 0.15, C.CUDA_GRAPH: 0.1, C.MEMORY: 0.1},
    F.WRONG_OUTPUT: {C.ATTENTION_BACKEND: 0.2, C.QUANTIZATION: 0.15, C.KERNEL_ARCH_SUPPORT: 0.15,
                     C.KV_CACHE_DTYPE: 0.15, C.ROPE_CONFIG: 0.1, C.TOKENIZER_TEMPLATE: 0.05, C.MOE_RUNNER: 0.05,
                     C.SCHEDULER: 0.05, C.SPEC_DECODE: 0.05, C.CUDA_GRAPH: 0.05},
    F.ACCURACY_LOSS: {C.QUANTIZATION: 0.3, C.KV_CACHE_DTYPE: 0.2, C.ATTENTION_BACKEND: 0.15, C.MOE_RUNNER: 0.15,
                      C.ROPE_CONFIG: 0.1, C.SPEC_DECODE: 0.1},
    F.MEMORY_LEAK: {C.MEMORY: 0.4, C.SCHEDULER: 0.6},
    F.OTHER: {c: 1 / len(C) for c in C},
}  # fmt: skip

COUNTED: dict[FailureClass, dict[Component, int]] = {
    F.ACCURACY_LOSS: {C.QUANTIZATION: 1},
    F.COMPILE_ERROR: {C.ATTENTION_BACKEND: 1},
    F.DEVICE_SIDE_ASSERT: {C.QUANTIZATION: 2, C.SCHEDULER: 1},
    F.HANG: {C.ALLREDUCE: 2},
    F.HOST_OOM_KILL: {C.MEMORY: 1},
    F.ILLEGAL_INSTRUCTION: {C.KERNEL_ARCH_SUPPORT: 2},
    F.ILLEGAL_MEMORY_ACCESS: {C.SPEC_DECODE: 2, C.MOE_RUNNER: 2, C.SCHEDULER: 1, C.CUDA_GRAPH: 1, C.OTHER: 1},
    F.IMPORT_ABI: {C.TRANSFORMERS_VERSION: 5, C.INSTALL_ABI: 3, C.TOKENIZER_TEMPLATE: 1, C.ROPE_CONFIG: 1},
    F.INCOMPATIBLE_CONFIG_ASSERT: {C.ATTENTION_BACKEND: 4, C.KV_CACHE_DTYPE: 3, C.SAMPLING: 1},
    F.KERNEL_LAUNCH_ERROR: {C.ALLREDUCE: 2, C.SPEC_DECODE: 1},
    F.MISSING_SYMBOL: {C.INSTALL_ABI: 3},
    F.NAN_INF: {C.KERNEL_ARCH_SUPPORT: 2, C.MOE_RUNNER: 2, C.SPEC_DECODE: 1, C.QUANTIZATION: 1},
    F.NCCL_TIMEOUT_HANG: {C.SPEC_DECODE: 1, C.NCCL: 1},
    F.NO_KERNEL_IMAGE: {C.INSTALL_ABI: 2},
    F.OOM: {C.MEMORY: 4, C.WEIGHTS_CHECKPOINT: 2, C.OTHER: 1, C.CUDA_GRAPH: 1},
    F.QUANT_FORMAT_MISMATCH: {C.QUANTIZATION: 1},
    F.SHAPE_MISMATCH: {C.MOE_RUNNER: 2, C.WEIGHTS_CHECKPOINT: 1},
    F.SHARED_MEMORY: {C.KERNEL_ARCH_SUPPORT: 1},
    F.UNKNOWN_MODEL_TYPE: {C.TRANSFORMERS_VERSION: 3},
    F.UNSUPPORTED_ARCH: {C.KERNEL_ARCH_SUPPORT: 8},
    F.WRONG_OUTPUT: {C.KERNEL_ARCH_SUPPORT: 2, C.ATTENTION_BACKEND: 2, C.ROPE_CONFIG: 2, C.KV_CACHE_DTYPE: 2,
                     C.QUANTIZATION: 1},
}  # fmt: skip


def rates(
    class_: FailureClass, counted: dict[FailureClass, dict[Component, int]] | None = None
) -> dict[Component, float]:
    """The share of each component among the causes of a class; all are above zero and add up to 1."""
    all_seen = COUNTED if counted is None else counted
    seen, expected, anywhere = all_seen.get(class_, {}), EXPECTED.get(class_, {}), _anywhere(all_seen)
    weights = {
        c: seen.get(c, 0) + EXPECTED_CASES * expected.get(c, 0.0) + SPREAD_CASES * anywhere[c] for c in Component
    }
    total = sum(weights.values())
    return {c: weight / total for c, weight in weights.items()}


def _anywhere(counted: dict[FailureClass, dict[Component, int]]) -> dict[Component, float]:
    """The share of each component among the causes of all classes, one more case of each added."""
    seen = {c: 1 + sum(row.get(c, 0) for row in counted.values()) for c in Component}
    total = sum(seen.values())
    return {c: n / total for c, n in seen.items()}
