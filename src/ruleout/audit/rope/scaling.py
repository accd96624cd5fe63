"""Scalings that every library computes as they stand, and that no model was trained with.

Transformers only logs a line about them, among others that it logs for healthy models; vLLM and SGLang say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ruleout.audit.rope.meaning import meant
from ruleout.audit.rope.telling import number, place, told
from ruleout.audit.subject import Subject
from ruleout.model.audit import AuditFinding, Severity

_STRETCHING = ("linear", "dynamic", "yarn", "llama3", "longrope")
_MOST = 65536.0
"""A factor that no model comes near: the largest one that transformers 5.24 has a model for is 2048."""


def absurd(subject: Subject) -> Iterator[AuditFinding]:
    """Factors out of all bounds: below 1, beyond reason, in the wrong order."""
    for given in meant(subject.config).parameters.values():
        for what in _wrong(given):
            remedy = "Write the scaling as in the published config.json."
            yield told("rope-scaling-absurd", Severity.WARNING, what, place(subject), remedy)


def _wrong(given: Mapping[str, Any]) -> Iterator[str]:
    kind, factor = given.get("rope_type"), _number(given.get("factor"))
    if kind in _STRETCHING and factor is not None:
        if 0 < factor < 1:
            yield f"factor {number(factor)} of rope type {kind!r} spreads positions instead of drawing them together"
        elif factor < 0:
            yield f"factor {number(factor)} of rope type {kind!r} turns positions backwards"
        elif factor > _MOST:
            yield f"factor {number(factor)} of rope type {kind!r} is beyond any model: positions all but coincide"
    low, high = _number(given.get("low_freq_factor")), _number(given.get("high_freq_factor"))
    if kind == "llama3" and low is not None and high is not None and low > high:
        what = f"low_freq_factor {number(low)} is above high_freq_factor {number(high)}"
        yield f"{what}: slow pairs are left as they are and fast ones are stretched, the wrong way round"
    trained = given.get("original_max_position_embeddings")
    if kind in _STRETCHING and type(trained) is int and trained <= 0:
        yield f"original_max_position_embeddings is {trained}: for how many positions it was trained is not told"


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
