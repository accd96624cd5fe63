"""Which levels lead to another failure: learnt, so that trials that would say nothing are avoided.

A mask is taken to be one level or a pair of levels (the baseline's included). One that held in an informative trial is
no mask. Of the rest, those that held in a masked trial share the blame, each kind of other failure by itself; a level
that is blamed again and again carries it. An assumed-density filter over independent rules: cheap, and it only has to
be good enough to choose trials by, never to decide a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ruleout.reasoning.space import FloatArray, IntArray, Observations, Space

PRIOR_LEVEL = 0.025
PRIOR_PAIR = 0.002


@dataclass(frozen=True)
class Masks:
    """The blame of each pair of levels (its diagonal: of single levels), summed over the kinds of other failure.

    `survive` is log(1 - probability) that the rule is none, shape (all levels, all levels), upper triangle.
    """

    offsets: IntArray
    width: int
    survive: FloatArray

    @classmethod
    def of(cls, space: Space, seen: Observations) -> Masks:
        """What the observations say of masks."""
        offsets = np.concatenate([[0], np.cumsum(space.sizes)[:-1]]).astype(np.int64)
        width = int(space.sizes.sum())
        prior = np.triu(np.full((width, width), PRIOR_PAIR), 1) + np.eye(width) * PRIOR_LEVEL
        excluded = np.zeros((width, width), dtype=np.bool_)
        for row in seen.rows[seen.informative]:
            on = row + offsets
            excluded[np.ix_(on, on)] = True
        prior[excluded] = 0.0
        nothing = np.log1p(-prior)
        survive = nothing.copy()
        labels = [(label, row) for label, row in zip(seen.label, seen.rows, strict=True) if label]
        for kind in sorted({label for label, _ in labels}):
            rule = prior.copy()
            for label, row in labels:
                if label != kind:
                    continue
                on = np.ix_(row + offsets, row + offsets)
                here = np.triu(rule[on])
                masked = 1 - np.prod(1 - here)
                if masked > 0:
                    rule[on] = np.minimum(here / masked, 1 - 1e-9)
            survive += np.log1p(-rule) - nothing
        return cls(offsets, width, survive)

    def risk(self, rows: IntArray) -> FloatArray:
        """The probability that each row is masked."""
        on = rows + self.offsets
        pairs = self.survive[on[:, :, None], on[:, None, :]]
        # The lower triangle is log 1 = 0, and levels of a row come in the order of their factors.
        return np.asarray(1 - np.exp(pairs.sum(axis=(1, 2))), dtype=np.float64)
