"""What is known of the flags that are proposed: since when an engine has them, how it spells them, what they cost.

A change that the engine does not know ends a start with another failure and tells nothing; and a change that makes the
failure go may cost more than it is worth, so its price is said beside it. Prices are those that somebody measured or an
engine's documentation gives; where nobody did, the direction alone is said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ruleout.diagnosis.rule import within
from ruleout.model.diagnosis import EngineId

SPELT: dict[str, dict[tuple[str, str], tuple[str, str]]] = {
    "vllm": {
        ("--kv-cache-dtype", "bf16"): ("--kv-cache-dtype", "bfloat16"),
        ("--disable-cuda-graph", ""): ("--enforce-eager", ""),
        ("--attention-backend", "triton"): ("--attention-backend", "TRITON_ATTN"),
    },
}
"""The same change in the words of another engine, for rules that are about more than one."""

KNOWN: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {
    # https://github.com/vllm-project/vllm/pull/26315: a flag since 0.13, a variable before.
    ("vllm", "--attention-backend"): ((">=0.13", "--attention-backend"), (">=0.12,<0.13", "VLLM_ATTENTION_BACKEND")),
    # https://github.com/vllm-project/vllm/pull/39538, whose predecessor was to go with 0.21
    ("vllm", "--linear-backend"): ((">=0.20", "--linear-backend"),),
    # https://github.com/vllm-project/recipes/pull/904
    ("vllm", "--moe-backend"): ((">=0.17", "--moe-backend"),),
    # https://github.com/sgl-project/sglang/pull/16534 and 17309, which gave its levels their prefix
    ("sglang", "--fp4-gemm-backend"): ((">=0.5.9", "--fp4-gemm-backend"),),
    # https://github.com/sgl-project/sglang/pull/14379
    ("sglang", "--fp8-gemm-backend"): ((">=0.5.8", "--fp8-gemm-backend"),),
    # https://github.com/sgl-project/sglang/pull/25821; the release by https://github.com/radixark/miles/pull/1058
    # The oldest list that has it: `server_args.py` of 0.5.6 in https://pypi.org/project/sglang/
    ("sglang", "--moe-runner-backend"): ((">=0.5.6", "--moe-runner-backend"),),
    # https://github.com/vllm-project/vllm/pull/19970
    ("vllm", "--no-async-scheduling"): ((">=0.10", "--no-async-scheduling"),),
    # Before V1 it is off by itself: https://docs.vllm.ai/en/v0.8.1/getting_started/v1_user_guide.html
    ("vllm", "--no-enable-prefix-caching"): ((">=0.8", "--no-enable-prefix-caching"),),
    ("sglang", "--dsa-prefill-backend"): (
        (">=0.5.13", "--dsa-prefill-backend"),
        (">=0.5.5,<0.5.13", "--nsa-prefill-backend"),
    ),
    ("sglang", "--dsa-decode-backend"): (
        (">=0.5.13", "--dsa-decode-backend"),
        (">=0.5.5,<0.5.13", "--nsa-decode-backend"),
    ),
}
"""Flags that not every release has: within which bounds under which name. Others are taken to be known."""

OLDER: dict[tuple[str, str, str], tuple[str, str]] = {
    # https://github.com/sgl-project/sglang/pull/11749; `auto` is the model's own type before
    ("sglang", "--kv-cache-dtype", "bf16"): ("<0.5.6", "auto"),
    # https://docs.vllm.ai/projects/recipes/en/latest/DeepSeek/DeepSeek-V3_2.html
    ("vllm", "--kv-cache-dtype", "bfloat16"): ("<0.12", "auto"),
}
"""Levels that older releases lack: within which bounds, and what says the same there."""

SETTINGS: dict[str, str] = {
    "fp4_gemm_backend": "fp4_gemm_runner_backend",
    "fp8_gemm_backend": "fp8_gemm_runner_backend",
    "dsa_prefill_backend": "nsa_prefill_backend",
    "dsa_decode_backend": "nsa_decode_backend",
    "cuda_graph_max_bs": "cuda_graph_max_bs_decode",
}
"""What an engine calls a flag's value in its settings, where that is not the flag's own name."""

_GRAPHS = "decoding is up to 5 times slower without graphs"
COSTS: tuple[tuple[str, str, str], ...] = (
    # https://github.com/vllm-project/vllm-omni/issues/7960 (1.7 to 4.3 times per token)
    ("--disable-cuda-graph", "", _GRAPHS),
    ("--enforce-eager", "", _GRAPHS),
    # https://github.com/ggml-org/llama.cpp/issues/27330 names the variable
    ("GGML_CUDA_DISABLE_GRAPHS", "1", "decoding is slower without graphs"),
    # https://docs.vllm.ai/en/v0.11.2/features/quantization/quantized_kvcache/
    ("--kv-cache-dtype", "bf16|bfloat16|auto", "half as many tokens fit as with FP8"),
    ("--cache-type-[kv]", "f16", "half as many tokens fit as with q8_0"),
    # https://github.com/sgl-project/sglang/pull/2467 (decode kernels, 1.1 to 3 times) and 3550 (long prompts, 4 times)
    ("--attention-backend|VLLM_ATTENTION_BACKEND", "(?i)triton.*", "attention up to 3 times slower"),
    ("--attention-backend", "torch_native|flex_attention|FLEX_ATTENTION", "much slower: a test, not a remedy"),
    ("--attn-implementation", "eager", "slower; memory grows with the square of the length"),
    ("--flash-attn|-fa", "off|0", "slower, and more memory for long contexts"),
    # https://github.com/vllm-project/vllm/pull/2192 (2 to 12 % by model and topology)
    ("--disable-custom-all-reduce", "", "2 to 12 % slower"),
    # https://github.com/sgl-project/sglang/pull/12406 (75 tokens/s instead of 136, at that time)
    ("--fp4-gemm-backend", "flashinfer_cudnn", "FP4 products may be slower"),
    ("--fp8-gemm-backend", "triton|cutlass", "FP8 products may be slower"),
    # https://github.com/vllm-project/vllm/pull/49376
    ("--linear-backend", "marlin", "weights are unpacked for each product: less throughput"),
    ("--moe-(?:runner-)?backend", "triton", "experts slower than with kernels tuned for the GPU"),
    # https://docs.sglang.io/advanced_features/speculative_decoding.html (1.5 to 2.4 times with it)
    ("--speculative-.*", "absent", "1.5 to 2.4 times slower without speculation"),
    # https://lmsys.org/blog/2024-12-04-sglang-v0-4/ (1.1 times with it)
    ("--disable-overlap-schedule|--no-async-scheduling", "", "about 10 % slower"),
    ("--disable-radix-cache|--no-enable-prefix-caching", "", "shared prompts are computed anew"),
    ("--no-continuous-batching|--continuous-batching", "|absent", "requests wait for each other"),
    ("--max-model-len|--context-length|--ctx-size", r"\d+", "longer requests are refused"),
    ("--mem-fraction-static|--gpu-memory-utilization", r"[\d.]+", "fewer tokens fit into the KV cache"),
    ("--cuda-graph-max-bs", r"\d+", "larger batches run without graphs, slower"),
    ("--sampling-backend", "pytorch", "sampling is slower"),
    ("--disable-shared-experts-fusion", "", "slightly slower"),
    # https://docs.nvidia.com/cuda/cuda-c-programming-guide/#asynchronous-execution: for debugging only
    ("CUDA_LAUNCH_BLOCKING", "1", "for the test only: every kernel is waited for"),
)  # fmt: skip
"""Name, level and price of a change; names and levels are patterns that match in full."""


def cost(change: Mapping[str, str]) -> str:
    """What a change costs, in words; empty where nothing is known."""
    found = [
        words
        for name, level in change.items()
        for flag, levels, words in COSTS
        if re.fullmatch(flag, name) and re.fullmatch(levels, level)
    ]
    return "; ".join(dict.fromkeys(found))


def spelt(engine: EngineId, change: Mapping[str, str]) -> dict[str, str] | None:
    """The change as this release spells it; None when it does not know one of the flags."""
    found: dict[str, str] = {}
    for wanted, given in change.items():
        name, level = SPELT.get(engine.name, {}).get((wanted, given), (wanted, given))
        bounds = KNOWN.get((engine.name, name))
        if bounds and numbered(engine.version):
            name = next((there for bound, there in bounds if within(engine.version or "", bound)), "")
            if not name:
                return None
        older = OLDER.get((engine.name, name, level))
        if older and numbered(engine.version) and within(engine.version or "", older[0]):
            level = older[1]
        found[name] = level
    return found


def numbered(version: str | None) -> bool:
    """Whether a version tells which release it is: builds from a checkout often call themselves 0.1.dev."""
    return bool(version) and not re.match(r"0\.[01]\.?dev|0\.0", version or "")
