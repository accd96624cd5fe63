"""A level is set on a deployment by rewriting its command, its environment or its requests; never in any other place.

A factor's flag is first removed wherever the engine's arguments have it, then the level is added at the end: so that
what a trial runs follows from its configuration alone, not from what the command happened to say. What stands before
the engine (a wrapper's, a container's own options) is nobody's level. A container has its own environment.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruleout.engines.recognising import WRAPPERS, recognise
from ruleout.engines.workload import check_workload
from ruleout.model import (
    ABSENT,
    PRESENT,
    UNSET,
    Case,
    Configuration,
    Factor,
    Mechanism,
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
                value = None if level == UNSET else level
                within = recognise(argv).within
                if within is None:
                    env[factor.target] = value
                else:
                    argv = within.with_variable(factor.target, value)
            case Mechanism.PYTHON:
                argv = _with_python(argv, factor, level, local=case.host == "local")
            case Mechanism.WORKLOAD:
                check_workload(case, factor, level)
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

    return without(argv, factor.target, owns)


def without(argv: tuple[str, ...], flag: str, valued: Callable[[str], bool] = arguments.always) -> tuple[str, ...]:
    """The command without a flag of its engine's. Of a command that starts none that is known, all words may be its."""
    found = recognise(argv)
    own = (found.arguments if found.engine != "command" and found.command == argv else 1) - 1
    return (*argv[:own], *arguments.without(argv[own:], flag, valued))


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
    return (*without(argv, flag), flag, json.dumps(document)) if document else argv


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
