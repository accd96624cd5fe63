"""What is said of a component that is suspected for its clues only: a claim, and the changes that would refute it.

Another backend removed the failure in 15 of 26 public tries; it cannot when what the backends share is at fault.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ruleout.model import ABSENT, Component

C = Component


@dataclass(frozen=True, slots=True)
class About:
    """A component in words.

    Attributes:
        claim: what would be wrong if it were the cause.
        test: what would refute it, without an engine's flags.
        changes: the flags of trials that would refute it, by engine, the most telling first: a run that has one in
            effect already takes the next. An empty level is a bare flag.
    """

    claim: str
    test: str
    changes: dict[str, tuple[dict[str, str], ...]] = field(default_factory=dict)


def _levels(flag: str, *levels: str) -> tuple[dict[str, str], ...]:
    return tuple({flag: level} for level in levels)


COMPONENTS: dict[Component, About] = {
    C.ATTENTION_BACKEND: About(
        "the attention backend cannot do this, or does it wrongly",
        "it fails alike with another attention backend",
        {"sglang": _levels("--attention-backend", "triton", "flashinfer", "torch_native"),
         "vllm": _levels("--attention-backend", "TRITON_ATTN", "FLASHINFER", "FLEX_ATTENTION"),
         "transformers": _levels("--attn-implementation", "eager", "sdpa"),
         "llama.cpp": _levels("--flash-attn", "off")},
    ),
    C.KV_CACHE_DTYPE: About(
        "the type of the KV cache does not suit the kernels or the model",
        "it fails alike with an unquantized KV cache",
        {"sglang": _levels("--kv-cache-dtype", "bf16"), "vllm": _levels("--kv-cache-dtype", "bfloat16"),
         "llama.cpp": ({"--cache-type-k": "f16", "--cache-type-v": "f16"},)},
    ),
    C.QUANTIZATION: About(
        "a quantized layer computes wrongly, or its format does not fit the kernel",
        "it fails alike with an unquantized checkpoint, or with another GEMM backend",
        {"sglang": (*_levels("--fp4-gemm-backend", "flashinfer_cudnn", "flashinfer_cutlass"),
                    *_levels("--fp8-gemm-backend", "triton", "cutlass")),
         "vllm": _levels("--linear-backend", "marlin", "cutlass")},
    ),
    C.MOE_RUNNER: About(
        "the experts' kernels or their loading do not fit the model",
        "it fails alike with another runner of the experts",
        {"sglang": _levels("--moe-runner-backend", "triton", "flashinfer_cutlass"),
         "vllm": _levels("--moe-backend", "triton", "marlin")},
    ),
    C.ROPE_CONFIG: About(
        "positions are rotated by other parameters than the model was trained with",
        "the engine's RoPE parameters (base, scaling, interleaving) are those of config.json",
    ),
    C.TRANSFORMERS_VERSION: About(
        "the installed transformers does not fit the engine or the model",
        "it fails alike with the transformers release that this engine's own requirements name",
    ),
    C.KERNEL_ARCH_SUPPORT: About(
        "a kernel is not made, or not rightly made, for this GPU's architecture",
        "the same command fails alike on a GPU of another architecture, or with backends that need no such kernel",
        {"sglang": _levels("--attention-backend", "triton", "flashinfer", "torch_native"),
         "vllm": _levels("--attention-backend", "TRITON_ATTN", "FLASHINFER", "FLEX_ATTENTION")},
    ),
    C.CUDA_GRAPH: About(
        "capturing or replaying CUDA graphs breaks it",
        "it fails alike without graphs",
        {"sglang": _levels("--disable-cuda-graph", ""), "vllm": _levels("--enforce-eager", ""),
         "llama.cpp": _levels("GGML_CUDA_DISABLE_GRAPHS", "1")},
    ),
    C.ALLREDUCE: About(
        "the engine's own all-reduce fails on this topology or memory",
        "it fails alike with NCCL's all-reduce",
        {"sglang": _levels("--disable-custom-all-reduce", ""), "vllm": _levels("--disable-custom-all-reduce", "")},
    ),
    C.NCCL: About(
        "ranks do not come together: the network, or one that stopped before",
        "nccl-tests run well on the same GPUs, and no rank stopped before the others waited",
    ),
    C.MEMORY: About(
        "there is less memory than this configuration takes",
        "it fails alike with half of the context and of the parallel requests",
    ),
    C.SCHEDULER: About(
        "the scheduler hands out wrong indices, lengths or slots",
        "it fails alike with one request at a time and without prefix cache and overlap",
        {"sglang": ({"--disable-overlap-schedule": "", "--disable-radix-cache": ""},),
         "vllm": ({"--no-enable-prefix-caching": "", "--no-async-scheduling": ""}, {"--no-enable-prefix-caching": ""}),
         "transformers": _levels("--continuous-batching", ABSENT)},
    ),
    C.SAMPLING: About(
        "sampling, penalties or the grammar go wrong",
        "it fails alike with temperature 0, without penalties and without a grammar",
        {"sglang": _levels("--sampling-backend", "pytorch")},
    ),
    C.TOKENIZER_TEMPLATE: About(
        "the tokenizer or its chat template does not fit",
        "transformers' AutoTokenizer loads this folder and applies its template",
    ),
    C.WEIGHTS_CHECKPOINT: About(
        "the checkpoint is not what the code expects",
        "the files' hashes are those of the repository, and the same files load in another release",
    ),
    C.INSTALL_ABI: About(
        "the installed packages do not fit each other or this machine",
        "it fails alike in a fresh environment with the versions that the engine's release pins",
    ),
    C.USER_CONFIG: About(
        "what was asked for cannot be",
        "it fails alike with only the model given",
    ),
    C.SPEC_DECODE: About(
        "speculation goes wrong: draft, verification, or indices",
        "it fails alike without speculation",
    ),
    C.OTHER: About(
        "a library below the engine is at fault",
        "it fails alike with another release of the library that the failing kernel belongs to",
    ),
}  # fmt: skip
