"""The founding case with every name exchanged for an invented one: what is concluded must not hang on names.

Engine, model, libraries, flags, their values, the warning, names of files and of variables: all are exchanged, word by
word, so that what was one word stays one word. Words of the field (prefill, decode, probability tensor) stay.
"""

from __future__ import annotations

import re

_WHOLE = {
    "nsa_decode_backend": "quo_spit_motor",
    "nsa_prefill_backend": "quo_chew_motor",
    "decode_attention_backend": "spit_gaze_motor",
    "prefill_attention_backend": "chew_gaze_motor",
    "disable_cuda_graph": "skip_tape",
    "server_args": "zorb_opts",
    "ServerArgs": "ZorbOpts",
    "launch_server": "run_host",
    "GlmMoeDsaForCausalLM": "PlumMuxVexForTalk",
    "The server is fired up and ready to roll": "Zorblax is up and server is ready",
    "Scheduler hit an exception": "Foreman is done for",
    "Init torch distributed": "Joining by init_process_group",
    "Load weight begin": "Loading weights now",
    "Capture cuda graph": "Capturing cuda graph",
}
_WORDS = {
    "sglang": "zorblax", "transformers": "cogwheels", "glm": "plum", "moe": "mux", "dsa": "vex", "nsa": "quo",
    "kv": "mu", "cache": "pile", "dtype": "kind", "fp8": "z7", "e4m3": "w5", "fp4": "y9", "flashmla": "opal",
    "sparse": "thin", "triton": "moss", "pytorch": "reed", "flashinfer": "gale", "cutlass": "flint",
    "modelopt": "bricol", "quantization": "squashing", "attention": "gaze", "sampling": "drawing", "backend": "motor",
    "backends": "motors", "tilelang": "dune", "aiter": "fern", "trtllm": "kelp", "fa3": "ivy", "rope": "twine",
    "deepseek": "deepfind", "deepgemm": "lowslab", "ue8m0": "q8r", "runner": "porter", "tp": "wd", "pool": "vat",
    "mla": "fog", "scheduler": "foreman", "nccl": "chatter", "gemm": "slab", "radix": "stump", "xgrammar": "ygrammar",
}  # fmt: skip
_WORD = re.compile(r"(?:[a-z]+\d+)+[a-z]*|[A-Za-z]+\d*|\d+")
_PREFIX = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?: \w\w(\d))?\] ?", re.MULTILINE)


def exchanged(text: str) -> str:
    """A text of the case with its names exchanged; each engine's prefix of lines becomes a plain one."""
    for old, new in _WHOLE.items():
        text = text.replace(old, new).replace(old.replace("_", "-"), new.replace("_", "-"))
    text = _PREFIX.sub(lambda found: f"{found[1]} [rank{found[2]}]: " if found[2] else f"{found[1]} ", text)
    return _WORD.sub(_word, text)


def _word(found: re.Match[str]) -> str:
    new = _WORDS.get(found[0].lower())
    if new is None:
        return found[0]
    if found[0].isupper() and len(found[0]) > 1:
        return new.upper()
    return new.capitalize() if found[0][:1].isupper() else new
