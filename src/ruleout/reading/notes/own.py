"""FINDINGS.md as ruleout writes it."""

from __future__ import annotations

from collections.abc import Sequence

from ruleout.model import Notes


def own_findings(lines: Sequence[str], source: str) -> Notes | None:
    return None
