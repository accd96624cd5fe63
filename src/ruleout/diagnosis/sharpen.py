"""Rules sharpen what was inferred: where one holds, its component has at least the probability of its confidence.

With confidences p of the rules that hold, each weighs p / (1 - p) against 1 for all that they do not name. So no rule
is certain, two that agree say more than one, and two that contradict each other share. What generic inference says of
the same component is not added, since it rests on the same lines; the other suspects share the rest as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ruleout.diagnosis.rule import Match, Rule, match
from ruleout.diagnosis.view import View
from ruleout.model import Component, Evidence
from ruleout.model.diagnosis import Suspect

EVIDENCE = 4
INFERRED = 0.6
"""What a rule's confidence counts where the failure itself is only concluded."""


def matches(rules: Iterable[Rule], view: View) -> list[Match]:
    """The rules that hold for a run, the most confident first."""
    held = [found for rule in rules if (found := match(rule, view))]
    return sorted(held, key=lambda found: -found.rule.confidence)


def sharpened(found: Sequence[Suspect], held: Sequence[Match], view: View) -> list[Suspect]:
    """The suspects with the rules that hold; one suspect a component, the surest rule's words first."""
    failure = view.diagnosis.failure
    doubt = INFERRED if failure and failure.inferred else 1.0
    weights: dict[Component, float] = {}
    first: dict[Component, Match] = {}
    for one in held:
        confidence = one.rule.confidence * doubt
        weights[one.rule.component] = weights.get(one.rule.component, 0.0) + confidence / (1 - confidence)
        first.setdefault(one.rule.component, one)
    total = 1.0 + sum(weights.values())
    before = {suspect.component: suspect.probability for suspect in found if suspect.component in weights}
    after = {component: weight / total for component, weight in weights.items()}
    if len(after) == 1:
        after = {component: max(p, before[component]) for component, p in after.items()}
    scale = (1 - sum(after.values())) / max(1e-9, 1 - sum(before.values()))
    result = []
    for suspect in found:
        if suspect.component in after:
            result.append(_told(replace(suspect, probability=after[suspect.component]), first[suspect.component]))
        else:
            result.append(replace(suspect, probability=suspect.probability * scale))
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
