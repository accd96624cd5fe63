"""What a trial is expected to tell: the information between its outcome and the causes, less the risk of a mask.

Information is about which factors are the causes; which of their levels carry the fault counts a tenth, enough to
settle it when nothing else is left to ask.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ruleout.reasoning.beliefs import Beliefs
from ruleout.reasoning.likelihood import SPURIOUS
from ruleout.reasoning.space import BoolArray, FloatArray, IntArray

MAX_HYPOTHESES = 3000
LEVELS_SHARE = 0.1
TELLS_APART = 0.25
"""Difference in the chance of a failure by which a trial tells two groups apart."""


@dataclass(frozen=True)
class Forecast:
    """For each row: the chance that the target shows if nothing masks it, and the expected information in bits.

    `by_group` is that chance for each group that was looked at, shape (groups, rows); `mass` is their probability and
    `groups` their numbers.
    """

    shows: FloatArray
    bits: FloatArray
    by_group: FloatArray
    mass: FloatArray
    groups: IntArray

    def open_questions(self, leading: int, runnable: BoolArray) -> float:
        """The share of the probability, of what these rows can tell apart, that is not the leader's."""
        here = self.groups == leading
        if not here.any() or not runnable.any():
            return 0.0
        apart = np.abs(self.by_group[:, runnable] - self.by_group[here][:, runnable]).max(axis=1) > TELLS_APART
        rivals = float(self.mass[apart & ~here].sum())
        return rivals / (rivals + float(self.mass[here].sum()))


def forecast(beliefs: Beliefs, rows: IntArray) -> Forecast:
    """What these trials are expected to tell, each by itself."""
    keep = np.argsort(-beliefs.probability, kind="stable")[:MAX_HYPOTHESES]
    keep = keep[np.argsort(beliefs.group[keep], kind="stable")]
    weight = beliefs.probability[keep] / beliefs.probability[keep].sum()
    active = beliefs.activity(rows, keep)
    p = beliefs.rate[keep][:, None] * active + SPURIOUS * (1 - active)
    joint = weight[:, None] * p
    shows = joint.sum(axis=0)
    _, starts = np.unique(beliefs.group[keep], return_index=True)
    mass = np.add.reduceat(weight, starts)
    by_group = np.add.reduceat(joint, starts, axis=0) / mass[:, None]
    about_causes = _entropy(shows) - mass @ _entropy(by_group)
    about_all = _entropy(shows) - weight @ _entropy(p)
    bits = (1 - LEVELS_SHARE) * about_causes + LEVELS_SHARE * about_all
    return Forecast(shows, np.maximum(bits, 0.0), by_group, mass, beliefs.group[keep][starts])


def _entropy(p: FloatArray) -> FloatArray:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-p * np.log2(p) - (1 - p) * np.log2(1 - p), dtype=np.float64)
