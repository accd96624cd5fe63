"""A trace as a step of an investigation: one launch that is watched from inside, and no evidence about any factor.

It is worth more than a trial where the failure is one of numbers: a trial moves one factor, while the place at which a
number went bad speaks for a part of the stack whichever factors there are. It moves odds; only trials confirm.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ruleout.engines import recognise
from ruleout.investigation.evidence import FOLDER
from ruleout.investigation.folder import write_whole
from ruleout.investigation.tracing.eager import eager
from ruleout.investigation.tracing.error import of_numbers
from ruleout.investigation.tracing.reach import why_unheard
from ruleout.investigation.tracing.replay import replay
from ruleout.model import (
    PRESENT,
    Case,
    Component,
    Configuration,
    Evidence,
    Failure,
    Goal,
    Installation,
    Observation,
    Outcome,
    OutcomeKind,
    Trial,
    arguments,
)
from ruleout.model.traced import Found, Trace
from ruleout.numerics.conclusion import concluded
from ruleout.numerics.speaking import speaks_for
from ruleout.numerics.starting import records_folder
from ruleout.numerics.telling import lines, told

TRACED = "traced, since the failure is one of numbers: where they go bad is worth more than another setting's trial"
MODE = "RULEOUT_TRACE_MODE"
FILE = f"{FOLDER}/trace.txt"
_ENGINES = frozenset({"vllm", "sglang", "transformers"})
_GRAPHS = 0.3
"""How likely graphs or compiled code are the cause where the failure is gone without them, by this alone."""


def trace_step(
    case: Case, target: Failure | None, trials: Sequence[Trial], installed: Sequence[Installation]
) -> Configuration | None:
    """What is set for a trace of the baseline; None: it would tell nothing, cannot be made, or was made."""
    if target is None or case.goal is not Goal.CAUSE or case.engine not in _ENGINES or not of_numbers(target):
        return None
    if MODE in case.env or recognise(case.command).container or any(is_trace(trial.instruments) for trial in trials):
        return None
    if not any("torch" in one.facts for one in installed):
        return None
    return Configuration({MODE: "watch", **eager(case).levels})


def is_trace(instruments: Configuration) -> bool:
    """Whether a trial with these instruments is a trace."""
    return MODE in instruments


def traced(case: Case, instruments: Configuration, outcome: Outcome, spool: Path) -> Observation:
    """What a trace of the baseline says of the target; its facts are written into the trial's folder.

    Raises MissingError when there is no room for them.
    """
    if outcome.kind is OutcomeKind.UNRESOLVED:
        return Observation(f"not traced: {outcome.reason}")
    found = concluded(records_folder(spool))
    change = {name: "" if level == PRESENT else level for name, level in instruments.items() if name != MODE}
    failure = outcome.failure
    if outcome.kind is OutcomeKind.OTHER and found.born is None and failure is not None and change:
        return Observation(f"observer effect: with {arguments.told(change)} it fails otherwise: {failure.message}")
    if not found.called:
        return Observation(f"not traced: {why_unheard(case, found.pythons)[0]}")
    kind = found.found(failure is not None, failure is not None and of_numbers(failure))
    answer = Trace(kind, found.born, found.weights, handshakes=found.handshakes, coverage=found.coverage)
    script = replay(found.operation, spool / FOLDER)
    alone = [f"runs the operation alone: {script.name}"] if script is not None else []
    write_whole(spool / FILE, "".join(f"{line}\n" for line in (*lines(answer), *alone)))
    component, weight = speaks_for(kind, found.born)
    text = told(answer)
    if kind is Found.NOTHING and change:
        text = f"observer effect: with {arguments.told(change)} the failure did not show, and all was finite"
        component, weight = Component.CUDA_GRAPH, _GRAPHS
    return Observation(text, component, weight, (Evidence(FILE, 1, text),))
