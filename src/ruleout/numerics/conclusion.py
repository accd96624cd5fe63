"""What the records of all processes come to: the first birth, and whether a weight brought it along.

The clock is the machine's, so births of several processes have an order, and the first is the one; what follows from it
is no birth of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ruleout.model.trace import BadWeight, ModuleBirth, OperationBirth, TracedProcess
from ruleout.model.traced import Birth, Found, Handshake, TraceCoverage
from ruleout.numerics.records import processes
from ruleout.numerics.weights import accounts, below, merged


@dataclass(frozen=True, slots=True)
class Concluded:
    """What one launch came to.

    Attributes:
        operation: that of the birth, as it was recorded.
        brought: the first of `weights` explains the birth.
        pythons: processes that carried the tracer without torch coming.
        called: a module of a model was called in some process.
    """

    born: Birth | None
    operation: OperationBirth | None
    weights: tuple[BadWeight, ...]
    brought: bool
    handshakes: tuple[Handshake, ...]
    coverage: TraceCoverage
    pythons: int
    called: bool

    def found(self, failed: bool, of_numbers: bool) -> Found:
        """What was found in a run that failed, or did not.

        Where no birth was seen, a weight that is not a number explains a failure of numbers, and nothing else: there
        are weights that nobody reads.
        """
        loaded = any(weight.stats.nan and not weight.computed for weight in self.weights)
        if self.brought or (self.born is None and loaded and of_numbers):
            return Found.WEIGHTS
        if self.born is not None:
            return Found.OPERATION if self.born.operation else Found.MODULE
        return Found.FAILURE if failed else Found.NOTHING


def concluded(records: Path, launch: int = 1) -> Concluded:
    """The conclusion from a folder of records."""
    return conclude(processes(records), launch)


def conclude(told: Sequence[TracedProcess], launch: int = 1) -> Concluded:
    """The conclusion from what each process told."""
    weights = merged([weight for process in told for weight in process.weights])
    born, operation = _first(told, launch)
    compiled = {path for process in told for path in process.coverage.compiled}
    if born is not None and not born.operation and any(below(path, born.module) for path in compiled):
        born = replace(born, hidden=True)
    own = [weight for weight in weights if born is not None and accounts(weight, born)]
    if born is not None and own and not (born.parameter or born.hidden):
        born = replace(born, parameter=own[0].parameter or own[0].tensor.rpartition(".")[2])
    brought = any(not weight.computed for weight in own)
    return Concluded(
        born,
        operation,
        tuple(sorted(weights, key=lambda one: one not in own)),
        brought,
        tuple(Handshake(p.pid, p.torch or "", p.argv, p.rank, p.cuda) for p in told if p.hooks),
        _coverage(told),
        sum(not p.hooks for p in told),
        any(p.models or p.coverage.modules for p in told),
    )


# -- the birth -------------------------------------------------------------------------------------------------


def _first(told: Sequence[TracedProcess], launch: int) -> tuple[Birth | None, OperationBirth | None]:
    """The first birth of all processes; with the operation, where the same process saw one make it."""
    births = sorted(((p, b) for p in told for b in p.births), key=lambda both: _when(*both))
    seen = sorted(((p, o) for p in told for o in p.operations), key=lambda both: _when(*both))
    if not births:
        return (_of_operation(*seen[0], launch), seen[0][1]) if seen else (None, None)
    process, birth = births[0]
    made = [o for p, o in seen if p is process and _belongs(o, birth)]
    made = made or [o for _, o in seen if _belongs(o, birth)]
    operation = made[0] if made else None
    return _of_birth(process, birth, operation, launch), operation


def _when(process: TracedProcess, one: ModuleBirth | OperationBirth) -> tuple[bool, float]:
    """What came from another rank is later than its origin there, whatever the clock says of when it was noticed.

    Of a birth that is often known only by its operation, seen one request later.
    """
    foreign = bool(one.collective)
    if isinstance(one, ModuleBirth):
        made = next((o for o in process.operations if _belongs(o, one)), None)
        foreign = foreign or one.outside or (made is not None and made.collective)
    return foreign, one.moment.t


def _belongs(operation: OperationBirth, birth: ModuleBirth) -> bool:
    """Whether the operation made what was born there: in that module or below it, or in its parent's own code."""
    here, there = operation.module.split("."), birth.module.split(".")
    inside = here[: len(there)] == there or birth.module == ""
    return inside or (not birth.exact and here == there[:-1]) or operation.module == birth.module


def _of_birth(process: TracedProcess, birth: ModuleBirth, made: OperationBirth | None, launch: int) -> Birth:
    parameter = birth.parameters[0].place if birth.parameters else ""
    if made is not None:
        born = _of_operation(process, made, launch)
        same = made.module == birth.module
        return replace(
            born,
            phase=birth.moment.phase,
            step=birth.moment.step,
            rank=birth.moment.rank,
            parameter=parameter if same else "",
            collective=born.collective or birth.collective,
        )
    return Birth(
        birth.module,
        birth.class_,
        "",
        birth.moment.phase,
        birth.moment.step,
        birth.moment.rank,
        birth.non_finite,
        parameter=parameter,
        inputs=birth.inputs,
        outputs=birth.outputs,
        exact=birth.exact,
        outside=birth.outside,
        collective=birth.collective,
        pid=process.pid,
        launch=launch,
    )


def _of_operation(process: TracedProcess, made: OperationBirth, launch: int) -> Birth:
    return Birth(
        made.module,
        made.class_,
        made.op,
        made.moment.phase,
        made.moment.step,
        made.moment.rank,
        made.non_finite,
        made.how,
        frames=made.frames,
        inputs=made.args,
        outputs=made.out,
        collective=made.op if made.collective else "",
        tensors=made.tensors or "",
        pid=process.pid,
        launch=launch,
    )


# -- what was seen ---------------------------------------------------------------------------------------------


def _coverage(told: Sequence[TracedProcess]) -> TraceCoverage:
    modules: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for process in told:
        modules.update(process.coverage.modules)
        steps.update(process.coverage.steps)
        skipped.update(process.coverage.skipped)
    return TraceCoverage(
        len(modules),
        sum(modules.values()),
        sum(bool(p.coverage.modules) for p in told),
        steps["prefill"],
        steps["decode"],
        sum(p.coverage.armed for p in told),
        dict(skipped),
        tuple(_hidden(told)),
        tuple(error for process in told for error in process.errors),
    )


def _hidden(told: Sequence[TracedProcess]) -> Iterator[str]:
    compiled = sorted({path for process in told for path in process.coverage.compiled})
    if compiled:
        named = ", ".join(path or "the whole model" for path in compiled[:3])
        yield f"compiled code hides what is inside of {named}{' and others' if compiled[3:] else ''}"
    graphs = sum(process.coverage.graphs for process in told)
    if graphs:
        yield f"{graphs} {'call' if graphs == 1 else 'calls'} only captured or replayed a graph"
