"""How many bytes a token takes in the KV cache of one rank, as the engine counts it and as it allocates it.

Grouped queries keep K and V of the rank's heads. Latent attention keeps one vector for all heads, the same on every
rank. Sparse latent attention keeps an index beside it, and packs FP8 otherwise: 512 values in e4m3, four scales in
float32 and the rotary part in bfloat16 make 656 bytes.
Sources: `get_cell_size` and `NSATokenToKVPool` in SGLang 0.5.9, `calculate_mla_kv_cache_dim` in 0.5.23, the change
between them https://github.com/sgl-project/sglang/pull/26928; `fp8_ds_mla`, `DeepseekV32IndexerCache` and
`MLAAttentionSpec` in vLLM 0.32 (vllm/v1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ruleout.audit.checkpoint_families import Sizes
from ruleout.audit.memory_deployment import Deployment

_UNCOUNTED = (0, 5, 12)
"""SGLang before this release counts 576 bytes a token and layer for the packed FP8 cache that takes 656."""
_VLLM_BLOCK = 16


@dataclass(frozen=True)
class Cache:
    """The cache of one rank.

    Attributes:
        full, sliding: layers that keep all tokens, and those that keep a window.
        entry: bytes of a token in a layer as the engine counts them; `stored` as they are allocated.
        index: bytes of a token in the index of a layer.
        window: tokens of a sliding layer.
        page: tokens that are handed out at once.
    """

    full: int
    sliding: int
    entry: float
    stored: float
    index: float
    window: int
    page: int

    def counted(self, ratio: float = 1.0) -> float:
        """Bytes of a token as the engine divides its pool by them; sliding layers keep `ratio` of the tokens."""
        return (self.full + ratio * self.sliding) * (self.entry + self.index)

    def allocated(self) -> float:
        """Bytes of a token that are really taken, window layers left aside."""
        return self.full * (self.stored + self.index)


def cache(config: Mapping[str, Any], deployed: Deployment, extra_layers: int = 0) -> Cache:
    """The cache of the rank with the most layers. Raises NotDescribed where the configuration does not tell.

    Args:
        extra_layers: of a draft model whose cache lies beside that of the model.
    """
    sizes = Sizes(config)
    layers = -(-sizes("num_hidden_layers") // deployed.pp) + extra_layers
    if sizes.latent and "kv_lora_rank" in config:
        return _latent(sizes, deployed, layers)
    heads = max(1, sizes.kv_heads // deployed.attention_tp)
    value = sizes("v_head_dim", sizes.head)
    entry = heads * (sizes.head + value) * deployed.element
    if deployed.element < 1:  # a scale in e4m3 for sixteen values
        entry += heads * (sizes.head + value) / 16
    sliding = _sliding(config, deployed.pp)
    window = sizes("sliding_window", 0) if sliding else 0
    return Cache(layers - sliding, sliding, entry, entry, 0, window, 1 if deployed.engine == "sglang" else _VLLM_BLOCK)


def _latent(sizes: Sizes, deployed: Deployment, layers: int) -> Cache:
    values = sizes("kv_lora_rank") + sizes("qk_rope_head_dim")
    entry = stored = values * deployed.element
    if deployed.element < 1:
        entry = stored = entry + values / 16
    index = 0
    if sizes.indexed:
        head = sizes("index_head_dim")
        index = head + head // 128 * 4
        if deployed.element == 1:
            stored = sizes("kv_lora_rank") + sizes("kv_lora_rank") // 128 * 4 + 2 * sizes("qk_rope_head_dim")
            entry = entry if deployed.engine == "sglang" and deployed.version < _UNCOUNTED else stored
    page = 64 if sizes.indexed else 1 if deployed.engine == "sglang" else _VLLM_BLOCK
    return Cache(layers, 0, entry, stored, index, 0, page)


def _sliding(config: Mapping[str, Any], pp: int) -> int:
    types = config.get("layer_types")
    if not isinstance(types, list) or type(config.get("sliding_window")) is not int:
        return 0
    return types.count("sliding_attention") // pp


def tokens(held: Cache, pool: float, engine: str, *, context: int, batched: int, ratio: float = 0.8) -> int:
    """How many tokens a pool of so many bytes keeps, as the engine would print it.

    Args:
        context: tokens of the longest request.
        batched: tokens that one step may take.
        ratio: of SGLang's sliding layers (`--swa-full-tokens-ratio`).

    Source: `SlidingWindowSpec.max_memory_usage_bytes` in vLLM 0.25: a window layer keeps the window and one step.
    """
    if pool <= 0:
        return 0
    if engine == "sglang" or not held.sliding:
        found: int = int(pool / held.counted(ratio))
        return found - found % held.page
    window = min(context, held.window - 1 + batched)
    request = held.full * held.entry * context + held.sliding * held.entry * (-(-window // held.page) + 1) * held.page
    return int(pool / request * context)
