"""How long a trial may take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ruleout.investigation.timing import time_limit
from ruleout.model import Case, Configuration, Mode, Trial

JOB = Case("j", "command", ("train",), mode=Mode.JOB)


@pytest.mark.parametrize(
    ("minutes", "seconds"), [((), 21600.0), ((0.1,), 3600.0), ((2.0, 12.0), 7200.0), ((300.0,), 21600.0)]
)
def test_a_job_may_take_a_multiple_of_the_longest_so_far(minutes: tuple[float, ...], seconds: float) -> None:
    trials = [Trial(n, Configuration(), "", None, each) for n, each in enumerate(minutes, 1)]
    assert time_limit(JOB, trials) == seconds
    assert time_limit(replace(JOB, timeout=7.0), trials) == 7.0
    assert time_limit(replace(JOB, mode=Mode.SERVE), trials) == 21600.0
