"""Values of flags that an engine's own parser refuses: what one engine takes, another does not even read.

`--kv-cache-dtype bf16` starts SGLang and not vLLM, `fp8` the other way round; `--max-model-len 32K` is 32768 tokens
for vLLM, and `--context-length 32K` is nothing for SGLang, which writes it `32Ki`.
Sources: `EngineArgs.add_cli_args` of vLLM 0.32, `ServerArgs.add_cli_args` of SGLang 0.5.23 and 0.5.9,
`transformers/cli/serve.py` of 5.24.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping

from ruleout.audit.folder import quoted
from ruleout.audit.subject import Subject
from ruleout.model import PRESENT, Component
from ruleout.model.audit import AuditFinding, Severity, whole

SOURCES = {
    "vllm": "https://github.com/vllm-project/vllm: engine/arg_utils.py",
    "sglang": "https://github.com/sgl-project/sglang: srt/server_args.py",
    "transformers": "https://github.com/huggingface/transformers: cli/serve.py",
}
COUNTS = (
    "tensor_parallel_size", "tp_size", "tp", "pipeline_parallel_size", "pp_size", "pp", "data_parallel_size",
    "dp_size", "dp", "expert_parallel_size", "ep_size", "ep", "max_num_seqs", "max_running_requests", "block_size",
    "page_size", "cuda_graph_max_bs",
)  # fmt: skip
"""Flags for a whole number from 1 on, without a suffix."""
TOKENS = {
    "vllm": ("max_model_len", "max_num_batched_tokens"),
    "sglang": ("context_length", "max_total_tokens", "max_prefill_tokens"),
}
"""Flags for a number of tokens, which may have a suffix."""
_SPELT = {"vllm": "32k for 32000, 32K for 32768", "sglang": "32k for 32000, 32Ki for 32768"}
_AUTOMATIC = {("vllm", "max_model_len", "-1"), ("vllm", "max_model_len", "auto")}
SHARES = ("gpu_memory_utilization", "mem_fraction_static")
_FLOATS = frozenset({"auto", "half", "float16", "bfloat16", "float", "float32"})
WORDS: Mapping[tuple[str, str], frozenset[str]] = {
    ("vllm", "dtype"): _FLOATS,
    ("sglang", "dtype"): _FLOATS,
    ("transformers", "dtype"): _FLOATS | {"double", "float64"},
    ("vllm", "kv_cache_dtype"): frozenset({
        "auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla", "nvfp4",
        "nvfp4_4over6", "nvfp4_ds_mla", "fp8_per_token_head", "int8_per_token_head", "int4_per_token_head",
        "ultraquant_4bit", "turboquant_k8v4", "turboquant_4bit_nc", "turboquant_k3v4_nc", "turboquant_3bit_nc",
    }),
    ("sglang", "kv_cache_dtype"): frozenset({
        "auto", "fp8_e5m2", "fp8_e4m3", "mxfp8", "bf16", "bfloat16", "fp4_e2m1", "nvfp4", "fp4_mx_block16",
    }),
}  # fmt: skip
"""What a flag takes, in any release up to those named above."""
OBJECTS = {
    "vllm": (
        "hf_overrides", "speculative_config", "compilation_config", "override_generation_config", "kv_transfer_config",
    ),
    "sglang": ("json_model_override_args",),
}  # fmt: skip
"""Flags for an object of JSON."""
_OR_A_NUMBER = ("compilation_config",)
"""Of which older releases also took a level, as in `-O3`."""
OVERRIDES = ("hf_overrides", "json_model_override_args")
_SHELL = re.compile(r"[$<>…]|\(\(")
_UNCOUNTED = re.compile(r"[${}<>…]|\(\(")


def words(subject: Subject) -> Iterator[AuditFinding]:
    """What the parser of the engine would refuse. Values that a shell has yet to fill in are left to it."""
    yield from _numbers(subject)
    yield from _shares(subject)
    yield from _words(subject)
    yield from _objects(subject)


def flag(name: str) -> str:
    """A flag as it is usually spelt."""
    return f"--{name.replace('_', '-')}"


def _numbers(subject: Subject) -> Iterator[AuditFinding]:
    engine, given = subject.launch.engine, subject.launch.arguments
    for name in (*COUNTS, *TOKENS.get(engine, ())):
        value = given.get(name)
        if value is None or _UNCOUNTED.search(value) or (engine, name, value.lower()) in _AUTOMATIC:
            continue
        suffixed = name in TOKENS.get(engine, ())
        found = whole(value, engine if suffixed else "")
        if found is None or found < 1:
            what = f"{flag(name)} is {_told(value)}, where a whole number from 1 on is needed: the command is refused"
            remedy = f"Write a number, or a short one: {_SPELT[engine]}." if suffixed else "Write a number."
            yield _finding(engine, "command-number", what, name, remedy)


def _shares(subject: Subject) -> Iterator[AuditFinding]:
    for name in SHARES:
        value = subject.launch.value(name)
        if value is None or _UNCOUNTED.search(value):
            continue
        try:
            share = float(value)
        except ValueError:
            share = math.nan
        if not 0 < share <= 1:
            what = f"{flag(name)} is {_told(value)}, where a share of the memory is needed, above 0 and up to 1"
            yield _finding(subject.launch.engine, "command-number", what, name, "Write it as in 0.9.")


def _words(subject: Subject) -> Iterator[AuditFinding]:
    engine = subject.launch.engine
    for (owner, name), known in WORDS.items():
        value = subject.launch.value(name) if owner == engine else None
        if value is None or value in known or _SHELL.search(value):
            continue
        what = f"{flag(name)} is {_told(value)}, which {engine} does not take: the command is refused"
        others = [other for (other, same), taken in WORDS.items() if same == name and value in taken]
        what += f" ({' and '.join(others)} would)" if others else ""
        some = [word for word in ("auto", "bfloat16", "bf16", "float16", "float32", "fp8", "fp8_e4m3") if word in known]
        yield _finding(engine, "command-word", what, name, f"Use one that it takes: {', '.join(some)}, …")


def _objects(subject: Subject) -> Iterator[AuditFinding]:
    engine = subject.launch.engine
    for name in OBJECTS.get(engine, ()):
        value = subject.launch.value(name)
        if value is None or "$" in value or (name in _OR_A_NUMBER and value.isdecimal()):
            continue
        try:
            told, why = json.loads(value), ""
        except (ValueError, RecursionError) as problem:
            told, why = None, f" ({problem})"
        if not isinstance(told, dict) and value not in ("null", "None"):
            what = f"{flag(name)} is {_told(value)}, which is no object of JSON: the command is refused{why}"
            remedy = """Write it in single quotes, as in '{"key": 1}'."""
            yield _finding(engine, "command-json", what, name, remedy)
        elif told and name in OVERRIDES:
            keys = ", ".join(quoted(key) for key in list(told)[:3]) + (", …" if len(told) > 3 else "")
            what = f"{flag(name)} changes {keys} of config.json, which is judged here as it stands in the folder"
            remedy = "Audit a copy of the folder whose config.json says so."
            yield _finding(engine, "command-overrides", what, name, remedy, Severity.NOTE)


def _told(value: str) -> str:
    return "given no value" if value == PRESENT else quoted(value)


def _finding(
    engine: str, id_: str, what: str, name: str, remedy: str, severity: Severity = Severity.ERROR
) -> AuditFinding:
    return AuditFinding(id_, severity, what, flag(name), remedy, SOURCES.get(engine, ""), Component.USER_CONFIG)
