"""Settings that are only spoken of: versions, parallel sizes, and what can be switched on and off."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ruleout.reading.notes.found import Change

OFF, ON = "off", "on"
_PARALLEL = re.compile(r"(?<![\w-])(tp|pp|dp|ep|concurrency)[ =_-]?(?:(?:size|of)[ =]?)?(\d{1,3})\b", re.IGNORECASE)
_PACKAGES = (
    r"transformers|vllm|sglang|pytorch|torch|flashinfer(?:-python)?|triton|cuda(?:[ -]toolkit)?"
    r"|(?:nvidia[ -])?driver|nccl"
    r"|deep[_-]?gemm|flash[_-]attn|xformers|cutlass|llama\.cpp|tensorrt[_-]llm|trt-?llm|lmdeploy|python"
    r"|sgl[_-]kernel|numpy"
    r"|aiter|rocm|huggingface[_-]hub|tokenizers|compressed[_-]tensors|cudnn|deep[_-]?ep|kernel|nvshmem|xgrammar"
)
_VERSION = re.compile(
    rf"(?<![\w/-])({_PACKAGES})`?\s*(?:==|=|@|:|version|to|at|-|v)?\s*`?v?(\d+(?:\.\d+)+[\w.+-]*\w|\d+\.\d+"
    rf"|\d{{3}}(?=\b)|nightly|main|master|b\d{{4,}})\b",
    re.IGNORECASE,
)
_SWITCHES = (
    r"cuda ?-?graphs?|prefix[ -]cach(?:e|ing)|radix(?:[ -](?:cache|attention))?|chunked[ -]prefill"
    r"|overlap(?:[ -]schedul\w+)?"
    r"|custom[ -]all-?reduce|torch[. ]?compile|inductor|spec(?:ulative)?(?:[ -]decod\w+)?|mtp|eagle|eager(?:[ -]mode)?"
    r"|deep[ -]?gemm|flash[ -]?attention|continuous[ -]batching|mmap|async(?:[ -]scheduling)?|p2p|ecc|mig"
    r"|expert[ -]parallel\w*"
    r"|dp[ -]attention|piecewise(?:[ -]cuda)?(?:[ -]graphs?)?|kv[ -]cache[ -]quant\w*|quantization|hybrid[ -]kv\w*"
    r"|lora|nvls"
)
_OFF = r"off|disabled?|turned off|switched off|removed|deactivated"
_ON = r"on|enabled?|turned on|switched on|activated"
_SWITCHED = re.compile(
    rf"\b(?:(?P<before>{_OFF}|disabling|no|without|w/o|turning off|(?P<yes>{_ON}|enabling|with"
    rf"|in))\s+(?:the\s+)?(?P<thing>{_SWITCHES})"
    rf"|(?P<subject>{_SWITCHES})\s*(?:=|:|is|are|was|were)?\s*(?:all\s+)?(?:(?P<off>{_OFF})|(?P<on>{_ON})))\b(?!-)",
    re.IGNORECASE,
)
_TYPED = re.compile(
    r"\b(?P<type>bf16|fp16|fp8(?:_e[45]m[23])?|int8|bfloat16|float16|fp32|auto)\s+(?P<what>kv(?:[ -]cache)?|weights?"
    r"|activations?)\b"
    r"|\b(?P<first>kv(?:[ -]cache)?)\s+(?:in\s+|to\s+|as\s+|=\s*|dtype\s+)?(?P<then>bf16|fp16|fp8(?:_e[45]m[23])?"
    r"|int8|bfloat16|float16)\b",
    re.IGNORECASE,
)


def spoken_changes(text: str) -> Iterator[Change]:
    """Versions, parallel sizes and switches in words."""
    for found in _VERSION.finditer(text):
        yield Change(found.start(), found.end(), re.sub(r"[ -]", "_", found[1].lower()), found[2], sure=False)
    for found in _PARALLEL.finditer(text):
        yield Change(found.start(), found.end(), found[1].lower(), found[2], sure=False)
    for found in _SWITCHED.finditer(text):
        thing = re.sub(r"\W+", "_", (found["thing"] or found["subject"]).lower())
        on = found["yes"] or found["on"]
        yield Change(found.start(), found.end(), thing, ON if on else OFF, sure=False)
    for found in _TYPED.finditer(text):
        what = re.sub(r"\W+", "_", (found["what"] or found["first"]).lower())
        yield Change(found.start(), found.end(), what, found["type"] or found["then"], sure=False)


def not_restated(text: str, sure: Sequence[Change], spoken: Sequence[Change]) -> list[Change]:
    """Changes in words that no flag says again: `CUDA graphs off (`--disable-cuda-graph`)` is one change."""
    kept = []
    for one in spoken:
        words = set(one.name.rstrip("s").split("_"))
        said_again = any(
            words <= set(re.split(r"[-_]+", change.name.lower()))
            or (one.level in (ON, OFF) and re.fullmatch(r"\W*\(\W*(?:no|without)?\W*", text[one.end : change.begin]))
            for change in sure
            if one.level in (ON, OFF) or change.level == one.level
        )
        if not said_again:
            kept.append(one)
    return kept
