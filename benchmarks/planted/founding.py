"""The founding case: four faults behind one symptom, each enough by itself, so that no single change helps.

A GLM-5-class model in NVFP4 on SM120: a race in FP4 GEMMs built without a flag, ue8m0 scales assumed for e4m3 ones,
decode kernels that this architecture does not have, and the scales of an FP8 KV cache lost on the way. The engine
chose FP8 for the KV cache by itself. Triton refuses that cache at the start; Transformers 4.57.1, which a warning of
every start recommends, does not know the model type.
"""

from __future__ import annotations

import random

from benchmarks.planted.catalogue import CATALOGUE
from benchmarks.planted.scenario import Conjunction, Factor, Mask, Scenario

BLAMED, ADVISED = "transformers", "4.57.1"
"""What the warning speaks of, and the way out that it offers."""
CHATTER = (
    "Transformers version 5.2.0 is used for model type glm_moe_dsa. If you experience issues related to RoPE, "
    "try transformers==4.57.1.",
)
CHOSEN = "Setting KV cache dtype to fp8_e4m3"
"""What the engine says of the KV cache unless it is told otherwise."""
_WITHOUT_KERNELS = ("flashmla_kv", "flashmla_sparse", "fa3", "trtllm")
_BYSTANDERS = ("sampling_backend", "cuda_graph", "radix_cache", "overlap_schedule", "moe_runner_backend")


def founding(seed: int) -> Scenario:
    """The case; a seed shuffles the factors and chooses which of the other backends fail too."""
    luck = random.Random(f"founding/{seed}")
    factors = [
        Factor("decode_backend", *CATALOGUE["decode_backend"], "flashmla_kv"),
        Factor("kv_cache_dtype", "--kv-cache-dtype", ("auto", "bf16", "fp8_e4m3"), "auto"),
        Factor("fp4_gemm_flag", "--fp4-gemm-serialized", ("absent", "present"), "absent"),
        Factor("scale_format", "--fp8-scale-format", ("ue8m0", "e4m3"), "ue8m0"),
        Factor(BLAMED, "--transformers", ("5.2.0", ADVISED), "5.2.0"),
    ]
    for name in _BYSTANDERS:
        flag, levels = CATALOGUE[name]
        factors.append(Factor(name, flag, levels[:3], levels[0]))
    lacking = {"flashmla_kv", "flashmla_sparse", *luck.sample(_WITHOUT_KERNELS[2:], luck.choice((0, 1, 2)))}
    fp8 = frozenset({"auto", "fp8_e4m3"})
    causes: tuple[Conjunction, ...] = (
        {"decode_backend": frozenset(lacking)},
        {"kv_cache_dtype": fp8},
        {"fp4_gemm_flag": frozenset({"absent"})},
        {"scale_format": frozenset({"ue8m0"})},
    )
    masks = (
        Mask({"decode_backend": frozenset({"triton"}), "kv_cache_dtype": fp8}, "refused-arguments"),
        Mask({BLAMED: frozenset({ADVISED})}, "unknown-model-type"),
    )
    luck.shuffle(factors)
    says: tuple[tuple[Conjunction, str], ...] = (({"kv_cache_dtype": fp8}, CHOSEN),)
    return Scenario("founding", seed, tuple(factors), causes, "assert-in-decode", masks, chatter=CHATTER, says=says)
