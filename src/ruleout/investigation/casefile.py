"""case.yaml to a Case. Whatever does not fit is told with its line and what to write instead; nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from pydantic import ValidationError

from ruleout.investigation import yamltree
from ruleout.investigation.caseschema import CaseSpec, FactorSpec, ProbeSpec, complaint
from ruleout.investigation.references import located, read_reference, with_prompt
from ruleout.investigation.yamltree import Tree, read_tree
from ruleout.model import (
    Budget,
    Case,
    Configuration,
    Cost,
    Factor,
    Mechanism,
    Others,
    Probe,
    Ready,
    Stage,
    Target,
    UsageError,
    probe_of,
)
from ruleout.reading.stages import StagePatterns

MAX_BYTES = 1 << 20
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


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
    case = parse_case(text, path.name, path.parent.absolute())
    if case.cwd is not None:
        folder = path.parent.absolute() / Path(case.cwd).expanduser()
        if not folder.is_dir():
            raise UsageError(f"{path.name}: cwd {case.cwd} is not a folder", "Name a folder that exists.")
        case = replace(case, cwd=str(folder))
    return case


def parse_case(text: str, name: str = "case.yaml", folder: Path | None = None) -> Case:
    """The case in a YAML text. Raises UsageError, naming the line and what to do.

    Args:
        folder: what the files it names are relative to; the current one by default.
    """
    tree = read_tree(text, name)
    if not isinstance(tree.data, dict):
        raise tree.error((), "not a case: a mapping with name, command and factors is expected", _EXAMPLE)
    try:
        spec = CaseSpec.model_validate(tree.data)
    except ValidationError as problem:
        raise complaint(tree, problem) from None
    return _checked(tree, spec, folder or Path())


_EXAMPLE = "Begin with `name: my-case`, `engine: command`, `command: [...]`."


def _checked(tree: Tree, spec: CaseSpec, folder: Path) -> Case:
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
        probes=tuple(_probe(tree, i, p, folder) for i, p in enumerate(spec.probes)),
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
        others=Others(spec.others.wait, spec.others.share),
    )


def _bad_pattern(pattern: str) -> str | None:
    """Why a pattern is no regex; None when it is one."""
    try:
        StagePatterns({Stage.UNKNOWN: pattern})
    except ValueError as problem:
        return str(problem)
    return None


_METHOD = re.compile(r"[A-Za-z]+(-[A-Za-z]+)*")
_OF_REFERENCE = ("max_tokens", "prompt_length", "shared_prefix")
"""What a probe that compares takes from its reference."""


def _probe(tree: Tree, i: int, spec: ProbeSpec, folder: Path) -> Probe:
    path: yamltree.Path = ("probes", i)
    given = spec.model_dump(exclude_unset=True)
    if not _METHOD.fullmatch(spec.method):
        raise tree.error((*path, "method"), f"{spec.method!r} is no method of HTTP", "Write GET, POST or the like.")
    kind, reference = given.pop("kind", "completion"), given.pop("reference", "")
    if kind != "compare":
        if reference:
            raise tree.error((*path, "reference"), f"a probe of kind {kind} has no reference", "Use kind: compare.")
        if "tolerance" in given:
            raise tree.error((*path, "tolerance"), f"a probe of kind {kind} has no tolerance", "Use kind: compare.")
        return probe_of(kind, **given)
    if not reference:
        raise tree.error(path, "a probe of kind compare has no reference", _REFERENCE)
    for name in _OF_REFERENCE:
        if name in given:
            raise tree.error((*path, name), f"{name} of a probe of kind compare is its reference's", "Leave it out.")
    try:
        read = read_reference(located(folder, reference), reference)
        asked = given.pop("prompt", None)
        return probe_of(kind, **given, reference=read if asked is None else with_prompt(read, asked))
    except UsageError as problem:
        raise tree.error((*path, "reference"), problem.what, problem.remedy) from None


_REFERENCE = "Make one with `ruleout probe --save reference.json -- COMMAND`, and write `reference: reference.json`."


def _factor(tree: Tree, name: str, spec: FactorSpec) -> Factor:
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
