"""Whether the engine has code for the model at all: by its type, its architecture, and what newer releases renamed.

The tables are made from the engines' releases (`tools/architectures.py`, `tools/model_types.py`); of releases that are
newer than these, nothing is said against a model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from ruleout.audit.folder import quoted
from ruleout.audit.layers import feed_forward
from ruleout.audit.subject import Subject
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Severity
from ruleout.model.model_types import first_releases, numbers

SOURCES = {
    "transformers": "https://github.com/huggingface/transformers: models/auto/configuration_auto.py",
    "vllm": "https://github.com/vllm-project/vllm: model_executor/models/registry.py",
    "sglang": "https://github.com/sgl-project/sglang: srt/models",
}
_GLM_DSA = "https://github.com/huggingface/transformers: models/glm_moe_dsa/"


@cache
def _table() -> dict[str, dict[str, Any]]:
    text = (files("ruleout.audit") / "architectures.json").read_text(encoding="utf-8")
    table: dict[str, dict[str, Any]] = json.loads(text)
    return {name: {key: value.split() if key != "version" else value for key, value in told.items()}
            for name, told in table.items()}  # fmt: skip


def native_release(engine: str) -> str:
    """The release that the table of an engine was made from."""
    return str(_table()[engine]["version"])


def architecture(subject: Subject) -> Iterator[AuditFinding]:
    """What is to be known of the model's type and architecture."""
    config = subject.whole
    if not config:
        return
    if not isinstance(config.get("model_type"), str):
        what = f"model_type is {quoted(config.get('model_type'))}: no library knows what to build"
        yield _finding("model-type-missing", Severity.ERROR, what, "model_type", "Write it as in the published file.")
        return
    yield from _of_transformers(subject)
    yield from _of_engine(subject)
    yield from _layers(subject.config)
    yield from _indexer(subject)


def _of_transformers(subject: Subject) -> Iterator[AuditFinding]:
    kind, remote = subject.model_type, isinstance(subject.whole.get("auto_map"), dict)
    engine, version, table = subject.launch.engine, subject.launch.version, _table()
    first = first_releases().get(kind or "")
    if first is not None:
        fails = not remote and not _known(kind, engine, version)
        severity = Severity.ERROR if fails else Severity.NOTE
        what = f"transformers {first} is the first to know {kind}" + (f", {version} does not" if fails else "")
        yield _finding("model-type-first-known", severity, what, "model_type", f"Use transformers {first} or newer.")
    elif kind not in table["transformers"]["types"]:
        own = [name for name in ("vllm", "sglang") if kind in table[name]["types"]]
        yield from _unknown(subject, own, remote)
    trusted = subject.launch.value("trust_remote_code") is not None
    if remote and not trusted and engine in table and not _known(kind, engine, version):
        what = f"{engine} does not know {quoted(kind)}, which brings code of its own; the command does not allow that"
        remedy = "Read that code, then add --trust-remote-code."
        yield _finding("remote-code-not-trusted", Severity.ERROR, what, "auto_map", remedy)


def _known(kind: str | None, engine: str, version: str | None) -> bool:
    """Whether an engine knows a model type without code from the folder; of transformers it may be any release."""
    table, first = _table(), first_releases().get(kind or "")
    if kind in table.get(engine, {}).get("types", ()):
        return engine != "transformers" or first is None or version is None or numbers(version) >= numbers(first)
    older = engine == "transformers" and version is not None and first is not None and numbers(version) < numbers(first)
    return not older and (first is not None or kind in table["transformers"]["types"])


def _unknown(subject: Subject, own: list[str], remote: bool) -> Iterator[AuditFinding]:
    """No release of transformers knows the type; an engine may, or the folder brings the code."""
    newest, engine, kind = _table()["transformers"]["version"], subject.launch.engine, quoted(subject.model_type)
    known = f"; {' and '.join(own)} {'have' if len(own) > 1 else 'has'} a configuration for it" if own else ""
    fails = engine not in own and not remote and (engine in ("vllm", "sglang", "transformers") or not own)
    what = f"transformers up to {newest} does not know the model type {kind}{known}"
    remedy = "Check the spelling, or update: a newer release may know it."
    severity = Severity.ERROR if fails else Severity.NOTE
    yield _finding("model-type-unknown", severity, what, "model_type", "" if not fails else remedy)


def _of_engine(subject: Subject) -> Iterator[AuditFinding]:
    """Whether vLLM and SGLang have code for the architecture."""
    named = subject.whole.get("architectures")
    name = named[0] if isinstance(named, list) and named and isinstance(named[0], str) else None
    if name is None:
        what = f"architectures is {quoted(named)}: vLLM and SGLang choose the model's code by it"
        severity = Severity.ERROR if subject.launch.engine in ("vllm", "sglang") else Severity.WARNING
        yield _finding("architecture-missing", severity, what, "architectures", "Write it as in the published file.")
        return
    yield from _of_another_type(subject, name)
    for engine in ("vllm", "sglang"):
        told, version = _table()[engine], subject.launch.version
        if name in told["architectures"] or subject.launch.engine not in ("", engine):
            continue
        newer = subject.launch.engine == engine and version is not None and numbers(version) > numbers(told["version"])
        what = f"{engine} {told['version']} has no code of its own for {quoted(name)}"
        instead = "; it falls back to that of transformers, where its attention fits"
        severity = Severity.WARNING if subject.launch.engine == engine and not newer else Severity.NOTE
        yield AuditFinding(
            "architecture-not-native", severity, what + instead, "config.json: architectures",
            "Check that this engine serves the model, or use another.", SOURCES[engine], Component.USER_CONFIG,
        )  # fmt: skip


_FAMILIES = {
    "llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM", "qwen2_moe": "Qwen2MoeForCausalLM", "qwen3_moe": "Qwen3MoeForCausalLM",
    "glm4_moe": "Glm4MoeForCausalLM", "deepseek_v2": "DeepseekV2ForCausalLM", "deepseek_v3": "DeepseekV3ForCausalLM",
    "deepseek_v32": "DeepseekV32ForCausalLM", "kimi_k2": "DeepseekV3ForCausalLM",
    "glm_moe_dsa": "GlmMoeDsaForCausalLM",
}  # fmt: skip
"""The architectures of published configurations, by their model type."""


def _of_another_type(subject: Subject, name: str) -> Iterator[AuditFinding]:
    """Transformers builds a model by its type, vLLM and SGLang by its architecture: they have to mean the same one."""
    own = _FAMILIES.get(subject.model_type or "")
    if own is None or name == own or name not in _FAMILIES.values():
        return
    what = f"architectures is {quoted(name)}, and {quoted(subject.model_type)} is that of {own}: "
    what += "vLLM and SGLang build the one, transformers the other"
    remedy = "Write both as in the published config.json."
    yield _finding("architecture-other-type", Severity.WARNING, what, "architectures", remedy)


def _layers(config: Mapping[str, Any]) -> Iterator[AuditFinding]:
    """Layers that are taken for what they are not, and lists that do not fit the number of layers."""
    old, new = feed_forward(config, "5.2"), feed_forward(config, "5.24")
    if "mlp_layer_types" not in config and old != new:
        what = "transformers 5.2 takes 3 dense layers, whatever first_k_dense_replace says: some get random weights"
        remedy = "Write mlp_layer_types, one entry a layer."
        yield AuditFinding(
            "dense-layers-not-read", Severity.WARNING, what, "config.json: mlp_layer_types", remedy,
            f"{_GLM_DSA}configuration_glm_moe_dsa.py", Component.TRANSFORMERS_VERSION,
        )  # fmt: skip
    layers = config.get("num_hidden_layers")
    for key in ("layer_types", "mlp_layer_types"):
        listed = config.get(key)
        if isinstance(listed, list) and isinstance(layers, int) and len(listed) != layers:
            what = f"{key} has {len(listed)} entries for {layers} layers: transformers 5 refuses it"
            yield _finding("layers-miscounted", Severity.ERROR, what, key, "Write one entry for each layer.")


def _indexer(subject: Subject) -> Iterator[AuditFinding]:
    """A sparse attention that chooses nothing."""
    chosen = subject.config.get("index_topk")
    if isinstance(chosen, int) and not isinstance(chosen, bool) and chosen <= 0:
        what = f"index_topk is {chosen}: sparse attention chooses no token, and its softmax is NaN or meaningless"
        yield _finding("index-topk", Severity.ERROR, what, "index_topk", "Write it as in the published file.")


def _finding(id_: str, severity: Severity, what: str, key: str, remedy: str) -> AuditFinding:
    component = Component.TRANSFORMERS_VERSION if id_.startswith("model-type") else Component.USER_CONFIG
    return AuditFinding(id_, severity, what, f"config.json: {key}", remedy, SOURCES["transformers"], component)
