"""When a failure shows: with every request, only under load, only with a cached prefix, only with long prompts.

That says what kind of cause it is before any setting was varied, and what about the workload is worth a trial: what the
failing request has and those that were answered before it had not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ruleout.engines import Engine, Request
from ruleout.engines.workload import OFF, ON
from ruleout.investigation.givens import Choice
from ruleout.model import Case, Factor, Failure, Mechanism, Mode, OutcomeKind, Verdict

PLAIN, AGAIN = "plain", "again"
_SPEAKS: dict[str, str] = {
    PLAIN: "what every request goes through (a format, a layout, the weights), not load, length or caching",
    AGAIN: "what the first one leaves behind: a cached prefix, a state",
    "streaming": "the way the answer is sent, not how it is computed",
    "logprobs": "the sampler and what it reads, or numbers that are not finite",
    "prompt_length": "positions, pages and chunks of the prompt",
    "shared_prefix": "the prefix cache",
    "concurrency": "what several requests share: batches, the scheduler, a race",
}
"""For what a failure speaks that needs that of its requests."""


def workloads(case: Case, engine: Engine, failure: Failure | None) -> tuple[Choice, ...]:
    """What of the workload is worth varying: what the request that failed first has and a plain one has not."""
    _, request = _steps(case, engine, failure)
    taken = {factor.name for factor in case.factors}
    return tuple(choice for choice in _choices(request) if choice.factor.name not in taken) if request else ()


def _choices(request: Request) -> Iterator[Choice]:
    probe = request.probe
    if probe.kind in ("http", "compare"):
        return
    if request.concurrency > 1:
        yield _choice("concurrency", ("1", str(request.concurrency)), f"it shows with {request.concurrency} at once")
    if probe.streaming:
        yield _choice("streaming", (OFF, ON), "it shows with a streamed answer")
    if probe.kind == "shared_prefix" or (_again(request) and not probe.streaming):
        yield _choice("shared_prefix", (OFF, ON), "it shows with prompts that begin alike")
    elif probe.prompt_length > 8:
        length = probe.prompt_length
        levels = tuple(str(n) for n in (4, length // 16, length // 4, length) if n >= 4)
        yield _choice("prompt_length", tuple(dict.fromkeys(levels)), f"it shows with {length} words", ordered=True)


def _choice(name: str, levels: tuple[str, ...], why: str, *, ordered: bool = False) -> Choice:
    return Choice(Factor(name, Mechanism.WORKLOAD, name, levels, levels[-1], ordered=ordered), why)


def shows(case: Case, engine: Engine, verdict: Verdict) -> str:
    """When the failure shows, and for what that speaks; empty for one that shows before anybody asks."""
    before, request = _steps(case, engine, verdict.failure)
    if request is None:
        return ""
    what, key = _what(request)
    told = [what]
    if before:
        kinds = ", ".join(dict.fromkeys(passed.probe.kind for passed in before))
        told.append(f"what was asked before passed ({kinds})")
    elif key != PLAIN:
        told.append("nothing simpler was asked before")
    told += _varied(case, verdict)
    if (speaks := _speaks(case, verdict, key, bool(before))) is not None:
        return f"{'; '.join(told)}. It speaks for {speaks}."
    return f"{'; '.join(told)}."


def _speaks(case: Case, verdict: Verdict, key: str, alone: bool) -> str | None:
    """What that points to; None where the failing request is not known to need what it has.

    Args:
        alone: simpler requests were answered.
    """
    varied = [factor for factor in case.factors if factor.mechanism is Mechanism.WORKLOAD]
    needed = next((factor.target for factor in varied if factor.name in _in_causes(verdict)), None)
    if needed is not None:
        return _SPEAKS.get(needed)
    out = {ruled.factor for ruled in verdict.ruled_out}
    if key == PLAIN or any(factor.target == key and factor.name in out for factor in varied):
        return _SPEAKS[PLAIN]
    return _SPEAKS[key] if alone else None


def _steps(case: Case, engine: Engine, failure: Failure | None) -> tuple[Sequence[Request], Request | None]:
    """The requests before the one that failed first, and that; None when it failed before any."""
    if failure is None or not failure.exposure.step or case.mode is Mode.JOB:
        return (), None
    requests = {request.step: request for request in engine.requests(case, case.baseline)}
    step = failure.exposure.step
    return [requests[s] for s in sorted(requests) if s < step], requests.get(step)


def _what(request: Request) -> tuple[str, str]:
    """With which request it shows, and what that one has."""
    probe = request.probe
    if request.concurrency > 1:
        return f"with {request.concurrency} requests at once", "concurrency"
    if probe.kind == "compare":
        return "with a single request: it is answered, but not rightly", PLAIN
    if probe.streaming:
        return "with a streamed answer", "streaming"
    if probe.logprobs:
        return "when logprobs are asked for", "logprobs"
    if probe.shared_prefix:
        return "with long prompts that begin alike", "shared_prefix"
    if probe.prompt_length:
        return f"with a prompt of {probe.prompt_length} words", "prompt_length"
    if _again(request):
        return "from the second of two like requests on", AGAIN
    return "already with the first request, short and by itself", PLAIN


def _again(request: Request) -> bool:
    """It is the repetition of one that was answered."""
    return request.probe.repeat > 1 and " of " in request.name and request.name.split()[1] != "1"


def _in_causes(verdict: Verdict) -> set[str]:
    return {carrier.factor for cause in verdict.causes for carrier in cause}


def _varied(case: Case, verdict: Verdict) -> Iterator[str]:
    """What the trials say about the properties of the workload that were varied."""
    out = {ruled.factor: ruled.because for ruled in verdict.ruled_out}
    for factor in case.factors:
        if factor.mechanism is not Mechanism.WORKLOAD:
            continue
        if factor.name in _in_causes(verdict):
            clean: dict[str, list[int]] = {}
            for trial in verdict.trials:
                only = set(trial.configuration.difference(case.baseline)) == {factor.name}
                if only and trial.outcome is not None and trial.outcome.kind is OutcomeKind.CLEAN:
                    clean.setdefault(trial.configuration[factor.name], []).append(trial.id)
            told = ", ".join(f"{level} ({_trials(ids)})" for level, ids in clean.items())
            alone = f": clean with {told}" if told else ""
            yield f"only with {factor.name}={factor.baseline}{alone}"
        elif factor.name in out:
            yield f"whatever the {factor.target.replace('_', ' ')} ({_trials(out[factor.name])})"


def _trials(ids: Sequence[int]) -> str:
    return f"trial{'s' if len(ids) > 1 else ''} {', '.join(map(str, ids))}"
