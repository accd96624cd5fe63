"""Which flags of an engine have no value: what stands behind one is another argument, the model as a rule.

Engines name their switches alike, and what they name otherwise is listed: `vllm serve --help=all` of 0.32.0,
https://nvidia.github.io/TensorRT-LLM/commands/trtllm-serve.html, `transformers serve --help` of 5.2 and 5.24, and
`python -m sglang.launch_server --help` of 0.5.23.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ruleout.model import arguments

_NAMED_SO = re.compile(r"--(?:enable|disable|no|use|skip|trust|enforce|allow)[-_]\w.*")
_VALUED = frozenset({"--disable-access-log-for-endpoints"})
_ATTACHED = re.compile(r"-O\d+|-[A-Za-z]+\.\S+")
"""A short flag with its value in the same word: vLLM's `-O3`."""
_OTHERS: Mapping[str, frozenset[str]] = {
    "vllm": frozenset(
        {"--aggregate-engine-logging", "--grpc", "--headless", "--log-error-stack", "--return-tokens-as-token-ids"}
        | {"--tokens-only", "--data-parallel-external-lb", "-dpe", "--data-parallel-hybrid-lb", "-dph", "-ep"}
        | {"--numa-bind", "--kv-sharing-fast-prefill", "--interleave-mm-strings", "--language-model-only"}
        | {"--mm-encoder-only", "--fully-sharded-loras", "--cudagraph-metrics", "--kv-cache-metrics"}
        | {"--async-scheduling", "--exclude-tools-when-tool-choice-none", "--ray-workers-use-nsight"}
        | {"--calculate-kv-scales", "--scheduler-reserve-full-isl", "--dcp-q-replicate"}
    ),
    "sglang": frozenset(
        {"--sleep-on-idle", "--grpc-mode", "--quantize-and-serve", "--speculative-adaptive", "--pre-warm-nccl"}
        | {"--debug-cuda-graph", "--flashinfer-mla-disable-ragged", "--triton-attention-reduce-in-fp32"}
        | {"--delete-ckpt-after-loading", "--weight-loader-disable-mmap", "--weight-loader-prefetch-checkpoints"}
        | {"--encoder-only", "--language-only", "--language-model-only", "--incremental-streaming-output"}
        | {"--speculative-use-rejection-sampling", "--constrained-json-disable-any-whitespace"}
        | {"--disaggregation-decode-enable-offload-kvcache", "--disaggregation-decode-enable-radix-cache"}
    ),
    "transformers": frozenset(
        {"--continuous-batching", "--compile", "--cb-use-cuda-graph", "--input-validation", "--non-blocking", "--json"}
        | {"-q", "--quiet", "-h", "--help"}
    ),
    "tensorrt-llm": frozenset({"--grpc", "--return_perf_metrics"}),
}

_LISTS: Mapping[str, frozenset[str]] = {
    "vllm": frozenset(
        {"--api-key", "--lora-modules", "--allowed-media-domains", "--logits-processors", "--served-model-name"}
        | {"--ignore-patterns", "--numa-bind-cpus", "--numa-bind-nodes", "--kv-cache-dtype-skip-layers"}
        | {"--cpu-offload-params", "--offload-params", "--lora-target-modules", "--cudagraph-capture-sizes"}
    ),
    "transformers": frozenset(),
    "tensorrt-llm": frozenset(),
}
"""Of engines that take the model as an argument, the flags that take several values."""


def switch(engine: str, flag: str) -> bool:
    """Whether a flag of that engine has no value, or has it in the same word. Of unknown programs nothing is known."""
    if engine == "command" or flag in _VALUED:
        return False
    others = _OTHERS.get(engine, frozenset())
    return bool(_NAMED_SO.fullmatch(flag) or _ATTACHED.fullmatch(flag)) or flag in others


def parted(engine: str, words: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """An engine's arguments, in their order: each flag with its values, and under "" each word that belongs to none.

    A flag that is no switch has one value, or a list. Where the model is an argument and did not come yet, only flags
    that are known for lists are taken for such.
    """
    listed = _LISTS.get(engine)
    found: list[tuple[str, tuple[str, ...]]] = []
    closed = True
    for word in words:
        flag, values = found[-1] if found else ("", ())
        one = listed is not None and flag not in listed and all(name for name, _ in found)
        full = not flag or (one and bool(values))
        if not arguments.is_value(word):
            name, equals, value = word.partition("=")
            found.append((name, (value,) if equals else ()))
            closed = bool(equals) or switch(engine, name)
        elif closed or full:
            found.append(("", (word,)))
        else:
            found[-1] = (flag, (*values, word))
    return found
