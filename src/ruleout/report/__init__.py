"""Pure renderers: the same verdict as JSON, as FINDINGS.md, as words for the terminal."""

from ruleout.report.documents import verdict_document
from ruleout.report.findings import findings

__all__ = ["findings", "verdict_document"]
