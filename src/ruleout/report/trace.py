"""A trace as a JSON document, to the letter of `ruleout.trace/1`, and the facts of it in the words that people read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ruleout.model.codec import to_json
from ruleout.model.redaction import SECRETS, Redactor
from ruleout.model.trace import BadWeight, SourceFrame, TensorStats
from ruleout.model.traced import Birth, Found, Presence, Trace
from ruleout.report.diagnosis import shown
from ruleout.report.words import minutes

TRACE = "ruleout.trace/1"
SHOWN = 4
"""Tensors, weights and frames that a screen takes; the document has all."""


def trace_document(trace: Trace) -> dict[str, Any]:
    """`ruleout.trace/1`. Files are named relative to the trace's folder."""
    document: dict[str, Any] = {"schema": TRACE, **to_json(trace)}
    document["weights"] = [_weight(weight) for weight in trace.weights]
    redactor = Redactor(SECRETS)
    for launch in trace.launches:
        redactor(" ".join(launch.command))  # which tells most of them: its words are known wherever they stand alone
    safe: dict[str, Any] = _shown(document, redactor)
    return safe


def _weight(weight: BadWeight) -> dict[str, Any]:
    document: dict[str, Any] = to_json(weight)
    stats = document.pop("stats")
    return {**document, **{key: stats[key] for key in ("dtype", "shape", "nan", "inf", "first")}}


def _shown(value: Any, redact: Redactor) -> Any:
    """With what is secret in its texts, commands above all, left out."""
    if isinstance(value, dict):
        return {key: _shown(item, redact) for key, item in value.items()}
    if isinstance(value, list):
        return [_shown(item, redact) for item in value]
    return redact(shown(value)) if isinstance(value, str) else value


def trace_facts(trace: Trace, folder: str) -> Iterator[tuple[str, str]]:
    """What bears the answer and what limits it, each with its label; `folder` stands before names of files."""
    for weight in trace.weights[:SHOWN] if trace.found is not Found.WEIGHTS or trace.weights[1:] else trace.weights:
        yield "Weight", _weight_words(weight)
    if trace.born is not None:
        yield from _born(trace.born, folder, _python(trace))
    failure = trace.failure
    if failure is not None:
        if failure.line:
            named = f"{failure.exception}: {failure.message}" if failure.exception else failure.message
            yield "Engine's own error", f"{folder}/{failure.log}:{failure.line}   {named}"
        elif not failure.client:
            yield "How it failed", failure.message
        if failure.frame:
            yield "Raised at", failure.frame
        if failure.client:
            yield "What a client sees", failure.client + ("" if failure.line else "; no error in the log")
    if trace.component is not None:
        yield "Speaks for", f"{trace.component}; only trials confirm a cause: ruleout investigate"
    yield from _limits(trace)


def _python(trace: Trace) -> str:
    """The interpreter of the process in which it was born, where its command line names it."""
    argv = next((one.argv for one in trace.handshakes if trace.born is not None and one.pid == trace.born.pid), ())
    return argv[0] if argv and argv[0].startswith("/") else "python"


def _born(born: Birth, folder: str, python: str) -> Iterator[tuple[str, str]]:
    if born.frames:
        yield "In", " ← ".join(_frame(frame) for frame in reversed(born.frames[-SHOWN:]))
    what = "operation" if born.operation else "module"
    for label, stats in ((f"Into the {what}", born.inputs), ("Out of it", born.outputs)):
        if stats:
            yield label, "; ".join(_stats(stats))
    if born.how:
        yield "Why it counts", born.how
    if born.replay:
        yield "Replay", f"{python} {folder}/{born.replay}"
    elif born.tensors:
        yield "Tensors", f"{folder}/{born.tensors}"


def _stats(stats: Sequence[TensorStats]) -> list[str]:
    more = [f"and {len(stats) - SHOWN} more"] if stats[SHOWN:] else []
    return [_tensor(one) for one in stats[:SHOWN]] + more


def _tensor(stats: TensorStats) -> str:
    shape = "×".join(map(str, stats.shape)) or "a number"
    bad = [f"{stats.nan} NaN"] if stats.nan else []
    bad += [f"{stats.inf} infinite"] if stats.inf else []
    told = f" of {stats.count}" if bad else ""
    known = stats.min is not None and stats.max is not None
    spread = f"{'the rest ' if bad else ''}{stats.min:.4g} to {stats.max:.4g}" if known else ""
    numbers = ", ".join(part for part in (f"{' and '.join(bad)}{told}", spread) if part)
    return f"{stats.place} {stats.dtype} {shape}{': ' if numbers else ''}{numbers}"


def _weight_words(weight: BadWeight) -> str:
    stats = weight.stats
    name = weight.tensor or f"{weight.module}.{weight.parameter}"
    where = f" in {weight.file}" if weight.file else ""
    at = f", first at {list(stats.first)}" if stats.first else ""
    return f"{name}{where}: {_tensor(stats).removeprefix(stats.place).strip()}{at}"


def _frame(frame: SourceFrame) -> str:
    return f"{'/'.join(frame.file.rsplit('/', 2)[-2:])}:{frame.line} {frame.function}"


def _limits(trace: Trace) -> Iterator[tuple[str, str]]:
    seen = trace.coverage
    calls = f"{_count(seen.modules, 'module', 'modules')}, {_count(seen.calls, 'call', 'calls')}"
    where = _count(seen.processes, "process", "processes")
    yield "Seen", f"{calls} in {where}; of the whole model {seen.prefill} in prefill, {seen.decode} in decode"
    yield from (("Not seen", hidden) for hidden in seen.hidden)
    if seen.skipped:
        yield "Passed over", ", ".join(f"{reason} ({number})" for reason, number in seen.skipped.items())
    for effect in trace.effects:
        yield "Set in order to see", f"{effect.change}: {_EFFECTS[effect.failure]}"
    for error in seen.errors[:1]:
        yield "The tracer's own trouble", error
    ranks = sorted({shake.rank for shake in trace.handshakes if shake.rank is not None})
    where = f", ranks {', '.join(map(str, ranks))}" if ranks[1:] else ""
    heard = _count(len(trace.handshakes), "process", "processes")
    launches = _count(len(trace.launches), "launch", "launches")
    yield "Traced", f"{heard} with torch{where}; {launches}, {minutes(sum(one.minutes for one in trace.launches))}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


_EFFECTS = {
    Presence.GONE: "with it the failure is gone, which is evidence by itself; what is hidden without it was not seen",
    Presence.STAYS: "the failure is there with it, too",
    Presence.UNTESTED: "nothing failed with it; whether it does without: ruleout trace --keep-graphs",
}
