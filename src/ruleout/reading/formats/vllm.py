"""vLLM: `(EngineCore pid=12) INFO 11-29 16:25:30 [core.py:99] message`; `non-default args`.

The engine's own dump (`Initializing a V1 LLM engine (v…) with config: …`) is what it resolved; backends are chosen
later, by each worker. Compilation comes before the KV cache is sized, so a failure in it need not be one of memory.
"""

from __future__ import annotations

from ruleout.model import Stage
from ruleout.reading.formats.base import Format, dumped, environment, fixed, resolved, version

ALIASES = {
    "tp": "tensor_parallel_size",
    "pp": "pipeline_parallel_size",
    "dp": "data_parallel_size",
    "q": "quantization",
}
_DUMPED = {"max_seq_len": "max_model_len", "enable_prefix_caching": "enable_prefix_caching"}

VLLM = Format(
    "vllm",
    tells=(
        r"\bvllm[./ ]",
        r"\b(?:DEBUG|INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w.]+:\d+\]",
        r"Initializing a V\d LLM engine|EngineCore|EngineDeadError|non-default args|\(APIServer pid=",
        r"VLLM_[A-Z_]+",
    ),
    stages=(
        (Stage.ARG_PARSING, r"non-default args|usage: vllm|vLLM API server version"),
        (Stage.MODEL_CONFIG, r"Resolved architecture|Using max model len|Error parsing config|ModelConfig"),
        (Stage.DISTRIBUTED_INIT, r"Initializing a V\d LLM engine|distributed_init_method|is assigned as DP rank"),
        (Stage.WEIGHT_LOAD, r"Starting to load model|Loading safetensors checkpoint shards: +0%|Loading weights took"),
        (
            Stage.KERNEL_COMPILE,
            r"Dynamo bytecode transform|Compiling a graph|Warming up model for the compilation"
            r"|torch\.compile takes|torch_compile_cache|cache the graph|Start compiling function",
        ),
        (Stage.KV_CACHE_ALLOC, r"KV cache memory: |KV cache size: |Explicitly set .* for KV cache|KV cache layout"),
        (Stage.CUDA_GRAPH_CAPTURE, r"Capturing (?:CUDA|cudagraph)|Graph capturing|Profiling CUDA graph memory"),
        (Stage.WARMUP, r"[Ww]arming up (?:kernels|sampler)|(?:[^T] |[^ ])[Kk]ernel warmup"),
        (Stage.READY, r"Application startup complete"),
        (Stage.PREFILL, r"Received request|Running: [1-9]\d* reqs|Added request"),
        (Stage.DECODE, r"\"POST /v1/[\w/]+ HTTP/[\d.]+\" (?:200|400)|Avg generation throughput: (?:[1-9]|0\.[1-9])"),
        (Stage.SHUTDOWN, r"\[shutdown\] API server: shutdown triggered|Shutting down"),
    ),
    says=(
        dumped(r"non-default args: ", requested=True),
        dumped(r"LLM engine \(v[^)]*\) with config: ", aliases=_DUMPED),
        version("vllm", r"LLM engine \(v(?P<version>[^)\s]+)\)"),
        version("vllm", r"█  version (?P<version>\d[\w.+\-]*)"),
        version("vllm", r"(?i)vllm(?: api server)? version:?[ :]+v?(?P<version>\d[\w.+\-]*)"),
        version("vllm", r"\bvllm(?:==|: )(?P<version>\d[\w.+\-]*)", listed=True),
        environment(r"█  model   (?P<model>\S+)"),
        environment(r"Resolved architecture: (?P<architecture>\w+)"),
        environment(r"vLLM is using nccl==(?P<nccl>[\d.]+)"),
        resolved(r"Using max model len (?P<max_model_len>\d+)", by_engine=False),
        resolved(r"Using (?P<attention_backend>[A-Z][A-Z0-9_]+)(?: attention)? backend(?: out of|\.|$)"),
        resolved(r"Using (?P<attention_backend>[A-Z][\w]+) backend on V\d engine"),
        resolved(r"Using (?P<mla_prefill_backend>[A-Z][A-Z0-9_]+) MLA prefill backend"),
        resolved(r"Using '?(?P<moe_backend>[A-Z][\w ]*?)'? (?:\w+ )?MoE backend out of"),
        resolved(r"Using (?P<linear_kernel>\w+) for \w*(?:NVFP4|NvFp4|Fp8|FP8)\w*"),
        resolved(r"Using (?P<kv_cache_dtype>fp8\w*) data type to store kv cache"),
        resolved(r"(?:Downcasting|Upcasting|Casting) torch\.\w+ to torch\.(?P<dtype>\w+)", by_engine=False),
        resolved(r"Chunked prefill is enabled with max_num_batched_tokens=(?P<max_num_batched_tokens>\d+)"),
        # The platform of CPUs has one attention backend, and names another one (for MLA) in the next line:
        # vllm/platforms/cpu.py in https://github.com/vllm-project/vllm.
        fixed(r"Cannot use \S+ backend on CPU", attention_backend="CPU_ATTN"),
        fixed(r"Cannot use \S+ backend on (?:[^C]|C[^P])", attention_backend=None),
        fixed(
            r"forcing chunked prefill and prefix caching to be disabled",
            enable_chunked_prefill="False",
            enable_prefix_caching="False",
        ),
        fixed(
            r"Cudagraph is disabled under eager mode|disabling torch\.compile and CUDAGraphs"
            r"|disabling torch\.compile, CUDAGraphs",
            cudagraph_mode="NONE",
        ),
    ),
    aliases=ALIASES,
)
