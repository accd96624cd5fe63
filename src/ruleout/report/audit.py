"""An audit as a JSON document, to the letter of `ruleout.audit/1`."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from ruleout.model.audit import Audit
from ruleout.report.diagnosis import shown

AUDIT = "ruleout.audit/1"


def audit_document(audit: Audit) -> dict[str, Any]:
    """`ruleout.audit/1`. What is not known is null; a number that JSON has no sign for is text."""
    return {"schema": AUDIT, **_plain(audit)}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {shown(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return shown(value) if isinstance(value, str) else value
