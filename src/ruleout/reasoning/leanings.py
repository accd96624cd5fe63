"""What is known beforehand, so tempered that being wrong costs a few trials and no verdict.

A log, a rule or a base rate says how likely a factor takes part, a trace also that none does. Such words are often
wrong together, so only the root of their odds counts, against those of a factor of which nothing is known, and never
more than MOST or less than 1/MOST.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log

import numpy as np

from ruleout.reasoning.space import FloatArray, Space

PRIOR_ELSEWHERE = 0.08
"""That no factor takes part, where nothing is said of it."""
TAKING_PART = 1.7
"""Factors that take part, of all: what a factor of which nothing is said has its share of."""
MOST = 5.0
TEMPER = 0.5


def leanings(space: Space, priors: Mapping[str, float]) -> FloatArray:
    """Log weight of each factor in the prior of hypotheses; 0 where nothing is said.

    Args:
        priors: of some factors, the probability that they take part, 0 to 1.
    """
    weight = np.zeros(len(space))
    share = min(TAKING_PART / max(1, len(space.suspects)), 0.5)
    for f in space.suspects:
        if (p := priors.get(space.names[f])) is not None:
            weight[f] = _tempered(p, share)
    # On the average of the factors it is 1, so that what is said of one moves it against the others only.
    mean = np.exp(weight[list(space.suspects)]).mean() if space.suspects else 1.0
    return np.asarray(weight - log(float(mean)), dtype=np.float64)


def leaning_elsewhere(probability: float | None) -> float:
    """Log prior of the hypothesis that no factor takes part.

    Args:
        probability: what was told for it, 0 to 1; None where nothing was. It only speaks for it: whatever else may be
            the cause has no say in it.
    """
    told = max(probability or 0.0, PRIOR_ELSEWHERE)
    return log(PRIOR_ELSEWHERE) + _tempered(told, PRIOR_ELSEWHERE)


def _tempered(probability: float, usual: float) -> float:
    """The log weight of what was told, where `usual` is what is believed without it."""
    p = min(max(probability, 1e-6), 1 - 1e-6)
    odds = p / (1 - p) / (usual / (1 - usual))
    return min(max(TEMPER * log(odds), -log(MOST)), log(MOST))
