"""What a log says without any experiment: `ruleout.diagnosis/1`, as types.

Every fact carries its address (`source`, `line` from 1), so that whatever is claimed can be looked up. A log may say
little: what it does not say is None, an empty string or an empty tuple, never a guess. Requested and resolved settings
are two things, because engines choose values themselves; a failure that no line reports (a wrong answer that was
described, a log that just stops) is `inferred` from what was said around it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from ruleout.model.naming import DOCUMENT_NAMES
from ruleout.model.outcome import Evidence
from ruleout.model.vocabulary import Component, FailureClass, Stage

SURVIVED = "the run survived it and went on"
"""Why a line that tells of an exception stands among the warnings."""


class LogOutcome(StrEnum):
    """How a run ended, as far as its log tells."""

    CRASH = "crash"
    HANG = "hang"
    KILLED = "killed"
    WRONG_OUTPUT = "wrong_output"
    HEALTHY = "healthy"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


class ChosenBy(StrEnum):
    """Who chose a setting's effective value."""

    USER = "user"
    ENGINE = "engine"
    DEFAULT = "default"


class StepKind(StrEnum):
    """What a proposed next step is."""

    TRIAL = "trial"
    READ = "read"
    AUDIT = "audit"
    TRACE = "trace"


@dataclass(frozen=True, slots=True)
class LogSource:
    """A file or stream that was read.

    Attributes:
        truncated: its last line has no end, or a compressed file breaks off.
    """

    name: str
    lines: int
    bytes: int
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class EngineId:
    """The serving engine: `sglang`, `vllm`, `transformers`, `llama.cpp`, `tensorrt-llm`, `lmdeploy`, or empty."""

    name: str = ""
    version: str | None = None


@dataclass(frozen=True, slots=True)
class StageSpan:
    """A stage of the run: where it began, and how many seconds it took where the log's times or words tell.

    The last before a failure took until then.
    """

    name: Stage | str
    line: int
    seconds: float | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of the run, by its flag's name in snake_case.

    Attributes:
        requested: what the user asked for; None when they did not, or the log does not say.
        resolved: what was in effect; None when the log does not say.
        line: where the resolved value is said, else where the requested one is.
    """

    name: str
    requested: str | None
    resolved: str | None
    chosen_by: ChosenBy | None
    line: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class Environment:
    """What ran on what. `sm` is the compute capability without a dot (`120`), or AMD's `gfx…`."""

    gpu: str | None = None
    sm: str | None = None
    gpus: int | None = None
    cuda: str | None = None
    driver: str | None = None
    rocm: str | None = None
    python: str | None = None
    torch: str | None = None
    transformers: str | None = None
    triton: str | None = None
    flashinfer: str | None = None
    nccl: str | None = None
    model: str | None = None
    model_type: str | None = None
    architecture: str | None = None
    quantization: str | None = None
    dtype: str | None = None
    tp: int | None = None
    dp: int | None = None
    pp: int | None = None
    ep: int | None = None


@dataclass(frozen=True, slots=True)
class Choices:
    """The levels of a setting, as the log itself lists them."""

    name: str
    levels: tuple[str, ...]
    line: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class LogWarning:
    """A line that warns. `weight` is how much it says about the failure, None as long as nobody has judged it.

    Attributes:
        remedy: what is to be known of the remedy that it offers; empty when there is nothing to say.
    """

    line: int
    text: str
    weight: float | None = None
    why: str = ""
    source: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class DiagnosedFailure:
    """The first failure by time and rank.

    Attributes:
        message: without the logger's prefix; the device's own assertion where there is one.
        line, text: of the deciding line.
        rank: its number; None when the log does not say.
        process: what the log calls the process or rank that printed it (`TP0`, `EngineCore pid=12`).
        asynchronous: reported later than it happened, so the stack is not the place.
        exception: its type as printed; empty when there was none.
        frames: `file.py:function`, the innermost last.
        inferred: no line reports it; the class was concluded from what the log or its reader says.
        consequences: what followed from it, each kind once.
    """

    __pydantic_config__: ClassVar = DOCUMENT_NAMES
    class_: FailureClass
    signature: str
    message: str
    line: int
    rank: int | None = None
    asynchronous: bool = False
    consequences: tuple[Evidence, ...] = ()
    exception: str = ""
    text: str = ""
    process: str = ""
    frames: tuple[str, ...] = ()
    source: str = ""
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class Suspect:
    """What may be the cause. `rule` is empty for generic inference.

    Attributes:
        fix: flags and values under `set`, words under `note`, what it costs under `cost`.
        test: what observation would refute it.
        behind: what is likely to show next once it is mended.
    """

    component: Component
    claim: str
    probability: float
    rule: str = ""
    evidence: tuple[Evidence, ...] = ()
    fix: dict[str, dict[str, str] | str] = field(default_factory=dict)
    test: str = ""
    behind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProposedStep:
    """What to do next, the likeliest to settle the cause per minute first.

    Attributes:
        why: what its answer would tell.
        change: levels by flag or variable; an empty one is a bare flag, `absent` takes it away.
        command: the whole command to copy; empty where the log does not show what the run was started with.
        minutes: expected, by the log's own times; None where it tells none.
        cost: what the change costs, if it is kept.
    """

    kind: StepKind
    why: str
    change: dict[str, str] = field(default_factory=dict)
    command: str = ""
    minutes: float | None = None
    cost: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that was read from the logs of one run, in the order of the schema's keys.

    Attributes:
        stage: where the first failure happened; for a healthy log, the furthest stage reached.
        failure: None when nothing failed.
        unexplained: the probability that none of the suspects is the cause.
        never_varied: with several logs, settings shared by all failing runs and never changed.
        command: the command line that started the run, where the log shows it.
        reason: why the outcome was judged so, in words.
        choices: levels of settings that the log lists.
    """

    engine: EngineId
    outcome: LogOutcome
    stage: Stage
    stages: tuple[StageSpan, ...] = ()
    failure: DiagnosedFailure | None = None
    environment: Environment = field(default_factory=Environment)
    settings: tuple[Setting, ...] = ()
    warnings: tuple[LogWarning, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    unexplained: float = 1.0
    never_varied: tuple[str, ...] = ()
    next: tuple[ProposedStep, ...] = ()
    command: str = ""
    reason: str = ""
    sources: tuple[LogSource, ...] = ()
    choices: tuple[Choices, ...] = ()
