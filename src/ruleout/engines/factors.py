"""A level is set on a deployment by rewriting its command, its environment or its requests; never in any other place.

A factor's flag is first removed wherever the command has it, then the level is added at the end: so that what a trial
runs follows from its configuration alone, not from what the command happened to say.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruleout.engines.recognising import WRAPPERS
from ruleout.model import (
    ABSENT,
    PRESENT,
    UNSET,
    Case,
    Configuration,
    Factor,
    Mechanism,
    Mode,
    Probe,
    UsageError,
    arguments,
)

_PYTHON = re.compile(r"python(\d+(\.\d+)?t?)?")


@dataclass(frozen=True, slots=True)
class Applied:
    """A case's command and environment under one configuration. None as a value of `env`: unset it."""

    argv: tuple[str, ...]
    env: Mapping[str, str | None]


def apply(case: Case, configuration: Configuration, override_flag: str = "") -> Applied:
    """The command and the environment of a case with the levels of a configuration set.

    A factor that the configuration does not name is at its baseline.
    Raises UsageError when a level cannot be set on this command.

    Args:
        override_flag: the flag by which the engine takes a JSON object that overrides its model's configuration.
    """
    argv = case.command
    if not argv:
        raise UsageError(f"case {case.name} has no command", "Give `command:` as a list, one word an item.")
    env: dict[str, str | None] = dict(case.env)
    overrides: dict[str, str] = {}
    for factor in case.factors:
        if factor.mechanism is Mechanism.FLAG:
            argv = _without_flag(argv, factor)
    for factor in case.factors:
        level = configuration.get(factor.name, factor.baseline)
        match factor.mechanism:
            case Mechanism.FLAG:
                argv += _flag(factor, level)
            case Mechanism.ENV:
                env[factor.target] = None if level == UNSET else level
            case Mechanism.PYTHON:
                argv = _with_python(argv, factor, level, local=case.host == "local")
            case Mechanism.WORKLOAD:
                _check_workload(case, factor, level)
            case Mechanism.OVERRIDE if override_flag:
                overrides[factor.target] = level
            case unsupported:
                raise UsageError(
                    f"factor {factor.name}: {unsupported} is not supported yet with engine {case.engine}",
                    "Leave the factor out, or reach the same by a flag, an environment variable or another python.",
                )
    return Applied(_overridden(argv, override_flag, overrides) if overrides else argv, env)


def check(case: Case) -> None:
    """Sets every level of every factor once, others at the baseline. Raises UsageError for the first that cannot be."""
    for factor in case.factors:
        for level in factor.levels:
            apply(case, case.baseline.moved({factor.name: level}))


def probes_under(case: Case, configuration: Configuration, probes: Sequence[Probe]) -> tuple[Probe, ...]:
    """The probes with the workload factors of a configuration set.

    `load` probes are meant when there are any, otherwise all. Raises UsageError for a level that is not a number.
    """
    meant = [probe.kind == "load" for probe in probes]
    changed = list(probes)
    for factor in case.factors:
        if factor.mechanism is Mechanism.WORKLOAD:
            number = _check_workload(case, factor, configuration.get(factor.name, factor.baseline))
            change = _WORKLOAD[factor.target]
            changed = [
                change(probe, number) if hit or not any(meant) else probe
                for probe, hit in zip(changed, meant, strict=True)
            ]
    return tuple(_times(probe, case.times) for probe in changed)


def _times(probe: Probe, times: int) -> Probe:
    """A load with so many times the requests; another probe so many times one after the other."""
    if probe.kind == "load":
        return replace(probe, requests=probe.requests * times)
    return replace(probe, repeat=probe.repeat * times)


def _with_prompt_tokens(probe: Probe, number: int) -> Probe:
    words = probe.prompt.split() or ["the"]
    return replace(probe, prompt=" ".join(words[i % len(words)] for i in range(number)))


_WORKLOAD: Mapping[str, Callable[[Probe, int], Probe]] = {
    "concurrency": lambda probe, number: replace(probe, concurrency=number),
    "requests": lambda probe, number: replace(probe, requests=number),
    "max_tokens": lambda probe, number: replace(probe, max_tokens=number),
    "repeat": lambda probe, number: replace(probe, repeat=number),
    "prompt_tokens": _with_prompt_tokens,
}
"""What each property of the workload changes. `prompt_tokens` counts words: what tokens are, only the engine knows."""


def _check_workload(case: Case, factor: Factor, level: str) -> int:
    if case.mode is Mode.JOB:
        raise UsageError(
            f"factor {factor.name}: a job has no workload to vary",
            "Use `mode: serve`, or make it a flag of the command.",
        )
    if factor.target not in _WORKLOAD:
        raise UsageError(
            f"factor {factor.name}: the workload has no property {factor.target!r}", f"It has {', '.join(_WORKLOAD)}."
        )
    if not (level.isascii() and level.isdigit() and int(level) > 0):
        raise UsageError(
            f"factor {factor.name}: level {level!r} is not a number from 1 up",
            f"Write {factor.target} as a whole number.",
        )
    return int(level)


def _without_flag(argv: tuple[str, ...], factor: Factor) -> tuple[str, ...]:
    if shell := arguments.shell_script(argv):
        raise UsageError(
            f"factor {factor.name}: {factor.target} cannot be set safely inside a script given to {shell} -c",
            "Give the command itself as a list of words and variables under `env:`, or vary a variable it uses.",
        )
    valued = {level for level in factor.levels if level not in (ABSENT, PRESENT)}

    def owns(token: str) -> bool:
        # A failing deployment that passes the flag bare has no value behind it: what follows is another argument.
        return bool(valued) and (factor.baseline != PRESENT or token in valued)

    return arguments.without(argv, factor.target, owns)


def _overridden(argv: tuple[str, ...], flag: str, levels: Mapping[str, str]) -> tuple[str, ...]:
    """The command with keys of the model's configuration overridden; `unset` leaves a key as it is.

    A dotted key is one of a nested configuration. What the command overrides by itself stays.
    """
    given = arguments.value_of(argv, flag)
    document = _json(given) if given is not None else {}
    if not isinstance(document, dict):
        raise UsageError(
            f"{flag} {given}: no JSON object, so nothing can be added to it",
            "Write it as JSON, or leave out the factors with `override:`.",
        )
    for key, level in levels.items():
        *outer, name = key.split(".")
        place = document
        for part in outer:
            inner = place.setdefault(part, {})
            place[part] = place = inner if isinstance(inner, dict) else {}
        if level != UNSET:
            place[name] = _json(level)
    return (*arguments.without(argv, flag), flag, json.dumps(document)) if document else argv


def _json(text: str) -> Any:
    """A value as JSON writes it; text that is no JSON is a string."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _flag(factor: Factor, level: str) -> tuple[str, ...]:
    if level == ABSENT:
        return ()
    return (factor.target,) if level == PRESENT else (factor.target, level)


def _with_python(argv: tuple[str, ...], factor: Factor, level: str, local: bool) -> tuple[str, ...]:
    interpreter = factor.values.get(level)
    if not interpreter:
        raise UsageError(
            f"factor {factor.name}: level {level!r} names no interpreter",
            'Write `python: {"5.2.0": /venvs/tf52/bin/python, …}`.',
        )
    if local:
        interpreter = os.path.expanduser(interpreter)
    name = arguments.program(argv[0])
    if _PYTHON.fullmatch(name):
        return (interpreter, *argv[1:])
    folder = Path(interpreter).parent
    script = folder / name
    if name in WRAPPERS | arguments.SHELLS or str(folder) == "." or (local and not script.exists()):
        raise UsageError(
            f"factor {factor.name}: {argv[0]} is neither a python nor a script beside {interpreter}",
            "Begin the command with python or a script of that environment; put variables under `env:`.",
        )
    return (str(script), *argv[1:])
