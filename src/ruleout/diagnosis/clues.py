"""What words, frames, settings and hardware say about the component: a table of weights, in nats of log-odds.

A weight says how much more often the words stand where the component was the cause than where it was not: 1 is about
2.7 times, 2 about 7, 3 about 20. They are rounded judgements, held against labelled failures by cross-validation
(`docs/decisions.md`), not fitted to single ones. No clue is about one thread; each names a kernel family, a package, a
setting or a phrase of several engines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ruleout.diagnosis.view import Place
from ruleout.model import Component, FailureClass, Stage

C, F, S, P = Component, FailureClass, Stage, Place

SILENT = frozenset({F.WRONG_OUTPUT, F.NAN_INF, F.ACCURACY_LOSS, F.DEVICE_SIDE_ASSERT})
"""Failures whose place says nothing about their origin: the numbers were wrong before anybody looked."""
RUNTIME = frozenset({*SILENT, F.ILLEGAL_MEMORY_ACCESS, F.KERNEL_LAUNCH_ERROR, F.HANG, F.NCCL_TIMEOUT_HANG, F.OTHER})
STARTS = frozenset({S.INSTALL_IMPORT, S.ARG_PARSING, S.MODEL_CONFIG, S.WEIGHT_LOAD, S.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Clue:
    """A pattern in a place, and what it moves.

    Attributes:
        says: in words, what was found; `{0}` is the matched text.
        classes, stages: where it counts; everywhere when empty.
    """

    places: tuple[Place, ...]
    pattern: re.Pattern[str]
    weights: dict[Component, float]
    says: str
    classes: frozenset[FailureClass] = frozenset()
    stages: frozenset[Stage] = frozenset()


def _clue(
    places: tuple[Place, ...],
    pattern: str,
    weights: dict[Component, float],
    says: str,
    classes: frozenset[FailureClass] | set[FailureClass] = frozenset(),
    stages: frozenset[Stage] | set[Stage] = frozenset(),
) -> Clue:
    return Clue(places, re.compile(pattern), weights, says, frozenset(classes), frozenset(stages))


SAID, NEAR = (P.FAILURE,), (P.FAILURE, P.NEAR)
ASKED, RAN = (P.SETTINGS,), (P.SETTINGS, P.ENVIRONMENT)
ANY = (P.FAILURE, P.NEAR, P.SETTINGS, P.ENVIRONMENT)

CLUES: tuple[Clue, ...] = (
    # Packages that do not fit each other.
    _clue(
        NEAR,
        r"'\w*(?:Config|Processor)' object has no attribute|Tokenizer\w*'? (?:object )?has no attribute"
        r"|ROPE_INIT_FUNCTIONS|CONFIG_MAPPING|does not recognize this architecture",
        {C.TRANSFORMERS_VERSION: 3.0},
        "transformers offers less, or something else, than the code expects",
    ),
    _clue(
        NEAR,
        r"from 'transformers|No module named 'transformers\.|transformers[/.]\S*.{0,80}(?:ImportError|cannot import)",
        {C.TRANSFORMERS_VERSION: 3.5},
        "an import from transformers fails",
    ),
    _clue(
        NEAR,
        r"(?i)undefined symbol|cannot open shared object|DLL load failed|version `GLIBC|common_ops|\b_C\b.*ImportError"
        r"|ImportError'? object|No module named '(?!transformers)|symbol not found|torch::class_"
        r"|operator \S+ does not exist|package metadata|Failed to import|is not installed|pip install"
        r"|_OpNamespace|module '(?!transformers)[\w.]+' has no attribute",
        {C.INSTALL_ABI: 3.0},
        "a compiled part cannot be loaded, or a package is missing",
    ),
    _clue(
        SAID,
        r"(?i)cannot import name (?!.*from 'transformers)|ImportError|ModuleNotFoundError|libcud\w+\.so|libtorch",
        {C.INSTALL_ABI: 1.5},
        "an import fails",
        {F.IMPORT_ABI, F.MISSING_SYMBOL, F.OTHER},
    ),
    _clue(
        NEAR,
        r"(?i)no kernel image",
        {C.INSTALL_ABI: 1.5, C.KERNEL_ARCH_SUPPORT: 1.0},
        "the package was built for other hardware",
    ),
    _clue(
        NEAR,
        r"(?i)kernel image is invalid|unsupported toolchain|driver version is insufficient"
        r"|Unsupported gpu architecture '|nvcc.{0,40}not found|CUDA_HOME|Value '\w+' is not defined for option"
        r"|invalid value for --gpu-architecture|installed CUDA driver|NVIDIA driver on your system",
        {C.INSTALL_ABI: 3.0},
        "the CUDA toolkit, its driver and the code do not go together",
    ),
    # The tokenizer and its template.
    _clue(
        NEAR,
        r"(?i)slow_tokenizer|sentencepiece|sp_model|spm_processor|TokenizersBackend|tokenizer\.(?:json|model)"
        r"|chat[_ ]template|jinja2?\b|tool[_-]call[_-]parser.{0,40}(?:error|fail)|apply_chat",
        {C.TOKENIZER_TEMPLATE: 3.0, C.TRANSFORMERS_VERSION: 0.5},
        "it happens in the tokenizer or its template",
        {F.IMPORT_ABI, F.OTHER, F.WRONG_OUTPUT, F.MISSING_WEIGHTS, F.INCOMPATIBLE_CONFIG_ASSERT},
    ),
    # Positions.
    _clue(
        NEAR,
        r"(?i)\brope\b|rope_(?:theta|scaling|parameters|interleave|type)|rotary|yarn|mrope",
        {C.ROPE_CONFIG: 2.5, C.TRANSFORMERS_VERSION: 1.0},
        "RoPE settings are spoken of",
    ),
    # The KV cache's type.
    _clue(
        NEAR,
        r"(?i)\bKV ?dtype|kv[_ ]?cache[_ ]?dtype|\bKV4\b|(?:\b|_)[qkv]_scale(?:\b|_)"
        r"|kv_?cache.{0,30}(?:fp8|fp4|e4m3|e5m2|q[48]_0)"
        r"|(?:fp8|fp4|e4m3|e5m2|E2M1\)|float8|float4)\w*.{0,16}\bkv|kv_(?:fp8|fp4)|store_fp8|dtype: torch\.float[48]",
        {C.KV_CACHE_DTYPE: 2.0},
        "the type of the KV cache is spoken of",
    ),
    _clue(
        SAID,
        r"(?i)kv.{0,40}(?:dtype|fp8|fp4|e4m3|e5m2).{0,60}(?:expect|only|require|support|got)"
        r"|(?:expect|only|require|support)\w*.{0,60}kv.{0,30}(?:dtype|fp8|fp4|e4m3|bf16|bfloat16)|KV4",
        {C.KV_CACHE_DTYPE: 1.5},
        "a kernel refuses the type of the KV cache",
        {F.INCOMPATIBLE_CONFIG_ASSERT, F.OTHER, F.UNSUPPORTED_ARCH, F.COMPILE_ERROR},
    ),
    _clue(
        ASKED,
        r"kv[_-]cache[_-]dtype[ =](?:fp|nvfp|int|turbo|q)\w*"
        r"|cache[_-]type[_-][kv][ =](?:q|iq|bf)\w*|-ct[kv] (?:q|iq|bf)\w*",
        {C.KV_CACHE_DTYPE: 1.2},
        "the KV cache has a type of its own ({0})",
        frozenset({*RUNTIME, F.INCOMPATIBLE_CONFIG_ASSERT}),
    ),
    # Attention.
    _clue(
        SAID,
        r"(?i)attention|\battn|flash_?attn|fmha|mla\b|flashmla|flash_mla|paged_(?:kv|attn)|\bDCP\b|BatchDecode"
        r"|BatchPrefill|softmax LSE",
        {C.ATTENTION_BACKEND: 1.8},
        "the failure names attention",
    ),
    _clue(
        (P.NEAR,),
        r"(?i)flash_?attn|fmha|flashmla|trtllm_m[hl]a|attention[_ -]?backend|(?:prefill|decode)[_-]backend"
        r"|batch_(?:decode|prefill)_with|attention/\w+\.py|unified_attention|_attn\b",
        {C.ATTENTION_BACKEND: 1.0},
        "attention kernels stand near it",
    ),
    _clue(
        (P.NEAR, P.SETTINGS),
        r"(?i)flash_attn *= *1|--flash-attn|-fa\b",
        {C.ATTENTION_BACKEND: 1.2},
        "flash attention was switched on",
        SILENT,
    ),
    _clue(
        ASKED,
        r"attention[_-]backend[ =]\S+",
        {C.ATTENTION_BACKEND: 0.5},
        "the attention backend was chosen ({0})",
        RUNTIME,
    ),
    # Experts.
    _clue(
        NEAR,
        r"(?i)fused_?moe|moe_?runner|(?<![a-z])moe(?![a-z])|moe_align|grouped_?gemm|routed|router_|shared experts"
        r"|expert_data|topk_ids|deep_?ep|w13|\bw2_|\.experts\.|num_experts",
        {C.MOE_RUNNER: 1.8},
        "the experts' code is involved",
    ),
    _clue(
        ASKED,
        r"moe[_-](?:runner[_-])?backend[ =](?!auto)\S+|moe[_-]a2a[_-]backend[ =](?!none)\S+",
        {C.MOE_RUNNER: 0.8},
        "a runner of the experts was chosen ({0})",
        frozenset({*RUNTIME, F.SHAPE_MISMATCH, F.INCOMPATIBLE_CONFIG_ASSERT}),
    ),
    # Quantization.
    _clue(
        SAID,
        r"(?i)quant|nvfp4|mxfp[48]|\bfp4|_fp4|fp8_?(?:gemm|einsum|linear)|weight_scale|scale_inv|input_scale|marlin|\bawq"
        r"|gptq|bitsandbytes|\bbnb|ue8m0|compressed.tensors|modelopt|blockscale|block_scale",
        {C.QUANTIZATION: 1.8},
        "the failure names a quantized kernel or format",
    ),
    _clue(
        (P.NEAR,),
        r"(?i)mm_fp4|nvfp4|fp4_gemm|mxfp[48]|fp8_gemm|marlin|weight_scale|scale_inv|scaled_mm|ModelOpt\w*Linear|NvFp4Linear"
        r"|modelopt|compressed.tensors|\bawq|gptq",
        {C.QUANTIZATION: 1.2},
        "quantized kernels stand near it",
    ),
    _clue(
        RAN,
        r"(?i)quantization[ =](?:modelopt\w*|nvfp4|mxfp4|awq\w*|gptq\w*|fp8|compressed\S*|w4a\w+)|fp4-gemm-backend\S*",
        {C.QUANTIZATION: 0.8, C.MOE_RUNNER: 0.2},
        "the weights are quantized ({0})",
        frozenset({*RUNTIME, F.SHAPE_MISMATCH}),
    ),
    # Kernels that were not made for this hardware.
    _clue(
        NEAR,
        r"(?i)unsupported arch|not compatible with .*architecture|(?:only )?supported (?:only )?(?:on|for) (?:devices?"
        r"|GPUs?|Blackwell|Hopper|Ampere|SM)|compute capability (?:not|>=|\d.*requir)|no execution plans"
        r"|arch(?:itecture)? condition|SM\d+.only|not supported on (?:CPU|SM|this (?:GPU|device|platform))"
        r"|requires? (?:sm|compute|Hopper|Blackwell)",
        {C.KERNEL_ARCH_SUPPORT: 2.0},
        "a kernel does not support this hardware",
    ),
    _clue(
        NEAR,
        r"(?i)sm_?1[0-3][0-9]a?f?\b|compute_1[0-3]\d|TMA WS|tcgen05|UE8M0=False|\bGDC\b|\bPDL\b|gfx1\d\d\d|gfx9\d\d"
        r"|get_device_capability|Cannot implement|can_implement",
        {C.KERNEL_ARCH_SUPPORT: 1.5},
        "kernels of one hardware generation are spoken of ({0})",
    ),
    _clue(
        RAN,
        r"\bsm=1[12]\d?\b",
        {C.KERNEL_ARCH_SUPPORT: 1.0},
        "consumer Blackwell ({0}): many kernels are built for SM90 and SM100 only",
        frozenset({*RUNTIME, F.UNSUPPORTED_ARCH, F.SHARED_MEMORY, F.NO_KERNEL_IMAGE, F.COMPILE_ERROR}),
    ),
    _clue(
        RAN,
        r"(?:fp4[_-]gemm|moe|linear)\S*[_-]backend[ =]flashinfer_cutlass|modelopt_fp4",
        {C.KERNEL_ARCH_SUPPORT: 1.0},
        "CUTLASS FP4 kernels, compiled on the spot for this hardware ({0})",
        SILENT,
    ),
    _clue(
        NEAR,
        r"(?i)out of resources?: shared memory|OutOfResources|shared memory resources|dynamic shared memory size",
        {C.KERNEL_ARCH_SUPPORT: 1.5},
        "a kernel's tiles are larger than this GPU's shared memory",
    ),
    # Graphs.
    _clue(
        NEAR,
        r"(?i)while capturing|during capture|stream is capturing|cuda_?graph.{0,40}(?:error|fail|invalid)|capture_error"
        r"|graph replay|graphs?\S{0,9}\.replay|graphs\.py|CUDAGraph|cuda_graph_runner|StreamCapture",
        {C.CUDA_GRAPH: 1.2},
        "graphs are captured or replayed",
    ),
    _clue(
        NEAR,
        r"(?i)StreamCapture|stream is capturing|operation not permitted when",
        {C.CUDA_GRAPH: 2.5},
        "an operation is not allowed while a graph is captured",
    ),
    _clue(
        NEAR,
        r"(?i)cuda graph|CUDA graphs",
        {C.CUDA_GRAPH: 0.8},
        "graphs are spoken of",
        {F.OOM, F.ILLEGAL_MEMORY_ACCESS, F.WRONG_OUTPUT, F.HANG, F.KERNEL_LAUNCH_ERROR, F.OTHER},
    ),
    # Ranks that talk to each other.
    _clue(
        NEAR,
        r"(?i)custom_?all_?reduce|quick_?reduce|symm(?:etric)?_mem|allreduce_fusion|trtllm_allreduce|mscclpp"
        r"|IPC handle|cudaIpc|ipc_?handle|full_nvlink|Registering \d+ cuda graph addr",
        {C.ALLREDUCE: 3.0},
        "the engine's own all-reduce is involved",
    ),
    _clue(
        NEAR,
        r"(?i)ProcessGroupNCCL|NCCL WARN|nccl(?:Unhandled|System|Internal|Remote|Invalid)|NCCL error|NCCL_\w+=|pynccl"
        r"|collective operation timeout|OpType=",
        {C.NCCL: 2.0},
        "NCCL speaks",
    ),
    _clue(
        NEAR,
        r"NCCL INFO|NCCL version|using nccl==",
        {C.NCCL: 1.5},
        "it ends while NCCL connects the ranks",
        {F.HANG, F.NCCL_TIMEOUT_HANG},
    ),
    _clue(
        NEAR,
        r"(?i)gloo|init_process_group|TCPStore|rendezvous|DistNetworkError|IB verbs|ibv_",
        {C.NCCL: 1.0, C.USER_CONFIG: 0.5},
        "ranks do not find each other",
    ),
    # Memory.
    _clue(
        SAID,
        r"(?i)KV cache is needed|No available memory|not enough memory|mem[_-]fraction|gpu[_-]memory[_-]util"
        r"|available KV cache memory|cache blocks|maximum model length|out of memory|Killed|max seq len",
        {C.MEMORY: 1.5},
        "there is too little memory",
    ),
    _clue(
        NEAR,
        r"(?i)avail(?:able)?[ _]mem(?:ory)?[= :]+\d|KV cache memory|tried to allocate|leaked semaphore|oom-kill",
        {C.MEMORY: 0.8},
        "memory figures stand near it",
        {F.OOM, F.HOST_OOM_KILL, F.HANG, F.MEMORY_LEAK},
    ),
    _clue(
        NEAR,
        r"(?i)(?:kv|token|memory)[_ ]pool.{0,30}leak|memory leak detected|token_to_kv_pool",
        {C.SCHEDULER: 2.0},
        "the book-keeping of the cache does not add up",
    ),
    # The scheduler and requests.
    _clue(
        NEAR,
        r"(?i)req_to_token|radix_?(?:cache|tree)|prefix[_ -]cach|cache[_ ](?:hit|miss)|cached (?:KV|prefix|tokens)"
        r"|chunked[_ -]prefill|retract|preempt|block_table"
        r"|session_len|truncated|event_loop_overlap|overlap_schedule|async[_ ]scheduling|disaggregat|kv_?transfer|nixl"
        r"|mooncake|hicache|lmcache|gather kernel index|continuous_batching|generation loop",
        {C.SCHEDULER: 1.5},
        "the scheduler's structures are involved ({0})",
    ),
    _clue(
        SAID,
        r"index out of bounds|index_select|vectorized_gather|ind >= ?0|srcIndex|indexSelect",
        {C.SCHEDULER: 1.5, C.SPEC_DECODE: 0.6, C.TOKENIZER_TEMPLATE: 0.3},
        "an index lies outside of its tensor",
        {F.DEVICE_SIDE_ASSERT, F.ILLEGAL_MEMORY_ACCESS, F.OTHER},
    ),
    _clue(
        SAID,
        r"probability tensor contains",
        {C.QUANTIZATION: 0.8, C.KERNEL_ARCH_SUPPORT: 0.8, C.SPEC_DECODE: 0.3, C.SCHEDULER: -1.0},
        "the logits were not finite when a token was drawn",
    ),
    # Sampling.
    _clue(
        NEAR,
        r"(?i)bitmask|x?grammar|outlines|guided|guidance|logit[s_]?_?bias|penalt(?:y|ies)|min_p|top_k_top_p|structured.out",
        {C.SAMPLING: 2.5},
        "constrained or penalised sampling is involved",
    ),
    # Speculation.
    _clue(
        NEAR,
        r"(?i)speculat|spec_(?:decode|sampler|info|verify)|eagle|\bmtp\b|nextn|draft|dflash|medusa|rejection_sampler",
        {C.SPEC_DECODE: 1.8},
        "speculative decoding is involved ({0})",
        frozenset({*RUNTIME, F.SHAPE_MISMATCH, F.INCOMPATIBLE_CONFIG_ASSERT}),
    ),
    _clue(
        SAID,
        r"(?i)speculat|draft|\bmtp\b|eagle",
        {C.SPEC_DECODE: 1.0},
        "the failure names speculation",
    ),
    _clue(
        ASKED,
        r"(?i)speculative[_-](?:algorithm|config|model|draft|num)\S*",
        {C.SPEC_DECODE: 1.2},
        "speculative decoding was switched on",
        RUNTIME,
    ),
    # Weights.
    _clue(
        NEAR,
        r"(?i)safetensors|missing (?:keys|weights|shard)|not initialized from|size mismatch for|HeaderTooLarge|lm_head"
        r"|incomplete metadata|checkpoint (?:shard|is missing|has)|load weights? (?:\(|of size)|load_weights"
        r"|weight_loader"
        r"|loaded_weight|state_dict|no module or parameter named",
        {C.WEIGHTS_CHECKPOINT: 1.5},
        "weights are being loaded",
        {F.SHAPE_MISMATCH, F.MISSING_WEIGHTS, F.QUANT_FORMAT_MISMATCH, F.OTHER, F.IMPORT_ABI, F.WRONG_OUTPUT},
    ),
    # An assertion in the engine's own native code is about sizes and places, not about what was asked for.
    _clue(
        SAID,
        r"GGML_ASSERT|Assertion `.+' failed|Check failed",
        {C.SCHEDULER: 0.8, C.ATTENTION_BACKEND: -0.5, C.USER_CONFIG: -1.0, C.SAMPLING: -0.5},
        "an assertion in native code failed",
        {F.INCOMPATIBLE_CONFIG_ASSERT},
    ),
    # What was asked for cannot be.
    _clue(
        NEAR,
        r"(?i)unrecognized arguments|invalid choice|(?:must|should) be (?:divisible|a multiple|one of|greater|less|set)"
        r"|Invalid (?:value|repository|backend)|No such file or directory|Permission denied"
        r"|address already in use|Repo id must|gated repo|mutually exclusive",
        {C.USER_CONFIG: 2.5},
        "what was asked for cannot be",
    ),
    _clue(
        SAID,
        r"(?i)not divisible",
        {C.USER_CONFIG: 1.5},
        "sizes do not divide",
    ),
    _clue(
        SAID,
        r"(?i)unrecognized arguments|invalid choice|Unknown \w+ backend|Valid options|error: argument"
        r"|unexpected keyword",
        {C.USER_CONFIG: 2.5, C.ATTENTION_BACKEND: -1.0},
        "the engine does not know what was asked for",
    ),
    _clue(
        SAID,
        r"(?i)validation error|Field '\w+' expected|expected \w+, got NoneType|directory not found|Invalid config",
        {C.USER_CONFIG: 1.5, C.TRANSFORMERS_VERSION: 0.8},
        "a field of the configuration is missing or of another type",
        {F.INCOMPATIBLE_CONFIG_ASSERT, F.OTHER, F.IMPORT_ABI},
    ),
    # Libraries below the engine.
    _clue(
        NEAR,
        r"(?i)\bcudnn_generated|cublas(?:Lt)?(?:Create|GemmEx|_STATUS)|inductor|triton/compiler|ptxas"
        r"|misaligned address",
        {C.OTHER: 1.8, C.INSTALL_ABI: 0.5},
        "a library below the engine is involved ({0})",
        frozenset({*RUNTIME, F.COMPILE_ERROR}),
    ),
)
