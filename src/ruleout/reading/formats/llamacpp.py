"""llama.cpp: newer builds print `0.00.302.419 I component: message` (minutes.seconds.millis.micros since the start).

Facts of the file come as `llama_model_loader: - kv 0: general.architecture str = …` and `print_info: …`; the device as
`Device 0: NVIDIA …, compute capability 12.0` or, since the device list, `- CUDA0 : NVIDIA … (… MiB, … MiB free)`.
"""

from __future__ import annotations

from ruleout.model import Stage
from ruleout.reading.book import Book
from ruleout.reading.formats.base import Format, Says, Taken, environment, fixed, resolved, version


def _capability(book: Book, groups: Taken, text: str, line: int) -> None:
    book.ran_on("gpu", groups["gpu"])
    book.ran_on("sm", groups["sm"].replace(".", ""))


def _architectures(book: Book, groups: Taken, text: str, line: int) -> None:
    """`ARCHS = 1210` is compute capability 12.1; of several, none is the device's."""
    if "," not in groups["archs"]:
        book.ran_on("sm", groups["archs"][:-1])


LLAMACPP = Format(
    "llama.cpp",
    tells=(
        r"\b(?:llama_model_loader|llama_context|llama_kv_cache\w*|llm_load_\w+|load_tensors|ggml_\w+"
        r"|llama_server): ",
        r"GGML_ASSERT|\bggml[_\-/]|llama-(?:server|cli|bench)|\bllama serve\b|\.gguf\b",
        r"^(?:main|build): .*build|^build: \d+ \(",
        r"\d+\.\d\d\.\d{3}\.\d{3} [IWED] ",
        r"slot +(?:launch_slot_|update_slots|print_timing|release)",
        r"flash_attn +=|n_ubatch|-ngl \d",
        r"HTTP server is listening, hostname: ",
    ),
    stages=(
        (Stage.ARG_PARSING, r"HTTP server is listening"),  # before the model is loaded
        (Stage.MODEL_CONFIG, r"llama_model_loader: loaded meta data|loading model '|print_info: (?:arch|file format)"),
        (Stage.WEIGHT_LOAD, r"load_tensors: (?:loading|offload)|llm_load_tensors|fitting params to device"),
        (Stage.KV_CACHE_ALLOC, r"llama_kv_cache\w*: |llama_context: (?:constructing|n_ctx)|kv_cache_init"),
        (Stage.WARMUP, r"warming up the model"),
        (Stage.READY, r"(?:server is|llama_server:) listening|all slots are idle|main: model loaded"),
        (Stage.PREFILL, r"launch_slot_: .*processing task|new prompt, n_ctx_slot|prompt processing progress"),
        (Stage.DECODE, r"eval time =|n_decoded ="),
        (Stage.SHUTDOWN, r"cleaning up before exit|Received (?:interrupt|second)"),
    ),
    says=(
        version("llama.cpp", r"\bbuild(?: version)?:? (?P<version>b?\d{4,}(?: \([0-9a-f]+\))?)"),
        version("llama.cpp", r"build: (?P<version>\d{3,}) \("),
        version("llama.cpp", r"^version: (?P<version>\d{3,6} \([0-9a-f]{6,}\)|\S+ \(build \d+, commit [0-9a-f]+\))"),
        Says(r"Device \d+: (?P<gpu>[^,]+), compute capability (?P<sm>[\d.]+)", _capability),
        environment(r"- CUDA0 +: (?P<gpu>[^(]+?) \("),
        Says(r"CUDA : ARCHS = (?P<archs>[\d,]+)", _architectures),
        environment(r"loading model '(?P<model>[^']+)'"),
        environment(r"general\.architecture +str +=\s+(?P<model_type>\S+)"),
        environment(r"print_info: file type +=\s+(?P<quantization>\w+)"),
        environment(r"general\.name +str +=\s+(?P<model>.+)"),
        resolved(r"\bflash_attn +=\s+(?P<flash_attn>\w+)", by_engine=False),
        resolved(r"\bn_ctx +=\s+(?P<ctx_size>\d+)", by_engine=False),
        resolved(r"n_ctx_seq \((?P<ctx_size>\d+)\)", by_engine=False),
        resolved(r"\bn_ubatch +=\s+(?P<ubatch_size>\d+)", by_engine=False),
        resolved(r"using n_parallel = (?P<parallel>\d+) and kv_unified = (?P<kv_unified>\w+)"),
        resolved(r"offloaded (?P<gpu_layers>\d+)/\d+ layers", by_engine=False),
        fixed(r"flash_attn is not compatible|Flash Attention was auto, set to disabled", flash_attn="0"),
    ),
    aliases={"fa": "flash_attn", "ngl": "gpu_layers", "c": "ctx_size", "m": "model", "ub": "ubatch_size"},
)
