"""Which candidate is the failure: what a run survived is none, and what its process dealt with only if nothing else is.

The order of the questions matters: a request's failure is a run's only when it was stopped in order, and an error that
was dealt with is told rather than nothing.
"""

from __future__ import annotations

from ruleout.model.diagnosis import LogOutcome
from ruleout.reading.facts import FactsReader
from ruleout.reading.failures import first
from ruleout.reading.outcome import of_requests
from ruleout.reading.spotted import Spotted, Weight
from ruleout.reading.survival import handled


def choose(
    reader: FactsReader, silent: LogOutcome, *, quiet: bool
) -> tuple[Spotted | None, list[Spotted], list[Spotted]]:
    """The failure, what followed from it, and what was survived.

    Args:
        silent: how the run ended if nothing failed.
        quiet: nor does the log tell of a failure without a failing line.
    """
    candidates = reader.failures.candidates
    survived = reader.lives.survived(candidates)
    survived += [c for c in handled(candidates, (r.text for r in reader.head)) if c not in survived]
    left = [c for c in candidates if c not in survived]
    passed = reader.progress.passed(left)
    chosen, rest = first([c for c in left if c not in passed])
    told = chosen.weight is Weight.STRONG if chosen else silent is not LogOutcome.UNKNOWN or not quiet
    if told:
        survived += passed
    elif passed:
        chosen, rest = first(left)
    if not chosen and silent is LogOutcome.STOPPED:
        chosen, rest = first(of_requests(survived))
        survived = [c for c in survived if c.start != (chosen and chosen.start)]
    return chosen, rest, survived
