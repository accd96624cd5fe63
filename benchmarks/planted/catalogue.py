"""Settings that people vary when a server crashes, under the names that engines give them."""

from __future__ import annotations

CATALOGUE: dict[str, tuple[str, tuple[str, ...]]] = {
    "attention_backend": (
        "--attention-backend",
        ("flashinfer", "triton", "fa3", "flashmla", "trtllm_mla", "cutlass_mla", "tilelang"),
    ),
    "decode_backend": (
        "--decode-backend",
        ("flashmla_kv", "flashmla_sparse", "flashinfer", "fa3", "tilelang", "trtllm", "triton"),
    ),
    "prefill_backend": ("--prefill-backend", ("flashinfer", "triton", "fa3", "trtllm_mla", "tilelang")),
    "kv_cache_dtype": ("--kv-cache-dtype", ("auto", "bf16", "fp8_e4m3", "fp8_e5m2", "fp4_e2m1")),
    "moe_runner_backend": (
        "--moe-runner-backend",
        ("auto", "triton", "deep_gemm", "flashinfer_cutlass", "flashinfer_trtllm", "cutlass", "marlin"),
    ),
    "fp4_gemm_backend": ("--fp4-gemm-backend", ("auto", "cutlass", "cudnn", "trtllm")),
    "fp8_gemm_backend": ("--fp8-gemm-backend", ("auto", "deep_gemm", "triton", "cutlass", "aiter", "cublas")),
    "sampling_backend": ("--sampling-backend", ("flashinfer", "pytorch")),
    "grammar_backend": ("--grammar-backend", ("xgrammar", "outlines", "llguidance", "none")),
    "cuda_graph": ("--disable-cuda-graph", ("absent", "present")),
    "radix_cache": ("--disable-radix-cache", ("absent", "present")),
    "custom_all_reduce": ("--disable-custom-all-reduce", ("absent", "present")),
    "overlap_schedule": ("--disable-overlap-schedule", ("absent", "present")),
    "shared_experts_fusion": ("--disable-shared-experts-fusion", ("absent", "present")),
    "torch_compile": ("--enable-torch-compile", ("absent", "present")),
    "speculative_algorithm": ("--speculative-algorithm", ("absent", "EAGLE", "NEXTN", "NGRAM")),
    "chunked_prefill_size": ("--chunked-prefill-size", ("2048", "4096", "8192", "16384", "32768")),
    "max_running_requests": ("--max-running-requests", ("8", "16", "32", "64", "128", "256")),
    "cuda_graph_max_bs": ("--cuda-graph-max-bs", ("1", "8", "16", "32", "64", "160")),
    "mem_fraction_static": ("--mem-fraction-static", ("0.70", "0.75", "0.80", "0.85", "0.90")),
    "ep_size": ("--ep-size", ("1", "2", "4", "8")),
    "dtype": ("--dtype", ("auto", "bfloat16", "float16")),
    "tp_size": ("--tp-size", ("1", "2", "4", "8")),
    "page_size": ("--page-size", ("1", "16", "32", "64")),
    "schedule_policy": ("--schedule-policy", ("lpm", "fcfs", "random", "dfs-weight", "lof")),
    "load_format": ("--load-format", ("auto", "safetensors", "mistral")),
}
"""Of each factor its flag and its levels."""

NEIGHBOURS: dict[str, tuple[str, ...]] = {
    "attention-in-the-stack": ("attention_backend", "prefill_backend", "decode_backend"),
    "experts-in-the-stack": ("moe_runner_backend", "shared_experts_fusion"),
    "scheduler-in-the-stack": ("radix_cache", "overlap_schedule", "chunked_prefill_size"),
    "drafts-in-the-stack": ("speculative_algorithm",),
}
"""The factors that a failure speaks of, although in the family `misleading` none of them has to do with it."""

ADVICE: dict[str, str] = {
    "attention-in-the-stack": "attention_backend is experimental on this GPU. Try --attention-backend triton",
    "experts-in-the-stack": "fused_moe kernels have no tuned table for this GPU. Try --moe-runner-backend triton",
    "scheduler-in-the-stack": "req_to_token is shared by prefix cache and overlap. Try --disable-radix-cache",
    "drafts-in-the-stack": "the draft model was trained for another vocabulary. Drafts may be wrong",
}
"""What every run of that family prints, healthy or not, as if it were the matter."""

LOUD = ("speculative_algorithm", "moe_runner_backend")
"""Settings that a log cannot name without drawing suspicion to themselves: they would outshout a misleading one."""
