"""The shape of case.yaml: keys, types, units and defaults; and, where something does not fit, what to write instead.

What refers to something else in the file (a level, a factor) is checked by `casefile`, which knows the whole.
"""

from __future__ import annotations

import re
import shlex
from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from ruleout.investigation import yamltree
from ruleout.investigation.yamltree import Tree
from ruleout.model import KINDS, FailureClass, Goal, Mode, Stage, UsageError

LONGEST = 100 * 365 * 86400.0
"""Seconds; a longer duration is a slip."""
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


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ReadySpec(Strict):
    timeout: Seconds = 1200.0
    path: str | None = None
    log: str | None = None


class ProbeSpec(Strict):
    """What is not given is as the kind has it."""

    kind: Literal[tuple(KINDS)] = "completion"  # type: ignore[valid-type]
    prompt: str = ""
    prompt_length: int = Field(default=0, ge=1, le=10_000_000)
    max_tokens: int = Field(default=1, ge=1)
    repeat: int = Field(default=1, ge=1, le=1000)
    concurrency: int = Field(default=1, ge=1, le=4096)
    requests: int = Field(default=1, ge=1, le=1_000_000)
    streaming: bool = False
    shared_prefix: bool = False
    logprobs: bool = False
    method: str = "GET"
    path: str = "/"
    body: str | None = None
    reference: str = ""
    tolerance: float = Field(default=0.0, ge=0.0, le=1000.0)
    optional: bool = False
    timeout: Seconds = 120.0


class TargetSpec(Strict):
    class_: FailureClass = Field(alias="class")
    stage: Stage | None = None


class FactorSpec(Strict):
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


class CostSpec(Strict):
    trial: Seconds | None = None
    levels: dict[str, dict[str, Seconds]] = {}
    measured: bool = True


class BudgetSpec(Strict):
    trials: int | None = Field(default=None, ge=1)
    time: Seconds | None = None
    disk: Annotated[int, BeforeValidator(_size)] | None = None


class OthersSpec(Strict):
    wait: Seconds = 0.0
    share: bool = False

    @model_validator(mode="before")
    @classmethod
    def _in_a_word(cls, value: object) -> object:
        """`refuse` and `share` as they are usually written; anything else is a mapping."""
        if isinstance(value, str) and value not in ("refuse", "share"):
            raise ValueError(f"{value!r} is not known: write refuse, share or {{wait: 30m}}")
        return {"share": value == "share"} if isinstance(value, str) else value


class CaseSpec(Strict):
    name: str
    engine: str = "command"
    command: Command
    env: dict[str, str] = {}
    cwd: str | None = None
    host: Literal["local"] | dict[str, str] = "local"
    mode: Mode = Mode.SERVE
    ready: ReadySpec = ReadySpec()
    stages: dict[Stage, str] = {}
    probes: list[ProbeSpec] = []
    target: TargetSpec | None = None
    factors: dict[str, FactorSpec] = {}
    good: list[dict[str, str]] = []
    never: list[dict[str, str]] = []
    keep: dict[str, str] = {}
    cost: CostSpec = CostSpec()
    workers: int = Field(default=1, ge=1)
    budget: BudgetSpec = BudgetSpec()
    goal: Goal = Goal.CAUSE
    timeout: Seconds | None = None
    others: OthersSpec = OthersSpec()


def complaint(tree: Tree, problem: ValidationError) -> UsageError:
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
    bound = next((first["ctx"][name] for name in ("ge", "gt", "le", "lt") if name in first.get("ctx", {})), None)
    if bound is not None:
        small = kind.startswith("greater_than")
        what, remedy = ("small", f"at least {bound:g}") if small else ("large", f"at most {bound:g}")
        return tree.error(path, f"{where} is too {what}: {first['input']}", f"Write {remedy}.")
    for begin, what, remedy in _WORDS:
        if kind.startswith(begin):
            return tree.error(path, f"{where} {what}", remedy)
    return tree.error(path, f"{where}: {message}", "Mend the value.")


_WORDS = (
    ("dict_", "is not a mapping", "Write it as `key: value` lines below it, or as {key: value}."),
    ("model_", "is not a mapping", "Write it as `key: value` lines below it, or as {key: value}."),
    ("list_", "is not a list", "Write it as [a, b]."),
    ("too_short", "is empty", "Give it at least one entry."),
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
        "ready": ReadySpec,
        "target": TargetSpec,
        "cost": CostSpec,
        "budget": BudgetSpec,
        "factors": FactorSpec,
        "probes": ProbeSpec,
        "others": OthersSpec,
    }
    model = place.get(str(path[0]), CaseSpec) if len(path) > 1 else CaseSpec
    return [field.alias or name for name, field in model.model_fields.items()]
