"""Values of config.json that no engine builds a model from, or that one builds a wrong model from.

JSON takes anything: a size below zero, a word that names no activation, a key that stands twice. Engines find out
while they build the model, in the words of the line that happened to need the value.
"""

from __future__ import annotations

from collections.abc import Iterator

from ruleout.audit.checkpoint_families import EXPERTS, KNOWN, Sizes
from ruleout.audit.folder import kind_of, quoted
from ruleout.audit.subject import Subject
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Severity

_JSON = "https://www.rfc-editor.org/rfc/rfc8259#section-4"
_TRANSFORMERS = "https://github.com/huggingface/transformers: "
_POSITIVE = {
    "hidden_size": 1 << 20, "num_hidden_layers": 4096, "num_attention_heads": 1 << 16, "num_key_value_heads": 1 << 16,
    "head_dim": 1 << 16, "vocab_size": 1 << 28, "intermediate_size": 1 << 24, "moe_intermediate_size": 1 << 24,
    "kv_lora_rank": 1 << 20, "q_lora_rank": 1 << 20, "max_position_embeddings": 1 << 36,
    **dict.fromkeys(EXPERTS, 1 << 20),
}  # fmt: skip
"""Sizes, and a number that no model comes near: ten times the largest published one, or more."""
_MAY_BE_ZERO = frozenset({"intermediate_size", "moe_intermediate_size", "q_lora_rank", "head_dim", *EXPERTS})
"""How configurations say that there is none."""
_METHODS = ("quant_method", "quant_algo", "load_in_8bit", "load_in_4bit")
"""Keys that say how weights are quantised; the last two are those of bitsandbytes, which used to say no more."""
_UNLIMITED = ("max_position_embeddings", -1)
"""How configurations of models without a table of positions say so."""
_TWICE = ("config.json", "generation_config.json", "tokenizer_config.json", "hf_quant_config.json")
ACTIVATIONS = frozenset({
    "gelu", "gelu_10", "gelu_accurate", "gelu_fast", "gelu_new", "gelu_python", "gelu_python_tanh",
    "gelu_pytorch_tanh", "hardswish", "laplace", "leaky_relu", "linear", "mish", "prelu", "quick_gelu", "relu",
    "relu2", "relu6", "sigmoid", "silu", "sqrtsoftplus", "swish", "tanh", "xielu",
})  # fmt: skip
"""`ACT2CLS` in activations.py of transformers 5.24."""
DTYPES = frozenset({
    "bfloat16", "double", "float", "float16", "float32", "float64", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2", "half", "int8", "uint8",
})  # fmt: skip
"""The names that torch has for dtypes of weights: configurations are read with `getattr(torch, …)`."""


def values(subject: Subject) -> Iterator[AuditFinding]:
    """What is to be known of single values."""
    yield from _twice(subject)
    if not subject.config:
        return
    yield from _sizes(subject)
    yield from _heads(subject)
    yield from _activation(subject)
    yield from _dtype(subject)
    yield from _quantization(subject)


def _twice(subject: Subject) -> Iterator[AuditFinding]:
    """Keys that stand twice with different values: every reader takes the last one, and no reader says so."""
    for name in _TWICE:
        for key in subject.folder.twice(name):
            what = f"{quoted(key)} stands twice with different values: the last one is taken, and nobody is told"
            remedy = "Leave the one that is meant."
            yield _finding("config-key-twice", Severity.WARNING, what, f"{name}: {quoted(key)}", remedy, _JSON)


def _sizes(subject: Subject) -> Iterator[AuditFinding]:
    for key, most in _POSITIVE.items():
        value = subject.config.get(key)
        if type(value) is not int or (key, value) == _UNLIMITED:
            continue  # of another type, it is a finding by the types that releases insist on
        if value < (0 if key in _MAY_BE_ZERO else 1):
            what = f"{key} is {quoted(value)}: no model can be built with that"
        elif value > most:
            what = f"{key} is {quoted(value)}, which is beyond any model: it cannot be built, or takes all memory"
        else:
            continue
        yield _published("config-size", what, key)


def _heads(subject: Subject) -> Iterator[AuditFinding]:
    """Each key and value head serves the same number of query heads; latent attention has no such heads."""
    heads, keys = (subject.config.get(key) for key in ("num_attention_heads", "num_key_value_heads"))
    if type(heads) is not int or type(keys) is not int or "kv_lora_rank" in subject.config:
        return
    if keys > 0 and heads > 0 and heads % keys:
        what = f"{heads} attention heads are no multiple of {keys} key and value heads: it fails when it is built, "
        yield _published("config-heads", what + "or in the first forward", "num_key_value_heads")


def _activation(subject: Subject) -> Iterator[AuditFinding]:
    key = next((key for key in ("hidden_act", "hidden_activation") if isinstance(subject.config.get(key), str)), None)
    if key is None or isinstance(subject.whole.get("auto_map"), dict):
        return
    name, engine = subject.config[key], subject.launch.engine
    if name not in ACTIVATIONS:
        what = f"{key} is {quoted(name)}, which is no activation that transformers has: it fails when it is built"
        yield _published("config-activation", what, key)
    elif engine in ("vllm", "sglang") and Sizes(subject.config).kind in KNOWN and name != "silu":
        what = f"{key} is {quoted(name)}: {engine} has this model with silu only, and refuses it"
        yield _published("config-activation", what, key)


def _dtype(subject: Subject) -> Iterator[AuditFinding]:
    """The one that is read: the old key counts where the new one says nothing."""
    key = next((key for key in ("dtype", "torch_dtype") if subject.config.get(key) is not None), "dtype")
    told = subject.config.get(key)
    if isinstance(told, str) and told not in DTYPES:
        what = f"{key} is {quoted(told)}, which names no dtype of torch: it fails when config.json is read"
        yield _published("config-dtype", what, key)


def _quantization(subject: Subject) -> Iterator[AuditFinding]:
    """A declaration that declares nothing: weights are taken for plain ones, or the load stops."""
    key = "quantization_config"
    told = subject.config.get(key)
    if told is None:
        return
    if not isinstance(told, dict):
        yield _published("config-quantization", f"{key} is {kind_of(told)}, where an object is needed", key)
    elif told.keys().isdisjoint(_METHODS):
        what = f"{key} has no quant_method: no engine knows how the weights are stored"
        yield _published("config-quantization", what, key)


def _published(id_: str, what: str, key: str) -> AuditFinding:
    remedy = "Write it as in the published config.json."
    return _finding(id_, Severity.ERROR, what, f"config.json: {key}", remedy, f"{_TRANSFORMERS}configuration_utils.py")


def _finding(id_: str, severity: Severity, what: str, where: str, remedy: str, source: str) -> AuditFinding:
    return AuditFinding(id_, severity, what, where, remedy, source, Component.USER_CONFIG)
