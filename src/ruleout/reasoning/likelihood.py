"""How well a hypothesis explains the trials: two counts are enough, since the manifest rate is integrated out.

With probability ALWAYS an active cause shows every time; otherwise any rate is as likely, and the integral over it is a
beta function (Gelman et al., Bayesian Data Analysis, 3rd ed., 2.4).
"""

from __future__ import annotations

from math import exp, lgamma, log

import numpy as np

from ruleout.reasoning.literals import Words, count
from ruleout.reasoning.space import FloatArray

ALWAYS = 0.9
"""Prior that an active cause shows every time. About one in twenty of the public reports that name a crash's cause says
that it comes and goes, and not all of them will say so."""
SPURIOUS = 1e-3
"""Chance that the target shows although no cause is active."""


def beta(a: float, b: float) -> float:
    """Euler's beta function."""
    return exp(lgamma(a) + lgamma(b) - lgamma(a + b))


class Likelihood:
    """log P(outcomes | active on a of the reproduced and b of the clean trials), for all a and b at once.

    `rate[a, b]` is then the expected manifest rate, `always[a, b]` the probability that it is 1.
    """

    def __init__(self, failed: int, passed: int) -> None:
        self.failed, self.passed = failed, passed
        shape = (failed + 1, passed + 1)
        self.log, self.rate, self.always = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for a in range(failed + 1):
            for b in range(passed + 1):
                always = ALWAYS * (b == 0)
                some = (1 - ALWAYS) * beta(a + 1, b + 1)
                self.always[a, b] = always / (always + some)
                self.rate[a, b] = (always + (1 - ALWAYS) * beta(a + 2, b + 1)) / (always + some)
                self.log[a, b] = log(always + some) + (failed - a) * log(SPURIOUS) + (passed - b) * log(1 - SPURIOUS)

    def of(self, active: Words, reproduced: Words, clean: Words) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Log likelihood, expected rate, probability of showing always, per row of activity."""
        a, b = count(active & reproduced), count(active & clean)
        return self.log[a, b], self.rate[a, b], self.always[a, b]

    @staticmethod
    def own(failed: int, passed: int) -> float:
        """Log likelihood of one configuration that may fail always, never, or at a rate of its own."""
        steady = ALWAYS / 2 * ((failed == 0) + (passed == 0))
        return log(steady + (1 - ALWAYS) * beta(failed + 1, passed + 1))
