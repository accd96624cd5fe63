"""The answer of a trace in a sentence: what the screen begins with, and what an investigation notes."""

from __future__ import annotations

from ruleout.model.trace import BadWeight, Phase
from ruleout.model.traced import Birth, Found, Trace

_NUMBERS = {"nan": "NaN", "inf": "an infinity", "both": "NaN and infinities"}


def told(trace: Trace) -> str:
    """What was found, and where, in one sentence without its full stop."""
    if trace.found is Found.WEIGHTS:
        return _brought(trace.weights, trace.born)
    if trace.born is not None:
        return _born(trace.born)
    if trace.found is Found.FAILURE:
        return f"no number was bad before it failed{_limits(trace)}"
    return f"nothing failed, and every number that was seen was finite{_limits(trace)}"


def _born(born: Birth) -> str:
    by = f" by {born.operation}" if born.operation else ""
    rank = f", rank {born.rank}" if born.rank is not None else ""
    came = f"; it came from another rank through {born.collective}" if born.collective else ""
    unsure = "" if born.exact else ", or in its parent's code just before it"
    buffer = f"; its buffer {born.parameter} was not finite before the first call" if born.parameter else ""
    what = _NUMBERS.get(born.non_finite, born.non_finite)
    return f"{what} born in {named(born)}{by}, {moment(born)}{rank}{unsure}{came}{buffer}"


def named(born: Birth) -> str:
    """A module by its path and its type."""
    path = born.module or "the model"
    return f"{path} ({born.class_})" if born.class_ else path


def moment(born: Birth) -> str:
    """When, in words."""
    if born.phase is Phase.DECODE and born.step is not None:
        return f"in decode, step {born.step}"
    return f"in {born.phase}" if born.phase is not Phase.UNKNOWN else "in an unknown phase"


def _brought(weights: tuple[BadWeight, ...], born: Birth | None) -> str:
    first = weights[0]
    if first.tensor:
        name, where = first.tensor, f", as read from {first.file}" if first.file else ""
    else:
        name, where = f"{first.module}.{first.parameter}", ""
    more = f" and {len(weights) - 1} others" if weights[1:] else ""
    reached = f": it comes out of {named(born)}, {moment(born)}" if born is not None else "; no output was bad"
    return f"{bad(first)} in the weight {name}{more}{where}{reached}"


def bad(weight: BadWeight) -> str:
    """What is bad in a weight: `1 NaN`, `3 NaN and 2 infinite`."""
    stats = weight.stats
    parts = [f"{stats.nan} NaN"] if stats.nan else []
    parts += [f"{stats.inf} infinite"] if stats.inf else []
    return " and ".join(parts) or "what is not finite"


def _limits(trace: Trace) -> str:
    seen = trace.coverage
    if seen.hidden:
        return f" ({seen.modules} modules seen; not all: {seen.hidden[0]})"
    return f" ({seen.modules} modules seen)"
