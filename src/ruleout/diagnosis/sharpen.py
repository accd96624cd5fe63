"""Rules sharpen what was inferred: where one holds, its component has at least the probability of its confidence.

With confidences p of the rules that hold, each weighs p / (1 - p) against 1 for all that they do not name. So no rule
is certain, two that agree say more than one, and two that contradict each other share. What generic inference says of
the same component is not added, since it rests on the same lines; the other suspects share the rest as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ruleout.diagnosis.rule import Match, Rule, match
from ruleout.diagnosis.scales import SCALES, Scales
from ruleout.diagnosis.view import View
from ruleout.model import Component, Evidence
from ruleout.model.diagnosis import Suspect

EVIDENCE = 4


def matches(rules: Iterable[Rule], view: View) -> list[Match]:
    """The rules that hold for a run, the most confident first."""
    held = [found for rule in rules if (found := match(rule, view))]
    return sorted(held, key=lambda found: -found.rule.confidence)


def shares(
    before: Mapping[Component, float], held: Sequence[Match], scales: Scales = SCALES, *, inferred: bool = False
) -> dict[Component, float]:
    """The components' probabilities with the rules that hold, from those without.

    Args:
        inferred: the failure itself is only concluded, so that a rule about it is less sure.
    """
    weights: dict[Component, float] = {}
    for one in held:
        confidence = one.rule.confidence * (scales.inferred if inferred else 1.0)
        odds = (confidence / (1 - confidence)) ** scales.trust
        weights[one.rule.component] = weights.get(one.rule.component, 0.0) + odds
    total = 1.0 + sum(weights.values())
    after = {component: weight / total for component, weight in weights.items()}
    if len(after) == 1:
        after = {component: max(p, before[component]) for component, p in after.items()}
    rest = 1 - sum(before[component] for component in after)
    scale = (1 - sum(after.values())) / max(1e-9, rest)
    return {component: after.get(component, p * scale) for component, p in before.items()}


def sharpened(found: Sequence[Suspect], held: Sequence[Match], view: View) -> list[Suspect]:
    """The suspects with the rules that hold; one suspect a component, the surest rule's words first."""
    failure = view.diagnosis.failure
    before = {suspect.component: suspect.probability for suspect in found}
    after = shares(before, held, inferred=bool(failure and failure.inferred))
    first: dict[Component, Match] = {}
    for one in held:
        first.setdefault(one.rule.component, one)
    result = []
    for suspect in found:
        sharper = replace(suspect, probability=after[suspect.component])
        result.append(_told(sharper, first[suspect.component]) if suspect.component in first else sharper)
    return sorted(result, key=lambda suspect: -suspect.probability)


def _told(suspect: Suspect, held: Match) -> Suspect:
    rule = held.rule
    evidence: dict[tuple[str, int], Evidence] = {}
    for line in (*held.evidence, *suspect.evidence):
        evidence.setdefault((line.source, line.line), line)
    fix: dict[str, dict[str, str] | str] = {}
    if rule.fix.get("set"):
        fix["set"] = dict(rule.fix["set"])
    if rule.fix.get("note"):
        fix["note"] = held.filled(rule.fix["note"])
    return replace(
        suspect,
        claim=held.filled(rule.claim),
        rule=rule.id,
        evidence=tuple(evidence.values())[:EVIDENCE],
        fix=fix,
        test=held.filled(rule.test),
        behind=tuple(held.filled(text) for text in rule.behind),
    )
