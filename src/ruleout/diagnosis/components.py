"""What is said of a component that is suspected for its clues only: a claim, and the change that would refute it."""

from __future__ import annotations

from dataclasses import dataclass

from ruleout.model import Component

C = Component


@dataclass(frozen=True, slots=True)
class About:
    """A component in words.

    Attributes:
        claim: what would be wrong if it were the cause.
        test: what would refute it, without an engine's flags.
        change: the flags of a trial that would refute it, by engine; an empty level is a bare flag.
    """

    claim: str
    test: str
    change: dict[str, dict[str, str]]


COMPONENTS: dict[Component, About] = {
    C.ATTENTION_BACKEND: About(
        "the attention backend cannot do this, or does it wrongly",
        "it fails alike with another attention backend",
        {"sglang": {"--attention-backend": "triton"}, "vllm": {"--attention-backend": "TRITON_ATTN"},
         "transformers": {"--attn-implementation": "eager"}, "llama.cpp": {"--flash-attn": "off"}},
    ),
    C.KV_CACHE_DTYPE: About(
        "the type of the KV cache does not suit the kernels or the model",
        "it fails alike with an unquantized KV cache",
        {"sglang": {"--kv-cache-dtype": "bf16"}, "vllm": {"--kv-cache-dtype": "bfloat16"},
         "llama.cpp": {"--cache-type-k": "f16", "--cache-type-v": "f16"}},
    ),
    C.QUANTIZATION: About(
        "a quantized layer computes wrongly, or its format does not fit the kernel",
        "it fails alike with an unquantized checkpoint, or with another GEMM backend",
        {"sglang": {"--fp4-gemm-backend": "flashinfer_cudnn"}},
    ),
    C.MOE_RUNNER: About(
        "the experts' kernels or their loading do not fit the model",
        "it fails alike with another runner of the experts",
        {"sglang": {"--moe-runner-backend": "triton"}, "vllm": {"--moe-backend": "triton"}},
    ),
    C.ROPE_CONFIG: About(
        "positions are rotated by other parameters than the model was trained with",
        "the engine's RoPE parameters (base, scaling, interleaving) are those of config.json",
        {},
    ),
    C.TRANSFORMERS_VERSION: About(
        "the installed transformers does not fit the engine or the model",
        "it fails alike with the transformers release that this engine's own requirements name",
        {},
    ),
    C.KERNEL_ARCH_SUPPORT: About(
        "a kernel is not made, or not rightly made, for this GPU's architecture",
        "the same command fails alike on a GPU of another architecture, or with backends that need no such kernel",
        {"sglang": {"--attention-backend": "triton"}, "vllm": {"--attention-backend": "TRITON_ATTN"}},
    ),
    C.CUDA_GRAPH: About(
        "capturing or replaying CUDA graphs breaks it",
        "it fails alike without graphs (eager can be several times slower)",
        {"sglang": {"--disable-cuda-graph": ""}, "vllm": {"--enforce-eager": ""}},
    ),
    C.ALLREDUCE: About(
        "the engine's own all-reduce fails on this topology or memory",
        "it fails alike with NCCL's all-reduce",
        {"sglang": {"--disable-custom-all-reduce": ""}, "vllm": {"--disable-custom-all-reduce": ""}},
    ),
    C.NCCL: About(
        "ranks do not come together: the network, or one that stopped before",
        "nccl-tests run well on the same GPUs, and no rank stopped before the others waited",
        {},
    ),
    C.MEMORY: About(
        "there is less memory than this configuration takes",
        "it fails alike with half of the context and of the parallel requests",
        {"sglang": {"--mem-fraction-static": "0.7", "--cuda-graph-max-bs": "8"}, "vllm": {"--max-model-len": "8192"}},
    ),
    C.SCHEDULER: About(
        "the scheduler hands out wrong indices, lengths or slots",
        "it fails alike with one request at a time and without prefix cache and overlap",
        {"sglang": {"--disable-overlap-schedule": "", "--disable-radix-cache": ""},
         "vllm": {"--no-enable-prefix-caching": "", "--no-async-scheduling": ""},
         "transformers": {"--no-continuous-batching": ""}},
    ),
    C.SAMPLING: About(
        "sampling, penalties or the grammar go wrong",
        "it fails alike with temperature 0, without penalties and without a grammar",
        {"sglang": {"--sampling-backend": "pytorch"}},
    ),
    C.TOKENIZER_TEMPLATE: About(
        "the tokenizer or its chat template does not fit",
        "transformers' AutoTokenizer loads this folder and applies its template",
        {},
    ),
    C.WEIGHTS_CHECKPOINT: About(
        "the checkpoint is not what the code expects",
        "the files' hashes are those of the repository, and the same files load in another release",
        {},
    ),
    C.INSTALL_ABI: About(
        "the installed packages do not fit each other or this machine",
        "it fails alike in a fresh environment with the versions that the engine's release pins",
        {},
    ),
    C.USER_CONFIG: About(
        "what was asked for cannot be",
        "it fails alike with only the model given",
        {},
    ),
    C.SPEC_DECODE: About(
        "speculation goes wrong: draft, verification, or indices",
        "it fails alike without speculation",
        {},
    ),
    C.OTHER: About(
        "a library below the engine is at fault",
        "it fails alike with another release of the library that the failing kernel belongs to",
        {},
    ),
}  # fmt: skip
