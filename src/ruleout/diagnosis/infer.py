"""Generic inference: base rates of the class, and clues that add up, become probabilities.

The model is additive in log-odds: the logarithm of the base rate plus the weights of the clues that were found, each
clue once, the strongest in full and the others, which often are the same fact in other words, less. `unexplained` has a
rate of its own, which a failure that says much leaves behind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ruleout.diagnosis.clue import Clue
from ruleout.diagnosis.clues import CLUES
from ruleout.diagnosis.components import COMPONENTS
from ruleout.diagnosis.rates import COUNTED, rates
from ruleout.diagnosis.scales import SCALES, Scales
from ruleout.diagnosis.view import View
from ruleout.model import Component, Evidence, FailureClass
from ruleout.model.diagnosis import Suspect

TELLING = 1.5
"""A clue of this weight or more speaks of a component; lesser ones only lean."""
MOST, LEAST = 5, 0.02
"""How many suspects are named, and with what probability at least."""


@dataclass(frozen=True, slots=True)
class Found:
    """A clue and the line it was found in."""

    clue: Clue
    evidence: Evidence
    text: str


def clues_in(view: View, table: Sequence[Clue] = CLUES) -> list[Found]:
    """The clues of the table that the run shows, each with the line that shows it."""
    failure, found = view.diagnosis.failure, []
    for clue in table:
        if failure and clue.classes and failure.class_ not in clue.classes:
            continue
        if clue.stages and view.diagnosis.stage not in clue.stages:
            continue
        hit = next((hit for place in clue.places if (hit := view.find(clue.pattern, place))), None)
        if clue.absent and not hit and failure:
            found.append(Found(clue, Evidence(failure.source, failure.line, failure.text[:500]), ""))
        elif hit and not clue.absent:
            found.append(Found(clue, hit[0], hit[1].group(0)))
    return found


def scores(
    class_: FailureClass,
    found: Sequence[Found],
    counted: dict[FailureClass, dict[Component, int]] = COUNTED,
    scales: Scales = SCALES,
) -> dict[Component, float]:
    """The log-odds of each component, up to a constant."""
    total = {c: math.log(rate) for c, rate in rates(class_, counted).items()}
    for component in Component:
        weights = sorted((f.clue.weights.get(component, 0.0) for f in found), key=abs, reverse=True)
        total[component] += sum(weight * scales.halving**n for n, weight in enumerate(w for w in weights if w))
    return total


def unexplained(found: Sequence[Found], scales: Scales = SCALES) -> float:
    """The probability of a cause that nothing of what was read speaks of."""
    strongest = max((weight for f in found for weight in f.clue.weights.values()), default=0.0)
    return scales.untold + (scales.unexplained - scales.untold) * min(1.0, strongest / TELLING)


def probabilities(
    score: dict[Component, float], left: float, scales: Scales = SCALES, *, inferred: bool = False
) -> dict[Component, float]:
    """Probabilities that, with what is left unexplained, add up to 1."""
    sharpness = scales.sharpness * (scales.inferred if inferred else 1.0)
    top = max(score.values())
    weights = {c: math.exp(sharpness * (value - top)) for c, value in score.items()}
    total = sum(weights.values())
    return {c: (1 - left) * weight / total for c, weight in weights.items()}


def suspects(view: View) -> list[Suspect]:
    """All suspects of a run that failed, best first; with what is left unexplained, they add up to 1."""
    failure = view.diagnosis.failure
    if failure is None:
        return []
    found = clues_in(view)
    likely = probabilities(scores(failure.class_, found), unexplained(found), inferred=failure.inferred)
    ordered = sorted(likely.items(), key=lambda item: -item[1])
    return [_suspect(view, component, p, found) for component, p in ordered]


def named(found: Sequence[Suspect]) -> tuple[list[Suspect], float]:
    """The suspects that are worth a name, and the probability of the rest and of none."""
    kept = [suspect for suspect in found if suspect.probability >= LEAST][:MOST]
    kept = [replace(suspect, probability=round(suspect.probability, 4)) for suspect in kept]
    return kept, round(1.0 - sum(suspect.probability for suspect in kept), 4)


def _suspect(view: View, component: Component, probability: float, found: Sequence[Found]) -> Suspect:
    failure, about = view.diagnosis.failure, COMPONENTS[component]
    assert failure
    own = sorted((f for f in found if f.clue.weights.get(component, 0) > 0), key=lambda f: -f.clue.weights[component])
    because = own[0].clue.says.format(_short(own[0].text)) if own else "often so with failures of this class"
    claim = f"{because}: {about.claim}"
    evidence = {(e.source, e.line): e for e in (f.evidence for f in own) if e.line}
    first = Evidence(failure.source, failure.line, failure.text[:500])
    evidence.setdefault((first.source, first.line), first)
    return Suspect(component, claim, probability, evidence=tuple(evidence.values())[:4], test=about.test)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 40 else text[:39] + "…"
