"""What a trace concludes: `ruleout.trace/1`, as types.

A bad number is *born* where finite inputs (and finite parameters) first gave an output that is not finite. It may also
have been *brought along*: then a weight held it before anything was computed. That nothing was found means little
without what was seen, so the coverage is part of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from ruleout.model.naming import DOCUMENT_NAMES
from ruleout.model.trace import BadWeight, Phase, SourceFrame, TensorStats
from ruleout.model.vocabulary import Component, FailureClass, Stage


class Found(StrEnum):
    """What a trace found: the operation or at least the module, a weight, the engine's own failure, or nothing."""

    OPERATION = "operation"
    MODULE = "module"
    WEIGHTS = "weights"
    FAILURE = "failure"
    NOTHING = "nothing"


class Presence(StrEnum):
    """Whether the failure is there after a change."""

    GONE = "gone"
    STAYS = "stays"
    UNTESTED = "untested"


@dataclass(frozen=True, slots=True)
class Birth:
    """Where the first bad number came from.

    Attributes:
        module: its path in the model; class_: of what class it is.
        operation: of torch, as in `aten.div.Tensor`; empty where only the module is known.
        how: in words, what makes it a birth where finite inputs alone do not.
        step: 0 in the prefill, then the number of the decode step since; None where no phase is known.
        rank: None in a process alone.
        non_finite: `nan`, `inf` or `both`.
        parameter: of the module, not finite before anything was computed; empty: all of them were finite.
        frames: of the engine and the model, the innermost last.
        inputs, outputs: of the operation where it is known, else of the module.
        exact: it is this module; otherwise it may be code of its parent just before it.
        outside: it came with the inputs of the whole model: from the rank that computes the layers before.
        collective: it came from another rank, by this operation; empty: it was computed here.
        tensors, replay: files, relative to the trace's folder; empty where none were kept.
        launch: in which launch, from 1.
    """

    __pydantic_config__: ClassVar = DOCUMENT_NAMES
    module: str
    class_: str
    operation: str
    phase: Phase
    step: int | None
    rank: int | None
    non_finite: str
    how: str = ""
    parameter: str = ""
    frames: tuple[SourceFrame, ...] = ()
    inputs: tuple[TensorStats, ...] = ()
    outputs: tuple[TensorStats, ...] = ()
    exact: bool = True
    outside: bool = False
    collective: str = ""
    tensors: str = ""
    replay: str = ""
    pid: int = 0
    launch: int = 1

    @property
    def explained(self) -> bool:
        """Nothing is left to ask: the operation is known, or what the module had before it was called."""
        return bool(self.operation or self.parameter or self.collective) or self.outside


@dataclass(frozen=True, slots=True)
class EngineError:
    """The command's own failure.

    Attributes:
        line: of the log, from 1; 0 where no line tells of it.
        frame: where it was raised, `file.py:line:function`; frames: those around it, the innermost last.
        client: what a client saw.
        log: relative to the trace's folder.
    """

    __pydantic_config__: ClassVar = DOCUMENT_NAMES
    class_: FailureClass
    stage: Stage
    message: str
    exception: str = ""
    line: int = 0
    frame: str = ""
    frames: tuple[str, ...] = ()
    client: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Handshake:
    """A process that had the tracer and torch. `rank` is None where it is none of several."""

    pid: int
    torch: str
    argv: tuple[str, ...] = ()
    rank: int | None = None
    cuda: str | None = None


@dataclass(frozen=True, slots=True)
class TraceCoverage:
    """What was seen, over all processes of the launch that is concluded from.

    Attributes:
        modules: how many modules were called; calls: how often; processes: in how many processes.
        prefill, decode: calls of the model.
        armed: calls of the model in which every operation was looked at.
        skipped: calls that were not looked at, by the reason.
        hidden: what graphs and compiled code kept from the tracer, in words.
        errors: the tracer's own trouble.
    """

    modules: int = 0
    calls: int = 0
    processes: int = 0
    prefill: int = 0
    decode: int = 0
    armed: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect:
    """A change that was made in order to see, and what became of the failure with it."""

    change: str
    failure: Presence


@dataclass(frozen=True, slots=True)
class TraceLaunch:
    """A launch of the command: how, and where its log and records are, relative to the trace's folder."""

    command: tuple[str, ...]
    log: str
    records: str
    minutes: float = 0.0


@dataclass(frozen=True, slots=True)
class Trace:
    """The answer of a trace.

    Attributes:
        component: the part of the stack that it speaks for; None where for none. It is no verdict.
        told: the answer in a sentence.
    """

    found: Found
    born: Birth | None = None
    weights: tuple[BadWeight, ...] = ()
    failure: EngineError | None = None
    handshakes: tuple[Handshake, ...] = ()
    coverage: TraceCoverage = field(default_factory=TraceCoverage)
    effects: tuple[Effect, ...] = ()
    launches: tuple[TraceLaunch, ...] = ()
    component: Component | None = None
    told: str = ""
