"""Clues about the engine's own parts: what computes, what remembers, what talks, what hands out work."""

from __future__ import annotations

from ruleout.diagnosis.clue import ASKED, NEAR, RAN, RUNTIME, SAID, SILENT, C, Clue, F, P, S, clue

ENGINE: tuple[Clue, ...] = (
    # The KV cache's type.
    clue(
        NEAR,
        r"(?i)\bKV ?dtype|kv[_ ]?cache[_ ]?dtype|\bKV4\b|(?:\b|_)[qkv]_scale(?:\b|_)"
        r"|kv_?cache.{0,30}(?:fp8|fp4|e4m3|e5m2|q[48]_0)"
        r"|(?:fp8|fp4|e4m3|e5m2|E2M1\)|float8|float4)\w*.{0,16}\bkv|kv_(?:fp8|fp4)|store_fp8|dtype: torch\.float[48]",
        {C.KV_CACHE_DTYPE: 2.0},
        "the type of the KV cache is spoken of",
    ),
    clue(
        SAID,
        r"(?i)kv.{0,40}(?:dtype|fp8|fp4|e4m3|e5m2).{0,60}(?:expect|only|require|support|got)"
        r"|(?:expect|only|require|support)\w*.{0,60}kv.{0,30}(?:dtype|fp8|fp4|e4m3|bf16|bfloat16)|KV4",
        {C.KV_CACHE_DTYPE: 1.5},
        "a kernel refuses the type of the KV cache",
        {F.INCOMPATIBLE_CONFIG_ASSERT, F.OTHER, F.UNSUPPORTED_ARCH, F.COMPILE_ERROR},
    ),
    clue(
        ASKED,
        r"kv[_-]cache[_-]dtype[ =](?:fp|nvfp|int|turbo|q)\w*"
        r"|cache[_-]type[_-][kv][ =](?:q|iq|bf)\w*|-ct[kv] (?:q|iq|bf)\w*",
        {C.KV_CACHE_DTYPE: 1.2},
        "the KV cache has a type of its own ({0})",
        frozenset({*RUNTIME, F.INCOMPATIBLE_CONFIG_ASSERT}),
    ),
    # Attention.
    clue(
        SAID,
        r"(?i)attention|\battn|flash_?attn|fmha|mla\b|flashmla|flash_mla|paged_(?:kv|attn)|\bDCP\b|BatchDecode"
        r"|BatchPrefill|softmax LSE",
        {C.ATTENTION_BACKEND: 1.8},
        "the failure names attention",
    ),
    clue(
        (P.NEAR,),
        r"(?i)flash_?attn|fmha|flashmla|trtllm_m[hl]a|attention[_ -]?backend|(?:prefill|decode)[_-]backend"
        r"|batch_(?:decode|prefill)_with|attention/\w+\.py|unified_attention|_attn\b",
        {C.ATTENTION_BACKEND: 1.0},
        "attention kernels stand near it",
    ),
    clue(
        (P.NEAR, P.SETTINGS),
        r"(?i)flash_attn *= *1|--flash-attn|-fa\b",
        {C.ATTENTION_BACKEND: 1.2},
        "flash attention was switched on",
        SILENT,
    ),
    clue(
        ASKED,
        r"attention[_-]backend[ =]\S+",
        {C.ATTENTION_BACKEND: 0.5},
        "the attention backend was chosen ({0})",
        RUNTIME,
    ),
    # Most configurations that are refused are so for the sake of attention or its cache; then their words are there.
    clue(
        (*NEAR, *ASKED),
        r"(?i)att(?:entio)?n|\bmla\b|fmha|flash|backend|page[_ ]size|head",
        {C.ATTENTION_BACKEND: -1.2},
        "nothing speaks of attention",
        {F.INCOMPATIBLE_CONFIG_ASSERT, F.OTHER},
        absent=True,
    ),
    clue(
        (*NEAR, *ASKED),
        r"(?i)\bkv|cache|fp[48]|e4m3|e5m2|dtype",
        {C.KV_CACHE_DTYPE: -1.2},
        "nothing speaks of the KV cache or its type",
        {F.INCOMPATIBLE_CONFIG_ASSERT, F.OTHER},
        absent=True,
    ),
    # Experts.
    clue(
        NEAR,
        r"(?i)fused_?moe|moe_?runner|(?<![a-z])moe(?![a-z])|moe_align|grouped_?gemm|routed|router_|shared experts"
        r"|expert_data|topk_ids|deep_?ep|w13|\bw2_|\.experts\.|num_experts",
        {C.MOE_RUNNER: 1.8},
        "the experts' code is involved",
    ),
    clue(
        ASKED,
        r"moe[_-](?:runner[_-])?backend[ =](?!auto)\S+|moe[_-]a2a[_-]backend[ =](?!none)\S+",
        {C.MOE_RUNNER: 0.8},
        "a runner of the experts was chosen ({0})",
        frozenset({*RUNTIME, F.SHAPE_MISMATCH, F.INCOMPATIBLE_CONFIG_ASSERT}),
    ),
    # Quantization.
    clue(
        SAID,
        r"(?i)quant|nvfp4|mxfp[48]|\bfp4|_fp4|fp8_?(?:gemm|einsum|linear)|weight_scale|scale_inv|input_scale|marlin|\bawq"
        r"|gptq|bitsandbytes|\bbnb|ue8m0|compressed.tensors|modelopt|blockscale|block_scale",
        {C.QUANTIZATION: 1.8},
        "the failure names a quantized kernel or format",
    ),
    clue(
        (P.NEAR,),
        r"(?i)mm_fp4|nvfp4|fp4_gemm|mxfp[48]|fp8_gemm|marlin|weight_scale|scale_inv|scaled_mm|ModelOpt\w*Linear|NvFp4Linear"
        r"|modelopt|compressed.tensors|\bawq|gptq",
        {C.QUANTIZATION: 1.2},
        "quantized kernels stand near it",
    ),
    clue(
        RAN,
        r"(?i)quantization[ =](?:modelopt\w*|nvfp4|mxfp4|awq\w*|gptq\w*|fp8|compressed\S*|w4a\w+)|fp4-gemm-backend\S*",
        {C.QUANTIZATION: 0.8, C.MOE_RUNNER: 0.2},
        "the weights are quantized ({0})",
        frozenset({*RUNTIME, F.SHAPE_MISMATCH}),
    ),
    # Graphs.
    clue(
        NEAR,
        r"(?i)while capturing|during capture|stream is capturing|cuda_?graph.{0,40}(?:error|fail|invalid)|capture_error"
        r"|graph replay|graphs?\S{0,9}\.replay|graphs\.py|CUDAGraph|cuda_graph_runner|StreamCapture",
        {C.CUDA_GRAPH: 1.2},
        "graphs are captured or replayed",
    ),
    clue(
        NEAR,
        r"(?i)StreamCapture|stream is capturing|operation not permitted when",
        {C.CUDA_GRAPH: 2.5},
        "an operation is not allowed while a graph is captured",
    ),
    clue(
        NEAR,
        r"(?i)cuda graph|CUDA graphs",
        {C.CUDA_GRAPH: 0.8},
        "graphs are spoken of",
        {F.OOM, F.ILLEGAL_MEMORY_ACCESS, F.WRONG_OUTPUT, F.HANG, F.KERNEL_LAUNCH_ERROR, F.OTHER},
    ),
    # Ranks that talk to each other.
    clue(
        NEAR,
        r"(?i)custom[_ ]?all[_ -]?reduce|quick_?reduce|symm(?:etric)?_mem|allreduce_fusion|trtllm_allreduce|mscclpp"
        r"|IPC handle|cudaIpc|ipc_?handle|full_nvlink",
        {C.ALLREDUCE: 3.0},
        "the engine's own all-reduce is involved",
    ),
    clue(
        NEAR,
        r"Registering \d+ cuda graph addr",  # every start with it prints that; one that ends there may end by it
        {C.ALLREDUCE: 3.0},
        "it ends while the all-reduce registers its buffers",
        stages={S.CUDA_GRAPH_CAPTURE, S.UNKNOWN},
    ),
    clue(
        (P.ENVIRONMENT,),
        r"^tp=1$",
        {C.ALLREDUCE: -3.0, C.NCCL: -2.0},
        "one GPU has nobody to talk to",
    ),
    clue(
        NEAR,
        r"(?i)ProcessGroupNCCL|NCCL WARN|nccl(?:Unhandled|System|Internal|Remote|Invalid)|NCCL error|NCCL_\w+=|pynccl"
        r"|collective operation timeout|OpType=",
        {C.NCCL: 2.0},
        "NCCL speaks",
    ),
    clue(
        NEAR,
        r"NCCL INFO|NCCL version|using nccl==",
        {C.NCCL: 1.5},
        "it ends while NCCL connects the ranks",
        {F.HANG, F.NCCL_TIMEOUT_HANG},
        {S.INSTALL_IMPORT, S.ARG_PARSING, S.MODEL_CONFIG, S.DISTRIBUTED_INIT, S.WEIGHT_LOAD, S.UNKNOWN},
    ),
    clue(
        NEAR,
        r"(?i)gloo|init_process_group|TCPStore|rendezvous|DistNetworkError|IB verbs|ibv_",
        {C.NCCL: 1.0, C.USER_CONFIG: 0.5},
        "ranks do not find each other",
    ),
    # Memory.
    clue(
        SAID,
        r"(?i)KV cache is needed|No available memory|not enough memory|mem[_-]fraction|gpu[_-]memory[_-]util"
        r"|available KV cache memory|cache blocks|maximum model length|out of memory|Killed|max seq len",
        {C.MEMORY: 1.5},
        "there is too little memory",
    ),
    clue(
        NEAR,
        r"(?i)avail(?:able)?[ _]mem(?:ory)?[= :]+\d|KV cache memory|tried to allocate|leaked semaphore|oom-kill",
        {C.MEMORY: 0.8},
        "memory figures stand near it",
        {F.OOM, F.HOST_OOM_KILL, F.HANG, F.MEMORY_LEAK},
    ),
    clue(
        NEAR,
        r"(?i)(?:kv|token|memory)[_ ]pool.{0,30}leak|memory leak detected|token_to_kv_pool",
        {C.SCHEDULER: 2.0},
        "the book-keeping of the cache does not add up",
    ),
    # The scheduler and requests.
    clue(
        NEAR,
        r"(?i)req_to_token|radix_?(?:cache|tree)|prefix[_ -]cach|cache[_ ](?:hit|miss)|cached (?:KV|prefix|tokens)"
        r"|chunked[_ -]prefill|retract|preempt|block_table"
        r"|session_len|truncated|event_loop_overlap|overlap_schedule|async[_ ]scheduling|disaggregat|kv_?transfer|nixl"
        r"|mooncake|hicache|lmcache|gather kernel index",
        {C.SCHEDULER: 1.5},
        "the scheduler's structures are involved ({0})",
    ),
    clue(
        NEAR,
        r"generation loop|continuous_?batching",
        {C.SCHEDULER: 3.0},
        "the loop of continuous batching ended",
    ),
    clue(
        SAID,
        r"index out of bounds|index_select|vectorized_gather|ind >= ?0|srcIndex|indexSelect",
        {C.SCHEDULER: 1.5, C.SPEC_DECODE: 0.6, C.TOKENIZER_TEMPLATE: 0.3},
        "an index lies outside of its tensor",
        {F.DEVICE_SIDE_ASSERT, F.ILLEGAL_MEMORY_ACCESS, F.OTHER},
    ),
    clue(
        SAID,
        r"probability tensor contains",
        {C.QUANTIZATION: 0.8, C.KERNEL_ARCH_SUPPORT: 0.8, C.SPEC_DECODE: 0.3, C.SCHEDULER: -1.0},
        "the logits were not finite when a token was drawn",
    ),
    # Sampling.
    clue(
        NEAR,
        r"(?i)bitmask|x?grammar|outlines|guided|guidance|logit[s_]?_?bias|penalt(?:y|ies)|min_p|top_k_top_p|structured.out",
        {C.SAMPLING: 2.5},
        "constrained or penalised sampling is involved",
    ),
    # Speculation.
    clue(
        NEAR,
        r"(?i)speculat|spec_(?:decode|sampler|info|verify)|eagle|\bmtp\b|nextn|draft|dflash|medusa|rejection_sampler",
        {C.SPEC_DECODE: 1.8},
        "speculative decoding is involved ({0})",
        frozenset({*RUNTIME, F.SHAPE_MISMATCH, F.INCOMPATIBLE_CONFIG_ASSERT}),
    ),
    clue(
        SAID,
        r"(?i)speculat|draft|\bmtp\b|eagle",
        {C.SPEC_DECODE: 1.0},
        "the failure names speculation",
    ),
    clue(
        ASKED,
        r"(?i)speculative[_-](?:algorithm|config|model|draft|num)\S*",
        {C.SPEC_DECODE: 1.2},
        "speculative decoding was switched on",
        RUNTIME,
    ),
    clue(
        (P.ENVIRONMENT,),
        r"^speculation=off$",
        {C.SPEC_DECODE: -3.0},
        "nothing was speculated",
    ),
    # An assertion in the engine's own native code is about sizes and places, not about what was asked for.
    clue(
        SAID,
        r"GGML_ASSERT|Assertion `.+' failed|Check failed",
        {C.SCHEDULER: 0.8, C.ATTENTION_BACKEND: -0.5, C.USER_CONFIG: -1.0, C.SAMPLING: -0.5},
        "an assertion in native code failed",
        {F.INCOMPATIBLE_CONFIG_ASSERT},
    ),
    clue(
        SAID,
        r"\S",
        {C.SCHEDULER: 0.8, C.SPEC_DECODE: 0.4, C.WEIGHTS_CHECKPOINT: -1.5, C.MOE_RUNNER: -0.5},
        "shapes differ in a request, not as the weights were loaded",
        {F.SHAPE_MISMATCH},
        {S.READY, S.PREFILL, S.DECODE, S.CONCURRENCY},
    ),
)
