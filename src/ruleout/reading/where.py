"""In which stage something failed, where no line says that a stage began: by the functions and words around it.

The table is about what serving engines do, not about single failures: a function that loads weights is called while
weights are loaded, whatever goes wrong in it. It is asked in this order: the frames of the stack from the innermost
outwards, the failing line, the lines before it from the nearest on; and last the class of the failure, which has a
usual place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ruleout.model import FailureClass, Stage

S, F = Stage, FailureClass

_FUNCTIONS: tuple[tuple[Stage, str], ...] = (
    (
        S.CUDA_GRAPH_CAPTURE,
        r"cuda_?graph\w*:(?:capture|__init__|_capture|run_once)"
        r"|:(?:capture_\w+|_?capture|init_device_graphs|init_\w*cuda_graphs?)$|capture_model"
        r"|_dummy_run.*graph|custom_all_reduce\w*:.*(?:graph|register)|register_graph",
    ),
    (
        S.KERNEL_COMPILE,
        r"(?:jit|build_and_load|cpp_ext|nvcc|ninja|inductor|compile_fx|codegen|async_compile|triton_heuristics"
        r"|select_algorithm|dynamo|backends)\w*:\w*(?:build|compile|ninja|run_ninja|autotun|precompile|codegen"
        r"|call_user_compiler|precompile)",
    ),
    (
        S.WARMUP,
        r":(?:profile_run|_dummy_run|dummy_run|determine_available_memory|profile_cudagraph_memory|warm_?up\w*"
        r"|kernel_warmup|_warmup\w*|execute_warmup\w*|autotune|_autotune|flashinfer_autotune"
        r"|compile_or_warm_up_model|_execute_server_warmup|run_warmup)$",
    ),
    (
        S.KV_CACHE_ALLOC,
        r":(?:init_memory_pool|_create_buffers|get_kv_cache_configs?|check_enough_kv_cache_memory"
        r"|_check_enough_kv_cache_memory|_initialize_kv_caches|initialize_kv_cache\w*|allocate_kv_cache"
        r"|init_cache_engine|profile_max_num_token|_init_pools|determine_num_available_blocks)$",
    ),
    (
        S.WEIGHT_LOAD,
        r":(?:load_model|load_weights?|_load_w\d+\w*|weight_loader\w*|_weight_loader\w*|get_all_weights"
        r"|create_weights|process_weights_after_loading|initialize_model|_initialize_model"
        r"|safetensors_weights_iterator|_prepare_weights|_load_\w+weights?\w*|load_state_dict"
        r"|convert_and_load\w*|filter_duplicate_safetensors_files|load_weights_and_postprocess"
        r"|_load_pretrained_model)$",
    ),
    (
        S.DISTRIBUTED_INIT,
        r":(?:init_process_group|init_torch_distributed|init_distributed_environment|initialize_model_parallel"
        r"|ncclCommInitRank|new_group|init_worker_distributed_environment|_init_process_group"
        r"|ensure_model_parallel_initialized)$",
    ),
    (
        S.DECODE,
        r":(?:forward_decode|decode_forward|run_decode|_sample|sample|sampler|verify|draft_forward"
        r"|multi_step_decode|update_requests|process_batch_result_decode|sample_tokens)$|sampler\w*:",
    ),
    (
        S.PREFILL,
        r":(?:forward_extend|forward_prefill|prefill|extend_attention_fwd|forward_mha|_forward_prefill\w*"
        r"|process_batch_result_prefill|get_new_batch_prefill|prefill_forward)$",
    ),
    (
        S.ARG_PARSING,
        r"(?:server_args|arg_utils|cli_args|argparse|arg_groups\S*|resolution_hooks|model_hook):\w+"
        r"|:(?:__post_init__|parse_args|prepare_server_args|create_engine_config|check_server_args"
        r"|from_cli_args)$",
    ),
    (
        S.MODEL_CONFIG,
        r":(?:from_pretrained|get_config|create_model_config|get_tokenizer|get_cached_tokenizer"
        r"|from_server_args|get_hf_config|get_attn_backend\w*|get_attn_backend_cls|_cached_get_attn_backend"
        r"|init_attention_backend|try_get_tokenizer|_from_pretrained|load_config|validate_field|from_dict)$"
        r"|configuration_\w+:|model_config:",
    ),
    (S.INSTALL_IMPORT, r":<module>$"),
    (
        S.PREFILL,
        r":(?:_generation_step|execute_model|forward_batch_generation|run_batch|model_forward|forward"
        r"|__call__)$",
    ),
)
"""`file:function` of a frame. Rows further up win over rows below at the same frame."""

_WORDS: tuple[tuple[Stage, str], ...] = (
    (
        S.CUDA_GRAPH_CAPTURE,
        r"capture (?:\w+ )*cuda ?graph|capturing (?:batches|num tokens|cuda|cudagraph)"
        r"|registering \d+ cuda graph|cuda_?graph_runner|graph capture|stream is capturing|while capturing"
        r"|cudaStreamCapture|capture_begin|custom_all_reduce",
    ),
    (
        S.KERNEL_COMPILE,
        r"ninja: build|\bptxas\b|\bnvcc\b|\bcicc\b|Error building extension|torch\._inductor|torch\._dynamo"
        r"|CompilationError|PassManager|JIT compil|NVRTC|nvrtc",
    ),
    (
        S.WARMUP,
        r"\bwarm(?:ing)?[ -]?up\b|\bwarmup|profile_run|dummy_run|autotun|initialize executor"
        r"|determine_available_memory",
    ),
    (
        S.KV_CACHE_ALLOC,
        r"kv cache (?:memory|is needed|size|shape)|available memory for the cache|memory pool|cache blocks|page size"
        r"|kv_cache_configs|llama_kv_cache|max seq len|maximum model length"
        r"|register memory",
    ),
    (
        S.WEIGHT_LOAD,
        r"load(?:ing)? (?:\w+ )?weights?|error loading model|llama_model_load|loaded_weight|weight_loader"
        r"|checkpoint shards|_load_w\d|load_model|load weight (?:begin|end)|load_tensors|safetensors"
        r"|missing tensor|into parameter|weight files|converting weights|into shape|starting to load model"
        r"|create_weights|size_per_partition|min_thread_[kn]|gguf_init|engine plan",
    ),
    (
        S.DISTRIBUTED_INIT,
        r"init_process_group|init_torch_distributed|TCPStore|DistStoreError|DistNetworkError|client socket"
        r"|ncclCommInit|rendezvous|Init torch distributed|init_distributed|ncclUnhandledCudaError"
        r"|ncclSystemError|distributed_init_method|NCCL error|unhandled (?:system|cuda) error|SeqNum=[1-9],"
        r"|NCCL INFO|NCCL WARN|NCCL version|using nccl==|connectFullMesh|nvshmem|non-zero status",
    ),
    (
        S.CONCURRENCY,
        r"#running-req: (?:[4-9]|\d\d)|Running: (?:[4-9]|\d\d+) reqs|concurren|under load|max_num_seqs"
        r"|batch size must|same batch size",
    ),
    (
        S.DECODE,
        r"decode batch|probability tensor|during sampling|sampl(?:er|ing)|logits|eagle_worker|draft"
        r"|spec(?:ulative)?[_ ]dec|mtp\b|output_token|generation (?:loop|throughput)|eval time"
        r"|update_requests|forward_decode|next_token|bmm_|verify",
    ),
    (
        S.PREFILL,
        r"prefill batch|scheduler hit an exception|forward_extend|extend_attention"
        r"|prompt (?:processing|eval)|session_len|chunked[_ ]prefill|prefill|ragged|first request"
        r"|sequence length",
    ),
    (
        S.ARG_PARSING,
        r"server_args|ServerArgs|__post_init__|arg_utils|argument -|unrecognized arguments|invalid choice"
        r"|infer device type|_handle_\w+_(?:compatibility|backends?)|different backend|backend to be one of"
        r"|backend is only supported|usage: ",
    ),
    (
        S.MODEL_CONFIG,
        r"model type|(?:selected|attention) backend\b|architecture|CONFIG_MAPPING|\w+Config\b|config\.json"
        r"|hf_config|ModelConfig|rope_(?:scaling|parameters|type)|tokenizer|attention backend|attn_?backend"
        r"|potential backends|quant_method|config_class",
    ),
    (
        S.INSTALL_IMPORT,
        r"No module named|cannot import name|undefined symbol|cannot open shared object|pip install"
        r"|Failed to import|import error|common_ops|module '\S+' has no attribute|_OpNamespace|driver on your system"
        r"|cudaGetDeviceCount",
    ),
    (S.READY, r"attempting to bind on address"),
)
"""Words of a line."""

USUAL: dict[FailureClass, Stage] = {
    F.IMPORT_ABI: S.INSTALL_IMPORT,
    F.MISSING_SYMBOL: S.INSTALL_IMPORT,
    F.UNKNOWN_MODEL_TYPE: S.MODEL_CONFIG,
    F.INCOMPATIBLE_CONFIG_ASSERT: S.MODEL_CONFIG,
    F.MISSING_WEIGHTS: S.WEIGHT_LOAD,
    F.QUANT_FORMAT_MISMATCH: S.WEIGHT_LOAD,
    F.SHAPE_MISMATCH: S.WEIGHT_LOAD,
    F.OOM: S.KV_CACHE_ALLOC,
    F.HOST_OOM_KILL: S.UNKNOWN,
    F.COMPILE_ERROR: S.KERNEL_COMPILE,
    F.NO_KERNEL_IMAGE: S.WARMUP,
    F.UNSUPPORTED_ARCH: S.PREFILL,
    F.SHARED_MEMORY: S.PREFILL,
    F.NCCL_TIMEOUT_HANG: S.CONCURRENCY,
}
"""Where a failure of this kind shows first, when nothing else tells: with the first kernel, the first prompt, …"""


_FRAME_TABLE = tuple((stage, re.compile(pattern)) for stage, pattern in _FUNCTIONS)
_WORD_TABLE = tuple((stage, re.compile(pattern, re.IGNORECASE)) for stage, pattern in _WORDS)


def of_frames(frames: Iterable[str]) -> Stage | None:
    """The stage of the innermost frame (the last one) that tells; a mere `forward` tells least."""
    weak: Stage | None = None
    for frame in reversed([re.sub(r"\.py:", ":", frame) for frame in frames]):
        for index, (stage, pattern) in enumerate(_FRAME_TABLE):
            if pattern.search(frame):
                if index < len(_FRAME_TABLE) - 2:
                    return stage
                weak = weak or stage
                break
    return weak


def of_words(text: str) -> Stage | None:
    """The stage that a line's words speak of."""
    return next((stage for stage, pattern in _WORD_TABLE if pattern.search(text[:2000])), None)


def usual(class_: FailureClass) -> Stage:
    """Where such a failure shows first, when nothing tells."""
    return USUAL.get(class_, Stage.DECODE)
