"""What the tracer wrote down inside an engine's processes, as types: where numbers stopped being finite.

A number goes bad in three steps that must not be mixed up. It is **born** in one module, from finite inputs; one
**operation** of that module made it; or nothing made it, because a **weight** brought it along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Phase(StrEnum):
    """What a call of the model was for: many tokens of a prompt, or the next token of each request."""

    PREFILL = "prefill"
    DECODE = "decode"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TensorStats:
    """The numbers of one tensor.

    Attributes:
        place: what it is to its module or operation: `in0`, `in.hidden_states`, `out1`, `weight`, `arg0`, …
        dtype: without the prefix `torch.`.
        nan, inf: how many elements are so.
        min, max, mean, rms: of the finite elements; None where there are none, or where they are no numbers.
        first: the index of the first element that is not finite; empty where all are.
        hash: of shape, dtype and content, 16 hexadecimal digits; the same on every device. Empty where not taken.
    """

    place: str
    shape: tuple[int, ...]
    dtype: str
    nan: int = 0
    inf: int = 0
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    rms: float | None = None
    first: tuple[int, ...] = ()
    hash: str = ""

    @property
    def count(self) -> int:
        """How many elements it has."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def finite(self) -> float:
        """The share of finite elements, 0 to 1; 1 for an empty tensor."""
        return 1 - (self.nan + self.inf) / self.count if self.count else 1.0


@dataclass(frozen=True, slots=True)
class SourceFrame:
    """A place in the engine's or the model's code."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Moment:
    """Which call of the model it was.

    Attributes:
        phase: of that call.
        step: 0 in the prefill, then the number of the decode step since; None where no phase is known.
        call: the number of the model's call in this process, from 1.
        rank: in the group of the model's processes; None in a process alone.
        t: seconds on the machine's monotonic clock, the same in all of its processes.
    """

    phase: Phase
    step: int | None
    call: int
    rank: int | None
    t: float


@dataclass(frozen=True, slots=True)
class ModuleBirth:
    """The innermost module whose output was not finite although its inputs were.

    Attributes:
        module: its path, as in the checkpoint's names of weights.
        class_: the name of its type.
        non_finite: `nan`, `inf` or `both`.
        inputs, outputs: their numbers; empty where only sums were kept (on accelerators, where looking costs time).
        parameters: those of its own that are not finite: then the weights brought it along.
        exact: inputs were looked at, so it is this module; otherwise it may be code of its parent just before it.
        outside: it came with the inputs of the whole model: from the rank that computes the layers before.
        collective: it came from another rank, with the collective operation that this names; empty otherwise.
    """

    module: str
    class_: str
    non_finite: str
    moment: Moment
    inputs: tuple[TensorStats, ...] = ()
    outputs: tuple[TensorStats, ...] = ()
    parameters: tuple[TensorStats, ...] = ()
    exact: bool = True
    outside: bool = False
    collective: str = ""


@dataclass(frozen=True, slots=True)
class OperationBirth:
    """The operation that made it.

    Attributes:
        module: the innermost module that was running.
        op: as torch names it: `aten.div.Tensor`; `unseen` for a kernel that torch does not dispatch.
        non_finite: `nan`, `inf` or `both`.
        args: the tensors that it was called with, before it ran.
        out: what came of it.
        frames: the calling code, the innermost last; torch's own frames are left out.
        how: in words, what makes it a birth where finite inputs alone do not.
        tensors: path of the safetensors file with its arguments; None where they were too large or could not be kept.
        collective: it came from another rank, with this operation.
    """

    module: str
    class_: str
    op: str
    non_finite: str
    moment: Moment
    args: tuple[TensorStats, ...] = ()
    out: tuple[TensorStats, ...] = ()
    frames: tuple[SourceFrame, ...] = ()
    how: str = ""
    tensors: str | None = None
    collective: bool = False


@dataclass(frozen=True, slots=True)
class BadWeight:
    """A tensor that was not finite before anything was computed.

    Attributes:
        file, tensor: where it was read from; empty where it was found in the model.
        module, parameter: where it was found in the model; empty where it was seen while it was read.
        buffer: it is not a parameter; `computed`: and no checkpoint has it, so that the code made it.
    """

    stats: TensorStats
    file: str = ""
    tensor: str = ""
    module: str = ""
    parameter: str = ""
    buffer: bool = False
    computed: bool = False


@dataclass(frozen=True, slots=True)
class TracedModel:
    """A module that is called from outside of any other: `root` is its path, empty for an outermost one."""

    root: str
    class_: str
    modules: int
    parameters: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was looked at, and what was not.

    Attributes:
        modules: calls that were looked at, by module.
        steps: calls of the model, by phase.
        compiled: modules of which only the outside was seen.
        graphs: calls that only replayed or captured a graph.
        skipped: how often nothing was looked at, by reason.
        armed: calls of the model in which every operation was looked at.
    """

    modules: Mapping[str, int] = field(default_factory=dict)
    steps: Mapping[str, int] = field(default_factory=dict)
    compiled: tuple[str, ...] = ()
    graphs: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    armed: int = 0


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """One call of one module, in record mode."""

    module: str
    moment: Moment
    tensors: tuple[TensorStats, ...]


@dataclass(frozen=True, slots=True)
class TracedProcess:
    """All that one process wrote down.

    Attributes:
        source: path of its file.
        argv: of the interpreter; `wall`: seconds since 1970 when it started.
        hooks: torch was imported there and its modules are watched: the handshake.
        torch, cuda: versions; None without torch, without CUDA.
        rank, world: in torch's group of processes; None without one. `backend`: of that group, empty without one.
        armed: modules for which every operation was looked at, in the order in which that was decided.
        calls: how many records of `ModuleCall` there are; `records.calls` reads them one by one.
        ended: it wrote its last record when it ended; otherwise it was killed, or runs.
        torn: lines that could not be read: the last one of a process that was killed.
    """

    source: str
    pid: int
    argv: tuple[str, ...] = ()
    python: str = ""
    ppid: int = 0
    wall: float = 0.0
    hooks: bool = False
    torch: str | None = None
    cuda: str | None = None
    rank: int | None = None
    world: int | None = None
    backend: str = ""
    models: tuple[TracedModel, ...] = ()
    weights: tuple[BadWeight, ...] = ()
    births: tuple[ModuleBirth, ...] = ()
    operations: tuple[OperationBirth, ...] = ()
    armed: tuple[str, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    calls: int = 0
    errors: tuple[str, ...] = ()
    ended: bool = False
    torn: int = 0
