"""Beliefs about causes, and the trial that tells most. Pure: no I/O, no clock, a seeded generator."""

from ruleout.reasoning.planner import Assessment, Step, assess
from ruleout.reasoning.verdict import conclude, leading_claim, top_claims

__all__ = ["Assessment", "Step", "assess", "conclude", "leading_claim", "top_claims"]
