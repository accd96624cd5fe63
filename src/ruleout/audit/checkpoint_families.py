"""Which parameters a configuration asks for: their names, their shapes, and how engines cut them over ranks.

Four families cover most of what is served: dense (Llama, Qwen), mixtures of experts over grouped queries (Qwen,
GLM-4), latent attention (DeepSeek, Kimi), and latent attention with an index (GLM-5, DeepSeek 3.2). They differ in the
attention block and in the feed-forward block only, so a family is a choice of two blocks.
Source: the `modeling_*.py` of https://github.com/huggingface/transformers/tree/v5.2.0/src/transformers/models
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ruleout.audit.folder import quoted

MOST_LAYERS, MOST_PARAMETERS = 4096, 4_000_000


class Split(StrEnum):
    """How tensor parallelism cuts a parameter."""

    NONE = "none"
    OUT = "out"
    IN = "in"
    KV = "kv"
    VOCABULARY = "vocabulary"


class Part(StrEnum):
    """Where in the model a parameter is."""

    ATTENTION = "attention"
    INDEXER = "indexer"
    DENSE = "dense"
    SHARED = "shared"
    EXPERT = "expert"
    ROUTER = "router"
    NORM = "norm"
    VOCABULARY = "vocabulary"
    MTP = "mtp"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the model before it is quantised.

    Attributes:
        name: in the checkpoint, `.weight` included.
        shape: (out, in) of a linear layer.
        fused: linear layers that engines join into one share this name; empty for others.
        linear: whether it is the weight of a linear layer, which may be quantised.
        optional: whether releases exist that lack it.
    """

    name: str
    shape: tuple[int, ...]
    part: Part
    split: Split = Split.NONE
    fused: str = ""
    linear: bool = False
    optional: bool = False

    @property
    def module(self) -> str:
        """The name of the layer that it belongs to."""
        return self.name.rpartition(".")[0]

    @property
    def layer(self) -> int:
        """The number of its layer in the decoder; -1 outside of it."""
        parts = self.name.split(".", 3)
        return int(parts[2]) if parts[1] == "layers" else -1

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        product = 1
        for n in self.shape:
            product *= n
        return product


class NotDescribed(Exception):  # noqa: N818 - it is a reason not to check
    """The configuration does not say what parameters there are. The argument says why not."""


DENSE = frozenset({"llama", "mistral", "qwen2", "qwen3"})
GROUPED_EXPERTS = frozenset({"qwen2_moe", "qwen3_moe", "glm4_moe"})
LATENT = frozenset({"deepseek_v2", "deepseek_v3", "kimi_k2", "deepseek_v32", "glm_moe_dsa"})
INDEXED = frozenset({"deepseek_v32", "glm_moe_dsa"})
QUERY_NORMS = frozenset({"qwen3", "qwen3_moe"})
SHARED_INDEX = frozenset({"indexer_types", "index_topk_pattern", "index_topk_freq"})
"""Keys of configurations whose layers may take the index of a layer before them, and then have none of their own."""
EXPERTS = ("n_routed_experts", "num_experts", "num_local_experts")
"""How configurations call the number of routed experts."""
KNOWN = DENSE | GROUPED_EXPERTS | LATENT


def parameters(config: Mapping[str, Any]) -> Iterator[Parameter]:
    """The parameters of a configuration, the layers for multi-token prediction included.

    Raises NotDescribed where the model type is not one of those here, or where a size is missing or no size.
    """
    sizes = Sizes(config)
    if sizes.kind not in KNOWN:
        raise NotDescribed(f"model type {quoted(sizes.kind)}")
    layers, predicting = sizes("num_hidden_layers"), sizes("num_nextn_predict_layers", 0)
    experts = sizes.experts if sizes.kind not in DENSE else 0
    if layers + predicting > MOST_LAYERS or (layers + predicting) * (4 * experts + 30) > MOST_PARAMETERS:
        raise NotDescribed(f"{layers} layers of {experts} experts")
    hidden, vocabulary = sizes("hidden_size"), sizes("vocab_size")
    table = (vocabulary, hidden)
    yield Parameter("model.embed_tokens.weight", table, Part.VOCABULARY, Split.VOCABULARY)
    for layer in range(layers):
        yield from _layer(sizes, layer, expert_layer=sizes.is_expert_layer(layer))
    for layer in range(layers, layers + predicting):
        yield from _predicting(sizes, layer)
    yield Parameter("model.norm.weight", (hidden,), Part.NORM)
    tied = config.get("tie_word_embeddings") is True
    yield Parameter("lm_head.weight", table, Part.VOCABULARY, Split.VOCABULARY, linear=True, optional=tied)


class Sizes:
    """The sizes in a configuration, by their key, checked where they are used."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        self.kind = str(config.get("model_type"))

    def __call__(self, key: str, default: int | None = None) -> int:
        """A whole number, 0 only where that is the default. Raises NotDescribed where it is none."""
        value = self.config.get(key)
        if value is None and default is not None:
            return default
        if type(value) is not int or value < (0 if default == 0 else 1) or value >= 1 << 32:
            raise NotDescribed(f"{key} is {quoted(value)}" if key in self.config else f"no {key}")
        return value

    @property
    def experts(self) -> int:
        """How many routed experts a layer has."""
        return self(next((key for key in EXPERTS if key in self.config), EXPERTS[-1]))

    @property
    def heads(self) -> int:
        """Query heads."""
        return self("num_attention_heads")

    @property
    def kv_heads(self) -> int:
        """Key and value heads of grouped-query attention."""
        return self("num_key_value_heads", self.heads)

    @property
    def head(self) -> int:
        """The size of a head."""
        return self("head_dim", 128 if self.kind == "qwen3" else max(1, self("hidden_size") // self.heads))

    @property
    def latent(self) -> bool:
        """Whether keys and values are kept as one latent vector (MLA)."""
        return self.kind in LATENT

    @property
    def indexed(self) -> bool:
        """Whether an index chooses the tokens that are attended to (DSA)."""
        return self.kind in INDEXED and "index_head_dim" in self.config

    def is_expert_layer(self, layer: int) -> bool:
        """Whether a layer's feed-forward block is a mixture of experts."""
        if self.kind in DENSE:
            return False
        types = self.config.get("mlp_layer_types")
        if isinstance(types, list) and layer < len(types):
            return bool(types[layer] == "sparse")
        if self.kind in ("qwen2_moe", "qwen3_moe"):
            only = self.config.get("mlp_only_layers")
            if isinstance(only, list) and layer in only:
                return False
            return self.experts > 0 and (layer + 1) % self("decoder_sparse_step", 1) == 0
        return layer >= self("first_k_dense_replace", 0) and layer % self("moe_layer_freq", 1) == 0


def _layer(sizes: Sizes, layer: int, *, expert_layer: bool) -> Iterator[Parameter]:
    base, hidden = f"model.layers.{layer}", sizes("hidden_size")
    attention = _latent(sizes, f"{base}.self_attn") if sizes.latent else _grouped(sizes, f"{base}.self_attn")
    mlp = _experts(sizes, f"{base}.mlp") if expert_layer else _dense(
        f"{base}.mlp", hidden, sizes("intermediate_size"), Part.DENSE, bias=sizes.config.get("mlp_bias") is True
    )  # fmt: skip
    yield from attention
    yield from mlp
    for norm in ("input_layernorm", "post_attention_layernorm"):
        yield Parameter(f"{base}.{norm}.weight", (hidden,), Part.NORM)


def _predicting(sizes: Sizes, layer: int) -> Iterator[Parameter]:
    """A layer for multi-token prediction: a layer of experts behind a projection of two hidden states."""
    base, hidden = f"model.layers.{layer}", sizes("hidden_size")
    for parameter in _layer(sizes, layer, expert_layer=True):
        yield replace(parameter, optional=True)
    for norm in ("enorm", "hnorm", "shared_head.norm"):
        yield Parameter(f"{base}.{norm}.weight", (hidden,), Part.MTP, optional=True)
    joined = (hidden, 2 * hidden)
    yield Parameter(f"{base}.eh_proj.weight", joined, Part.MTP, linear=True, optional=True)
    table = (sizes("vocab_size"), hidden)
    for name in ("embed_tokens", "shared_head.head"):
        yield Parameter(f"{base}.{name}.weight", table, Part.MTP, Split.VOCABULARY, optional=True)


def _linear(
    name: str,
    shape: tuple[int, int],
    part: Part,
    split: Split,
    fused: str = "",
    *,
    bias: bool = False,
    optional: bool = False,
) -> Iterator[Parameter]:
    yield Parameter(f"{name}.weight", shape, part, split, fused, linear=True, optional=optional)
    if bias:
        cut = split if split in (Split.OUT, Split.KV) else Split.NONE
        yield Parameter(f"{name}.bias", shape[:1], part, cut, optional=optional)


def _grouped(sizes: Sizes, base: str) -> Iterator[Parameter]:
    hidden, head = sizes("hidden_size"), sizes.head
    query, key = sizes.heads * head, sizes.kv_heads * head
    biased = sizes.config.get("attention_bias", sizes.config.get("qkv_bias")) is True
    qkv_biased = biased or sizes.kind in ("qwen2", "qwen2_moe")
    joined = f"{base}.qkv_proj"
    yield from _linear(f"{base}.q_proj", (query, hidden), Part.ATTENTION, Split.OUT, joined, bias=qkv_biased)
    for name in ("k_proj", "v_proj"):
        yield from _linear(f"{base}.{name}", (key, hidden), Part.ATTENTION, Split.KV, joined, bias=qkv_biased)
    out_biased = biased and sizes.kind not in ("qwen2", "qwen2_moe", "glm4_moe")
    yield from _linear(f"{base}.o_proj", (hidden, query), Part.ATTENTION, Split.IN, bias=out_biased)
    if sizes.kind in QUERY_NORMS or sizes.config.get("use_qk_norm") is True:
        for name in ("q_norm", "k_norm"):
            yield Parameter(f"{base}.{name}.weight", (head,), Part.NORM)


def _latent(sizes: Sizes, base: str) -> Iterator[Parameter]:
    hidden, heads = sizes("hidden_size"), sizes.heads
    rotary, plain = sizes("qk_rope_head_dim"), sizes("qk_nope_head_dim")
    rank, value = sizes("kv_lora_rank"), sizes("v_head_dim")
    biased = sizes.config.get("attention_bias") is True
    query = heads * (plain + rotary)
    joined = f"{base}.fused_qkv_a_proj"
    if sizes.config.get("q_lora_rank") is None:
        yield from _linear(f"{base}.q_proj", (query, hidden), Part.ATTENTION, Split.OUT)
    else:
        low = sizes("q_lora_rank")
        yield from _linear(f"{base}.q_a_proj", (low, hidden), Part.ATTENTION, Split.NONE, joined, bias=biased)
        yield Parameter(f"{base}.q_a_layernorm.weight", (low,), Part.NORM)
        yield from _linear(f"{base}.q_b_proj", (query, low), Part.ATTENTION, Split.OUT)
    fused = joined if sizes.config.get("q_lora_rank") is not None else ""
    yield from _linear(
        f"{base}.kv_a_proj_with_mqa", (rank + rotary, hidden), Part.ATTENTION, Split.NONE, fused, bias=biased
    )
    yield Parameter(f"{base}.kv_a_layernorm.weight", (rank,), Part.NORM)
    yield from _linear(f"{base}.kv_b_proj", (heads * (plain + value), rank), Part.ATTENTION, Split.OUT)
    yield from _linear(f"{base}.o_proj", (hidden, heads * value), Part.ATTENTION, Split.IN, bias=biased)
    if sizes.indexed:
        yield from _indexer(sizes, f"{base}.indexer", optional=not SHARED_INDEX.isdisjoint(sizes.config))


def _indexer(sizes: Sizes, base: str, *, optional: bool) -> Iterator[Parameter]:
    hidden, heads, head = sizes("hidden_size"), sizes("index_n_heads"), sizes("index_head_dim")
    for name, shape in (
        ("wq_b", (heads * head, sizes("q_lora_rank"))),
        ("wk", (head, hidden)),
        ("weights_proj", (heads, hidden)),
    ):
        yield from _linear(f"{base}.{name}", shape, Part.INDEXER, Split.NONE, optional=optional)
    for name in ("weight", "bias"):
        yield Parameter(f"{base}.k_norm.{name}", (head,), Part.NORM, optional=optional)


def _dense(base: str, hidden: int, inner: int, part: Part, *, bias: bool = False) -> Iterator[Parameter]:
    joined = f"{base}.gate_up_proj"
    for name in ("gate_proj", "up_proj"):
        yield from _linear(f"{base}.{name}", (inner, hidden), part, Split.OUT, joined, bias=bias)
    yield from _linear(f"{base}.down_proj", (hidden, inner), part, Split.IN, bias=bias)


def _experts(sizes: Sizes, base: str) -> Iterator[Parameter]:
    hidden, inner, experts = sizes("hidden_size"), sizes("moe_intermediate_size"), sizes.experts
    yield Parameter(f"{base}.gate.weight", (experts, hidden), Part.ROUTER)
    if sizes.kind in ("deepseek_v3", "kimi_k2", "deepseek_v32", "glm4_moe", "glm_moe_dsa"):
        unbiased = sizes.config.get("topk_method", "noaux_tc") != "noaux_tc"
        yield Parameter(f"{base}.gate.e_score_correction_bias", (experts,), Part.ROUTER, optional=unbiased)
    for expert in range(experts):
        yield from _dense(f"{base}.experts.{expert}", hidden, inner, Part.EXPERT)
    if sizes.kind == "qwen2_moe":
        shared = sizes("shared_expert_intermediate_size")
        yield from _dense(f"{base}.shared_expert", hidden, shared, Part.SHARED)
        yield Parameter(f"{base}.shared_expert_gate.weight", (1, hidden), Part.ROUTER)
    elif sizes("n_shared_experts", 0):
        yield from _dense(f"{base}.shared_experts", hidden, inner * sizes("n_shared_experts"), Part.SHARED)


def experts_as_one(parameters: Sequence[Parameter]) -> dict[str, tuple[int, ...]]:
    """How Transformers 5 stores the experts of the layers among these: one tensor for all, by its name."""
    first: dict[str, tuple[int, ...]] = {}
    count: dict[str, int] = {}
    for parameter in parameters:
        base, found, rest = parameter.name.partition(".experts.")
        if found and rest.endswith("gate_proj.weight"):
            count[base] = count.get(base, 0) + 1
            first[base] = parameter.shape
    stored: dict[str, tuple[int, ...]] = {}
    for base, (inner, hidden) in ((base, shape) for base, shape in first.items() if len(shape) == 2):
        stored[f"{base}.experts.gate_up_proj"] = (count[base], 2 * inner, hidden)
        stored[f"{base}.experts.down_proj"] = (count[base], hidden, inner)
    return stored
