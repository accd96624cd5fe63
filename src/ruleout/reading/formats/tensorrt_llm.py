"""TensorRT-LLM: `[TRT-LLM] [I] message`, `[TensorRT-LLM][INFO] message` from its C++, `[RANK 0]` where MPI is used.

Making its executor runs the model once (autotuner, CUDA graphs), so "Failed to initialize executor" is of the warm-up.
"""

from __future__ import annotations

from ruleout.model import Stage
from ruleout.reading.formats.base import Format, dumped, resolved, version

TENSORRT_LLM = Format(
    "tensorrt-llm",
    tells=(
        r"\[TRT-LLM\]|\[TensorRT-LLM\]|tensorrt_llm[./ ]|trtllm-(?:serve|bench|build)|TRTLLM backend"
        r"|PyExecutor",
        r"TensorRT[ -]LLM version|spec_sampler_base|py_executor",
    ),
    stages=(
        (Stage.ARG_PARSING, r"TensorRT[ -]LLM version|usage: trtllm"),
        (Stage.MODEL_CONFIG, r"Set PluginConfig|Use PyTorch .*config|Using LLM with PyTorch backend"),
        (Stage.DISTRIBUTED_INIT, r"start MpiSession|rank \d+ using MpiPoolSession|MPI size: "),
        (
            Stage.WEIGHT_LOAD,
            r"Prefetching .*checkpoint|Loading weights|Loading .*safetensors|Use [\d.]+ GB for model weights",
        ),
        (
            Stage.KV_CACHE_ALLOC,
            r"KV[ -]?cache manager|blocks in KV cache|Max KV cache|allocate.* for max tokens in paged KV",
        ),
        (Stage.KERNEL_COMPILE, r"torch\.compile|Compiling "),
        (Stage.CUDA_GRAPH_CAPTURE, r"CUDA graph.{0,20}(?:warmup|captur)|Creating CUDA graph"),
        (Stage.WARMUP, r"\[Autotuner\]|Run(?:ning)? .*warmup|initialize executor"),
        (Stage.READY, r"Application startup complete"),
        (Stage.PREFILL, r"num_ctx_requests=[1-9]|num_context_requests"),
        (Stage.DECODE, r"num_generation_tokens|num_gen_requests=[1-9]|\"POST /v1/[\w/]+ HTTP/[\d.]+\" 200"),
        (Stage.SHUTDOWN, r"Shutting down"),
    ),
    says=(
        version("tensorrt-llm", r"TensorRT[ -]LLM version: (?P<version>\S+)"),
        version("tensorrt-llm", r"tensorrt[_-]llm==(?P<version>\S+)"),
        dumped(r"(?:TorchLlmArgs|LlmArgs|PyTorchConfig)\("),
        resolved(r"attn_backend='?(?P<attn_backend>[A-Z]\w+)"),
    ),
)
