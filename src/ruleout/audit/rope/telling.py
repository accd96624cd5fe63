"""How what is found about rotary positions is told: numbers as one writes them, and where each rule comes from."""

from __future__ import annotations

from typing import Any

from ruleout.audit.folder import quoted
from ruleout.audit.subject import Subject
from ruleout.model import Component
from ruleout.model.audit import AuditFinding, Severity

SOURCES = {
    "transformers": "https://github.com/huggingface/transformers: modeling_rope_utils.py",
    "vllm": "https://github.com/vllm-project/vllm: model_executor/layers/rotary_embedding",
    "sglang": "https://github.com/sgl-project/sglang: srt/layers/rotary_embedding",
}


def told(
    id_: str, severity: Severity, what: str, where: str, remedy: str = "", by: str = "transformers"
) -> AuditFinding:
    """A finding about rotary positions, by the rules of a library."""
    return AuditFinding(id_, severity, what, where, remedy, SOURCES[by.partition("-")[0]], Component.ROPE_CONFIG)


def number(value: Any) -> str:
    """A number as one writes it: 1000000, not 1e+06."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return quoted(value)


def place(subject: Subject) -> str:
    """Where the rotary parameters stand."""
    keys = ("rope_scaling", "rope_parameters", "rope_theta")
    return f"config.json: {next((key for key in keys if subject.config.get(key) is not None), 'rope_theta')}"
