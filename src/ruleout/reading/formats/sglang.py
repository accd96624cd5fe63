"""SGLang: `[2026-01-29 00:30:16 TP0] message`; also `server_args=ServerArgs(…)`.

Hooks of the model and the hardware change settings after the dump and say so ("Setting KV cache dtype to …"). "Fired
up" follows one short request of its own, so what is printed between uvicorn's start and that line is warm-up.
"""

from __future__ import annotations

from ruleout.model import Stage
from ruleout.reading.book import Book
from ruleout.reading.formats.base import Format, Says, Taken, dumped, environment, fixed, resolved, version

ALIASES = {
    "tp": "tp_size",
    "tensor_parallel_size": "tp_size",
    "dp": "dp_size",
    "data_parallel_size": "dp_size",
    "pp": "pp_size",
    "ep": "ep_size",
    "expert_parallel_size": "ep_size",
    "model": "model_path",
    "fp4_gemm_runner_backend": "fp4_gemm_backend",
    "fp8_gemm_runner_backend": "fp8_gemm_backend",
}


def _allocated(book: Book, groups: Taken, text: str, line: int) -> None:
    """torch's name of the cache's type says what `auto` came to; a type that was named before keeps its own name."""
    known = book.settings.get("kv_cache_dtype")
    if not known or known.resolved in (None, "auto"):
        book.resolve("kv_cache_dtype", groups["dtype"], line, by_engine=True)


def _asked(book: Book, groups: Taken, text: str, line: int) -> None:
    """Values that the engine says came from the command line."""
    for name, value in groups.items():
        book.request(name, value, line)


SGLANG = Format(
    "sglang",
    tells=(
        r"\bsglang[./ ]",
        r"server_args=(?:ServerArgs\(|\{)",
        r"The server is fired up and ready to roll",
        r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: [A-Z]+\d+)*\] ",
        r"Scheduler hit an exception|sgl_kernel|sgl-kernel|sgl-workspace|nsa_(?:prefill|decode)_backend",
        r"Capture (?:\w+ )*cuda graph |Registering \d+ cuda graph addresses|DSA backends? for|DSA with TP",
    ),
    stages=(
        (Stage.ARG_PARSING, r"server_args=|usage: sglang|Attention backend not (?:explicitly )?specified"),
        (Stage.DISTRIBUTED_INIT, r"Init torch distributed (?:begin|ends)|Init parallel begin"),
        (Stage.WEIGHT_LOAD, r"Load weight (?:begin|end)|Loading safetensors checkpoint shards|loading shards: +0%"),
        (Stage.KV_CACHE_ALLOC, r"KV Cache is allocated|Memory pool end|Capacity: .*KV|Using KV cache dtype"),
        (Stage.CUDA_GRAPH_CAPTURE, r"Capture (?:\w+ )*(?:cuda|CUDA) graph begin|Capturing (?:batches|num tokens)"),
        (Stage.KERNEL_COMPILE, r"DeepGEMM JIT|JIT Compiling|Entering DeepGEMM|Try DeepGEMM warmup|Warming up DeepGEMM"),
        (Stage.WARMUP, r"Application startup complete|Running warmup|Start of .{0,40}warmup"),
        (Stage.READY, r"The server is fired up and ready to roll"),
        (Stage.PREFILL, r"Prefill batch"),
        (Stage.DECODE, r"Decode batch|\"POST /v1/[\w/]+ HTTP/[\d.]+\" 200"),
        (Stage.SHUTDOWN, r"SIGTERM received|Gracefully exiting"),
    ),
    says=(
        dumped(r"server_args=(?:ServerArgs\()?", aliases=ALIASES),
        resolved(r"(?i)setting KV cache dtype to (?P<kv_cache_dtype>\w+)"),
        Says(r"KV Cache is allocated\. dtype: torch\.(?P<dtype>\w+)", _allocated),
        resolved(
            r"Set (?:DSA"
            r"|NSA) backends? for .*prefill=(?P<nsa_prefill_backend>\w+), decode=(?P<nsa_decode_backend>\w+)"
        ),
        resolved(r"(?i)\buse (?P<attention_backend>\w+) (?:attention )?backend (?:by default|for)"),
        resolved(r"(?i)\buse (?P<attention_backend>\w+) attention backend"),
        resolved(r"(?i)Use (?P<moe_runner_backend>\w+) as MoE runner backend"),
        resolved(r"Setting page size to (?P<page_size>\d+)"),
        resolved(
            r"max_total_num_tokens=(?P<max_total_num_tokens>\d+), chunked_prefill_size=(?P<chunked_prefill_size>-?\d+)",
            by_engine=False,
        ),
        resolved(r"Using (?:ModelOptModelLoader|HF)[\w -]*quantization \((?P<quantization>\w+)\)"),
        Says(r"Using CLI-specified quantization \((?P<quantization>\w+)\)", _asked),
        fixed(r"Cuda graph is disabled because|CUDA graph is disabled", disable_cuda_graph="True"),
        fixed(r"Disable prefill CUDA graph", cuda_graph_backend_prefill="disabled"),
        fixed(r"Shared experts fusion optimization (?:is )?enabled", shared_experts_fusion="enabled"),
        fixed(r"Shared experts fusion optimization (?:is )?disabled", shared_experts_fusion="disabled"),
        environment(r"Load weight end\..* type=(?P<architecture>\w+)"),
        environment(r"Load weight end\..* quant=(?P<quantization>[\w\-]+)"),
        environment(r"Transformers version (?P<transformers>[\d.]+\w*) is used for model type (?P<model_type>\w+)"),
        environment(r"sglang is using nccl==(?P<nccl>[\d.]+)"),
        version("sglang", r"(?i)\bsglang(?: version)?[:= ]+=?v?(?P<version>\d+\.\d+\.\d[\w.+\-]*)", listed=True),
    ),
    aliases=ALIASES,
)
