"""Beliefs about causes, and the trial that tells most. Pure: no I/O, no clock, a seeded generator."""

from ruleout.reasoning.companions import companions
from ruleout.reasoning.explanation import Explanation, Step, explained
from ruleout.reasoning.planner import Assessment, assess, assess_batch
from ruleout.reasoning.verdict import conclude, leading_claim, top_claims

__all__ = [
    "Assessment",
    "Explanation",
    "Step",
    "assess",
    "assess_batch",
    "companions",
    "conclude",
    "explained",
    "leading_claim",
    "top_claims",
]
