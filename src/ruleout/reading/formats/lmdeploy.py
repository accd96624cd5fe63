"""lmdeploy: Python's log (`2026-01-02 03:04:05,678 - lmdeploy - INFO - engine.py:12 - …`), TurboMind's `[TM][INFO]`."""

from __future__ import annotations

from ruleout.model import Stage
from ruleout.reading.formats.base import Format, dumped, environment, resolved, version

LMDEPLOY = Format(
    "lmdeploy",
    tells=(r"\[TM\]\[(?:DEBUG|INFO|WARNING|ERROR|FATAL)\]", r"\blmdeploy\b|[Tt]urbo[Mm]ind", r"session_len"),
    stages=(
        (Stage.MODEL_CONFIG, r"turbomind model config|input backend=|matching vision model|updated backend_config"),
        (Stage.WEIGHT_LOAD, r"Convert to turbomind format|Loading weights|LlamaWeight.*prepare"),
        (Stage.KV_CACHE_ALLOC, r"\[BlockManager\]|max cached tokens|build CacheEngine|num_gpu_blocks"),
        (Stage.WARMUP, r"[Ww]arm(?:ing)? ?up|\[Gemm2?\] Tuning"),
        (Stage.READY, r"HINT: +Please open|Application startup complete"),
        (Stage.PREFILL, r"\[ProcessInferRequests\]|\[Forward\] .*prefill|start to forward"),
        (Stage.DECODE, r"\"POST /v1/[\w/]+ HTTP/[\d.]+\" 200|\[Forward\] .*decode"),
        (Stage.SHUTDOWN, r"Shutting down"),
    ),
    says=(
        version("lmdeploy", r"(?i)\blmdeploy(?: version)?[:= ]+=?v?(?P<version>\d+\.\d+[\w.+\-]*)"),
        dumped(r"(?:TurbomindEngineConfig|PytorchEngineConfig)\("),
        environment(r"'?model_name'?[=:] ?'(?P<model>[^']+)'"),
        resolved(r"'?session_len'?[=:] ?(?P<session_len>\d+)", by_engine=False),
    ),
    aliases={"tp": "tp"},
)
