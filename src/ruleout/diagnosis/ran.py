"""What a run had, as far as its log tells: which levels were in effect, on what it ran, what it speaks of."""

from __future__ import annotations

import re

from ruleout.diagnosis.flags import SETTINGS
from ruleout.model import ABSENT
from ruleout.model.diagnosis import ChosenBy, Diagnosis, Suspect

_UNQUANTIZED = frozenset({"auto", "bf16", "f16"})
_QUANTIZED = re.compile(r"(?i)fp[48]|\bint[48]|modelopt|compressed|awq|gptq|w[48]a\d+")
_SPARSE = re.compile(r"(?i)dsa|deepseek_?v32|deepseek_?v3_2|nsa_indexer")


def in_effect(diagnosis: Diagnosis, flag: str, level: str) -> bool:
    """Whether the run has that level already."""
    name = flag.lstrip("-").replace("-", "_")
    names = {name, SETTINGS.get(name, name)}
    found = [s for s in diagnosis.settings if s.name in names]
    if level == ABSENT:
        return not any(s.chosen_by is ChosenBy.USER for s in found)
    values = {_plain(s.resolved if s.resolved is not None else s.requested or "") for s in found}
    if not level:
        return "true" in values
    if name == "kv_cache_dtype" and values & _UNQUANTIZED and _plain(level) in _UNQUANTIZED:
        return "auto" not in values or own_kv_type(diagnosis)
    return _plain(level) in values


def own_kv_type(diagnosis: Diagnosis) -> bool:
    """Whether `auto` leaves the KV cache in the model's own type: neither its weights nor sparse attention say other.

    Sources: https://docs.vllm.ai/en/v0.11.2/features/quantization/quantized_kvcache/ and, for what sparse attention
    chooses by itself, https://docs.vllm.ai/projects/recipes/en/latest/DeepSeek/DeepSeek-V3_2.html
    """
    ran = diagnosis.environment
    told = [s.resolved or s.requested or "" for s in diagnosis.settings if s.name in ("quantization", "model_path")]
    texts = [ran.quantization or "", ran.model or "", *told]
    return not sparse(diagnosis) and not any(_QUANTIZED.search(text) for text in texts)


def sparse(diagnosis: Diagnosis) -> bool:
    """Whether the model has DeepSeek's sparse attention, by its type or the failure's frames."""
    ran, failure = diagnosis.environment, diagnosis.failure
    texts = [str(ran.model_type), str(ran.architecture), *(failure.frames if failure else ())]
    return bool(_SPARSE.search(" ".join(texts)))


def on_cpu(diagnosis: Diagnosis) -> bool:
    """Whether the run was on no GPU at all, as far as its log tells."""
    if any("+cpu" in (version or "") for version in (diagnosis.engine.version, diagnosis.environment.torch)):
        return True
    if diagnosis.failure and "not compiled with CUDA" in diagnosis.failure.text + diagnosis.failure.message:
        return True
    said = [s.resolved or s.requested or "" for s in diagnosis.settings if s.name in ("device", "device_config")]
    return any(value.lower() == "cpu" for value in said)


def says(diagnosis: Diagnosis, suspect: Suspect, pattern: str) -> bool:
    """The model, its quantization, the failure or what speaks for the suspect name it."""
    ran, failure = diagnosis.environment, diagnosis.failure
    texts = [ran.quantization or "", ran.model or "", failure.text + failure.message if failure else ""]
    texts += [s.resolved or s.requested or "" for s in diagnosis.settings if s.name == "quantization"]
    texts += [line.text for line in suspect.evidence]
    return any(re.search(pattern, text) for text in texts)


def number(diagnosis: Diagnosis, name: str) -> float | None:
    """A setting's value where it is a number: the one in effect, else the one that was asked for."""
    for setting in diagnosis.settings:
        if setting.name == name:
            for value in (setting.resolved, setting.requested):
                if value and re.fullmatch(r"\d+(?:\.\d+)?", value):
                    return float(value)
    return None


def _plain(value: str) -> str:
    value = value.lower().removeprefix("torch.")
    return {"bfloat16": "bf16", "float16": "f16", "half": "f16"}.get(value, value)
