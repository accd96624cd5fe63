"""case.yaml to a Case. Whatever does not fit is told with its line and what to write instead; nothing is guessed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ruleout.investigation import yamltree
from ruleout.investigation.yamltree import Tree, read_tree
from ruleout.model import (
    Budget,
    Case,
    Configuration,
    Cost,
    Factor,
    FailureClass,
    Goal,
    Mechanism,
    Mode,
    Probe,
    Ready,
    Stage,
    Target,
    UsageError,
)
from ruleout.reading.stages import StagePatterns

MAX_BYTES = 1 << 20
LONGEST = 100 * 365 * 86400.0
"""Seconds; a longer duration is a slip."""
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?")
_SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def seconds(text: object) -> float:
    """A duration such as 90s, 20m, 1h30m in seconds. Raises ValueError."""
    if isinstance(text, int | float):
        return float(text)
    match = _DURATION.fullmatch(str(text))
    if match is None or not any(match.groups()):
        raise ValueError(f"{text!r} is not a duration; write it with its unit, as in 90s, 20m or 1h30m")
    hours, minutes, rest = (float(g or 0) for g in match.groups())
    if (total := hours * 3600 + minutes * 60 + rest) > LONGEST:
        raise ValueError("longer than anybody waits")
    return total


def _size(text: object) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?i?B)", str(text), re.IGNORECASE)
    if match is None or match[2].upper() not in _SIZES:
        raise ValueError(f"{text!r} is not a size; write it with its unit, as in 50GB")
    if (size := float(match[1]) * _SIZES[match[2].upper()]) >= 2**63:
        raise ValueError("more than any disk holds")
    return int(size)


def _command(value: object) -> object:
    return shlex.split(value) if isinstance(value, str) else value


def _positive(value: float) -> float:
    if value <= 0:
        raise ValueError("no time at all; write how long, as in 90s, 20m or 1h30m")
    return value


Seconds = Annotated[float, BeforeValidator(seconds), AfterValidator(_positive)]
Command = Annotated[list[str], BeforeValidator(_command), Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Ready(_Strict):
    timeout: Seconds = 1200.0
    path: str | None = None
    log: str | None = None


class _Probe(_Strict):
    kind: Literal["completion", "load", "http", "compare"] = "completion"
    prompt: str = "The capital of France is"
    max_tokens: int = Field(default=32, ge=1)
    repeat: int = Field(default=1, ge=1, le=1000)
    concurrency: int = Field(default=1, ge=1, le=4096)
    requests: int = Field(default=1, ge=1, le=1_000_000)
    method: str = "GET"
    path: str = "/"
    body: str | None = None
    timeout: Seconds = 120.0
    reference: str | None = None


class _Target(_Strict):
    class_: FailureClass = Field(alias="class")
    stage: Stage | None = None


class _Factor(_Strict):
    flag: str | None = None
    env: str | None = None
    python: dict[str, str] | None = None
    override: str | None = None
    patch: dict[str, str | None] | None = None
    cache: list[str] | None = None
    workload: str | None = None
    levels: list[str] | None = None
    baseline: str
    ordered: bool = False
    proxy: bool = False


class _Cost(_Strict):
    trial: Seconds | None = None
    levels: dict[str, dict[str, Seconds]] = {}
    measured: bool = True


class _Budget(_Strict):
    trials: int | None = Field(default=None, ge=1)
    time: Seconds | None = None
    disk: Annotated[int, BeforeValidator(_size)] | None = None


class _Case(_Strict):
    name: str
    engine: str = "command"
    command: Command
    env: dict[str, str] = {}
    cwd: str | None = None
    host: Literal["local"] | dict[str, str] = "local"
    mode: Mode = Mode.SERVE
    ready: _Ready = _Ready()
    stages: dict[Stage, str] = {}
    probes: list[_Probe] = []
    target: _Target | None = None
    factors: dict[str, _Factor] = {}
    good: list[dict[str, str]] = []
    never: list[dict[str, str]] = []
    keep: dict[str, str] = {}
    cost: _Cost = _Cost()
    workers: int = Field(default=1, ge=1)
    budget: _Budget = _Budget()
    goal: Goal = Goal.CAUSE
    timeout: Seconds = 6 * 3600.0


def read_case(path: Path) -> Case:
    """The case in a file. Raises UsageError, naming the line and what to do."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UsageError(f"{path} is not a file", "Save the case in a file and name that.")
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not a case file", "Name the YAML file in it.") from None
    except OSError as problem:
        raise UsageError(
            f"{path}: cannot be read: {problem.strerror}", "Name a case file that is there and readable."
        ) from None
    if len(raw) > MAX_BYTES:
        raise UsageError(f"{path}: more than {MAX_BYTES} bytes, too many for a case file", "Name the case, not a log.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw[: problem.start].count(b"\n") + 1
        raise UsageError(f"{path}, line {line}: not UTF-8", "Save the file in UTF-8.") from None
    case = parse_case(text, path.name)
    if case.cwd is not None:
        folder = path.parent.absolute() / Path(case.cwd).expanduser()
        if not folder.is_dir():
            raise UsageError(f"{path.name}: cwd {case.cwd} is not a folder", "Name a folder that exists.")
        case = replace(case, cwd=str(folder))
    return case


def parse_case(text: str, name: str = "case.yaml") -> Case:
    """The case in a YAML text. Raises UsageError, naming the line and what to do."""
    tree = read_tree(text, name)
    if not isinstance(tree.data, dict):
        raise tree.error((), "not a case: a mapping with name, command and factors is expected", _EXAMPLE)
    try:
        spec = _Case.model_validate(tree.data)
    except ValidationError as problem:
        raise _complaint(tree, problem) from None
    return _checked(tree, spec)


_EXAMPLE = "Begin with `name: my-case`, `engine: command`, `command: [...]`."


def _complaint(tree: Tree, problem: ValidationError) -> UsageError:
    """The first complaint in the order of the file, in our words."""
    errors = sorted(problem.errors(), key=lambda e: tree.line(_path(e["loc"])))
    first = errors[0]
    path = _path(first["loc"])
    where = ".".join(str(p) for p in path)
    kind = first["type"]
    if kind == "extra_forbidden":
        known = _known_keys(path)
        close = get_close_matches(str(path[-1]), known, 1)
        remedy = f"Did you mean {close[0]}?" if close else f"Known here: {', '.join(known)}."
        return tree.error(path, f"unknown key {where}", remedy)
    if kind == "missing":
        return tree.error(path[:-1], f"{where} is missing", f"Add `{path[-1]}:`.")
    if kind in ("enum", "literal_error"):
        expected = first.get("ctx", {}).get("expected", "")
        return tree.error(path, f"{where}: {first['input']!r} is not known", f"Write one of {expected}.")
    if kind == "string_type" and first["input"] is None:
        return tree.error(path, f"{where} has no value", 'Give it one; if the word null is meant, quote it: "null".')
    message = str(first["msg"]).removeprefix("Value error, ")
    for begin, what, remedy in _WORDS:
        if kind.startswith(begin):
            return tree.error(path, f"{where} {what}", remedy)
    return tree.error(path, f"{where}: {message}", "Mend the value.")


_WORDS = (
    ("dict_", "is not a mapping", "Write it as `key: value` lines below it, or as {key: value}."),
    ("model_", "is not a mapping", "Write it as `key: value` lines below it, or as {key: value}."),
    ("list_", "is not a list", "Write it as [a, b]."),
    ("too_short", "is empty", "Give it at least one entry."),
    ("greater_than", "is too small", "Give a larger number."),
    ("less_than", "is too large", "Give a smaller number."),
    ("int_", "is not a whole number", "Write a whole number."),
    ("bool_", "is neither true nor false", "Write true or false."),
    ("string_type", "is not text", "Write it as one word or in quotes."),
)
"""What is wrong with a value, by the beginning of pydantic's name for it, and what to do."""


def _path(loc: tuple[int | str, ...]) -> yamltree.Path:
    """Where in the file; what pydantic adds of its own is left out."""
    return tuple(part for part in loc if part not in ("[key]", "literal['local']", "dict[str,str]"))


def _known_keys(path: yamltree.Path) -> list[str]:
    place: dict[str, type[BaseModel]] = {
        "ready": _Ready,
        "target": _Target,
        "cost": _Cost,
        "budget": _Budget,
        "factors": _Factor,
        "probes": _Probe,
    }
    model = place.get(str(path[0]), _Case) if len(path) > 1 else _Case
    return [field.alias or name for name, field in model.model_fields.items()]


def _checked(tree: Tree, spec: _Case) -> Case:
    """What the schema cannot see: names, levels, baselines and what refers to them."""
    if not NAME.fullmatch(spec.name):
        raise tree.error(
            ("name",), f"name {spec.name!r} cannot name a folder", "Use letters, digits, dots, dashes, underscores."
        )
    for stage, pattern in spec.stages.items():
        if (why := _bad_pattern(pattern)) is not None:
            raise tree.error(("stages", stage.value), f"stages.{stage.value}: not a regex: {why}", "Mend the regex.")
    if spec.ready.log is not None and (why := _bad_pattern(spec.ready.log)) is not None:
        raise tree.error(("ready", "log"), f"ready.log: not a regex: {why}", "Mend the regex.")
    for variable in spec.env:
        if not ENV_NAME.fullmatch(variable):
            raise tree.error(
                ("env", variable), f"{variable!r} cannot name an environment variable", "Write NAME: value."
            )
    factors = tuple(_factor(tree, name, f) for name, f in spec.factors.items())
    _distinct_targets(tree, factors)
    baseline = {f.name: f.baseline for f in factors}
    known = {f.name: f for f in factors}
    good = tuple(_levels(tree, ("good", i), known, c) for i, c in enumerate(spec.good))
    never = tuple(_levels(tree, ("never", i), known, c) for i, c in enumerate(spec.never))
    for i, combination in enumerate(never):
        if all(baseline[f] == level for f, level in combination.items()):
            raise tree.error(
                ("never", i), "never forbids the baseline itself", "The baseline has to run: leave this out."
            )
    for i, combination in enumerate(good):
        tried = {**baseline, **combination}
        if any(all(tried[f] == level for f, level in forbidden.items()) for forbidden in never):
            raise tree.error(("good", i), "good names a configuration that never forbids", "Leave out one of the two.")
    keep = _levels(tree, ("keep",), known, spec.keep)
    for factor, levels in spec.cost.levels.items():
        for level in levels:
            _level(tree, ("cost", "levels", factor, level), known, factor, level)
    return Case(
        name=spec.name,
        engine=spec.engine,
        command=tuple(spec.command),
        factors=factors,
        env=spec.env,
        cwd=spec.cwd,
        host=spec.host,
        mode=spec.mode,
        ready=Ready(spec.ready.timeout, spec.ready.path, spec.ready.log),
        stages={stage.value: pattern for stage, pattern in spec.stages.items()},
        probes=tuple(_probe(tree, i, p) for i, p in enumerate(spec.probes)),
        target=Target(spec.target.class_, spec.target.stage) if spec.target else None,
        good=good,
        never=never,
        keep=keep,
        cost=Cost(
            None if spec.cost.trial is None else spec.cost.trial / 60,
            {f: {level: s / 60 for level, s in levels.items()} for f, levels in spec.cost.levels.items()},
            spec.cost.measured,
        ),
        budget=Budget(
            spec.budget.trials, None if spec.budget.time is None else spec.budget.time / 60, spec.budget.disk
        ),
        workers=spec.workers,
        goal=spec.goal,
        timeout=spec.timeout,
    )


def _bad_pattern(pattern: str) -> str | None:
    """Why a pattern is no regex; None when it is one."""
    try:
        StagePatterns({Stage.UNKNOWN: pattern})
    except ValueError as problem:
        return str(problem)
    return None


def _probe(tree: Tree, i: int, spec: _Probe) -> Probe:
    if spec.kind == "compare":
        raise tree.error(("probes", i), "probes of kind compare are not supported yet", "Use completion, load or http.")
    return Probe(**spec.model_dump(exclude={"reference"}))


def _factor(tree: Tree, name: str, spec: _Factor) -> Factor:
    path: yamltree.Path = ("factors", name)
    given = [m for m in Mechanism if getattr(spec, m.value) is not None]
    if len(given) != 1:
        raise tree.error(
            path,
            f"factor {name} has {'no mechanism' if not given else ' and '.join(given)}",
            f"Give exactly one of {', '.join(m.value for m in Mechanism)}.",
        )
    mechanism = given[0]
    value = getattr(spec, mechanism.value)
    if not value or value == [""]:
        raise tree.error(
            (*path, mechanism.value),
            f"factor {name}: {mechanism} names nothing",
            "Name what it sets, or drop the factor.",
        )
    values: Mapping[str, str | None] = value if isinstance(value, dict) else {}
    levels = tuple(values) if isinstance(value, dict) else tuple(spec.levels or ())
    if isinstance(value, dict) and spec.levels is not None and tuple(spec.levels) != levels:
        raise tree.error(
            (*path, "levels"), f"factor {name}: levels differ from the keys of {mechanism}", "Leave it out."
        )
    if len(levels) < 2:
        raise tree.error(path, f"factor {name} has fewer than two levels", "Give `levels: [a, b]`, or drop the factor.")
    twice = sorted({level for level in levels if levels.count(level) > 1})
    if twice:
        raise tree.error((*path, "levels"), f'factor {name} has level "{twice[0]}" twice', "Keep one of them.")
    if spec.baseline not in levels:
        raise tree.error(
            (*path, "baseline"),
            f'factor {name} has baseline "{spec.baseline}", which is not one of its levels ({", ".join(levels)})',
            f'Add "{spec.baseline}" to levels, or name the level the failing command really uses.',
        )
    if mechanism is Mechanism.FLAG and (not str(value).startswith("-") or re.search(r"\s", str(value))):
        raise tree.error(
            (*path, "flag"), f"factor {name}: {value!r} is not a flag", "Write it as the command does: --flag."
        )
    if mechanism is Mechanism.ENV and not ENV_NAME.fullmatch(str(value)):
        raise tree.error(
            (*path, "env"), f"factor {name}: {value!r} cannot name an environment variable", "Write only its name."
        )
    target = value if isinstance(value, str) else " ".join(value) if isinstance(value, list) else ""
    return Factor(name, mechanism, target, levels, spec.baseline, dict(values), spec.ordered, spec.proxy)


def _distinct_targets(tree: Tree, factors: tuple[Factor, ...]) -> None:
    seen: dict[tuple[Mechanism, str], str] = {}
    for factor in factors:
        key = (factor.mechanism, factor.target)
        if factor.target and key in seen:
            raise tree.error(
                ("factors", factor.name),
                f"factors {seen[key]} and {factor.name} both set {factor.target}",
                "Make them one factor with the levels of both.",
            )
        seen[key] = factor.name


def _levels(tree: Tree, path: yamltree.Path, known: Mapping[str, Factor], levels: Mapping[str, str]) -> Configuration:
    """Levels that a person named, checked against the factors."""
    for name, level in levels.items():
        _level(tree, (*path, name), known, name, level)
    return Configuration(levels)


def _level(tree: Tree, where: yamltree.Path, known: Mapping[str, Factor], name: str, level: str) -> None:
    if name not in known:
        close = get_close_matches(name, known, 1)
        remedy = f"Did you mean {close[0]}?" if close else f"Factors: {', '.join(known) or 'none'}."
        raise tree.error(where, f"{where[0]}: unknown factor {name}", remedy)
    if level not in known[name].levels:
        raise tree.error(
            where, f'{where[0]}: factor {name} has no level "{level}"', f"Levels: {', '.join(known[name].levels)}."
        )
