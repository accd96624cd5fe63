"""The answer of a trace in a sentence: what the screen begins with, and what an investigation notes."""

from __future__ import annotations

from collections.abc import Iterator

from ruleout.model.trace import BadWeight, Phase
from ruleout.model.traced import Birth, Found, Trace

_NUMBERS = {"nan": "NaN", "inf": "an infinity", "both": "NaN and infinities"}


def told(trace: Trace) -> str:
    """What was found, and where, in one sentence without its full stop."""
    if trace.found is Found.WEIGHTS:
        return _brought(trace.weights, trace.born)
    if trace.born is not None:
        return _born(trace.born)
    unread = f"; {_unread(trace.weights)}" if trace.weights else ""
    if trace.found is Found.FAILURE:
        return f"no number was bad before it failed{_limits(trace)}{unread}"
    return f"nothing failed, and every number that was seen was finite{_limits(trace)}{unread}"


def lines(trace: Trace) -> Iterator[str]:
    """The answer, what bears it and what limits it, one line a fact."""
    yield told(trace)
    for weight in trace.weights:
        name = weight.tensor or f"{weight.module}.{weight.parameter}"
        yield f"weight {name}{f' in {weight.file}' if weight.file else ''}: {bad(weight)}"
    if trace.born is not None:
        yield from (f"at {frame.file}:{frame.line} {frame.function}" for frame in reversed(trace.born.frames))
    seen = trace.coverage
    yield f"seen: {seen.modules} modules, {seen.calls} calls in {seen.processes} of {len(trace.handshakes)} processes"
    yield f"calls of the model: {seen.prefill} in prefill, {seen.decode} in decode"
    yield from (f"not seen: {hidden}" for hidden in seen.hidden)
    yield from (f"passed over: {reason} ({number})" for reason, number in seen.skipped.items())
    yield from (f"the tracer's own trouble: {error}" for error in seen.errors)


def _born(born: Birth) -> str:
    by = f" by {born.operation}" if born.operation else ""
    rank = f", rank {born.rank}" if born.rank is not None else ""
    came = f"; it came from another rank through {born.collective}" if born.collective else ""
    came = came or ("; it came with the inputs of the model, from the rank before" if born.outside else "")
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
    reached = (
        f": it comes out of {named(born)}, {moment(born)}" if born is not None else "; where it comes out was not seen"
    )
    return f"{bad(first)} in the weight {name}{more}{where}{reached}"


def _unread(weights: tuple[BadWeight, ...]) -> str:
    first = weights[0].tensor or f"{weights[0].module}.{weights[0].parameter}"
    more = f" and {len(weights) - 1} more" if weights[1:] else ""
    return f"what is not finite in {first}{more} came out of no module"


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
