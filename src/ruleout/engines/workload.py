"""The workload is a factor: what a client asks for, how long, how many at once, decides whether some failures show.

A property acts on the probes that are made for it (`concurrency` on `load`), where there are any; otherwise on all that
have it. So a case with several kinds of probes keeps the others as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ruleout.model import Case, Configuration, Factor, Mechanism, Mode, Probe, UsageError

OFF, ON = "off", "on"
_ALL = frozenset({"completion", "streaming", "logprobs", "long", "shared_prefix", "load", "compare"})
_PROMPTED = _ALL - {"compare"}
"""Kinds whose prompt may be changed; a reference's may not."""


@dataclass(frozen=True, slots=True)
class _Property:
    """What can be varied about what a client does.

    Attributes:
        change: the probe at a level.
        own: whether a probe is made for it.
        kinds: those that have it.
        switch: its levels are `on` and `off`, not numbers.
    """

    change: Callable[[Probe, int], Probe]
    own: Callable[[Probe], bool] = lambda probe: False
    kinds: frozenset[str] = _ALL | {"http"}
    switch: bool = False


def _of_kind(kind: str) -> Callable[[Probe], bool]:
    return lambda probe: probe.kind == kind


def _shared(probe: Probe, on: int) -> Probe:
    """Prompts that are all the same share everything already."""
    if on:
        return replace(probe, shared_prefix=True) if probe.shared_prefix is False else probe
    return replace(probe, shared_prefix=False)


def _streamed(probe: Probe, on: int) -> Probe:
    return replace(probe, streaming=bool(on))


def _long(probe: Probe, words: int) -> Probe:
    return replace(probe, prompt_length=words)


PROPERTIES: Mapping[str, _Property] = {
    "concurrency": _Property(lambda probe, number: replace(probe, concurrency=number), _of_kind("load")),
    "requests": _Property(lambda probe, number: replace(probe, requests=number), _of_kind("load")),
    "repeat": _Property(lambda probe, number: replace(probe, repeat=number), lambda probe: probe.repeat > 1),
    "max_tokens": _Property(lambda probe, number: replace(probe, max_tokens=number), kinds=_PROMPTED),
    "prompt_length": _Property(_long, lambda probe: probe.prompt_length > 0, _PROMPTED),
    "shared_prefix": _Property(_shared, kinds=_PROMPTED, switch=True),
    "streaming": _Property(_streamed, _of_kind("streaming"), _ALL, switch=True),
}
"""The properties of a workload. `prompt_length` is in words: what tokens are, only the engine knows."""


def probes_under(case: Case, configuration: Configuration, probes: Sequence[Probe]) -> tuple[Probe, ...]:
    """The probes with the workload factors of a configuration set. Raises UsageError as `check_workload` does."""
    changed = list(probes)
    for factor in case.factors:
        if factor.mechanism is Mechanism.WORKLOAD:
            number = check_workload(case, factor, configuration.get(factor.name, factor.baseline))
            varied = PROPERTIES[factor.target]
            meant = _meant(factor, varied, probes)
            changed = [
                varied.change(probe, number) if hit else probe for probe, hit in zip(changed, meant, strict=True)
            ]
    return tuple(_times(probe, case.times) for probe in changed)


def _meant(factor: Factor, varied: _Property, probes: Sequence[Probe]) -> list[bool]:
    own = [varied.own(probe) for probe in probes]
    meant = own if any(own) else [probe.kind in varied.kinds for probe in probes]
    if not any(meant):
        kinds = ", ".join(sorted({probe.kind for probe in probes})) or "none"
        raise UsageError(
            f"factor {factor.name}: no probe has a {factor.target} (probes: {kinds})",
            "Add one that has it: {kind: completion} has everything.",
        )
    return meant


def _times(probe: Probe, times: int) -> Probe:
    """A probe of many requests with so many times of them; another so many times one after the other."""
    if probe.requests > 1 or probe.kind == "load":
        return replace(probe, requests=probe.requests * times)
    return replace(probe, repeat=probe.repeat * times)


def check_workload(case: Case, factor: Factor, level: str) -> int:
    """A level as a number; of a switch, 1 for on and 0 for off.

    Raises UsageError when the level is none, when there is no such property, or nothing to ask.
    """
    if case.mode is Mode.JOB:
        raise UsageError(
            f"factor {factor.name}: a job has no workload to vary",
            "Use `mode: serve`, or make it a flag of the command.",
        )
    if factor.target not in PROPERTIES:
        raise UsageError(
            f"factor {factor.name}: the workload has no property {factor.target!r}", f"It has {', '.join(PROPERTIES)}."
        )
    if PROPERTIES[factor.target].switch:
        if level not in (ON, OFF):
            raise UsageError(
                f"factor {factor.name}: level {level!r} is neither on nor off",
                f'Write `{{workload: {factor.target}, levels: ["off", "on"]}}`, in quotes.',
            )
        return int(level == ON)
    if not (level.isascii() and level.isdigit() and int(level) > 0):
        raise UsageError(
            f"factor {factor.name}: level {level!r} is not a number from 1 up",
            f"Write {factor.target} as a whole number.",
        )
    return int(level)
