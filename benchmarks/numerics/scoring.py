"""What an instrument says of a case, against the truth.

Right module: the path is the truth's. Right operation: also the module is right, and the operation is among the
truth's; where a parameter was bad from the start, that parameter is named. A healthy case is right when nothing is
reported. Every instrument is asked for one answer, the first it gives by the machine's clock, whatever the rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruleout.numerics.conclusion import conclude
from ruleout.numerics.records import process

Answer = Mapping[str, Any]
"""module, operation, parameter, phase, step, rank, at; see `inside/looking.py`."""


@dataclass(frozen=True)
class Score:
    """One case with one instrument. `phase`, `rank`: right, where the instrument says one; None where it does not."""

    answered: bool
    module: bool = False
    operation: bool = False
    moment: bool | None = None
    rank: bool | None = None
    said: str = "nothing"


def by_ruleout(ranks: Sequence[Mapping[str, Any]], records: Path) -> Answer | None:
    """The conclusion that a user is shown, from the records of the case's processes alone."""
    files = [file for rank in ranks if "pid" in rank for file in sorted(records.glob(f"{rank['pid']}-*.jsonl"))]
    concluded = conclude([process(file) for file in files])
    born = concluded.born
    if born is None:
        brought = concluded.weights[0] if concluded.brought else None
        if brought is None:
            return None
        return {"module": brought.module, "operation": "", "parameter": brought.parameter or brought.tensor}
    return {
        "module": born.module,
        "operation": operation(born.operation),
        "parameter": born.parameter,
        "phase": born.phase.value,
        "step": born.step,
        "rank": born.rank or 0,
    }


def by_peer(ranks: Sequence[Mapping[str, Any]]) -> Answer | None:
    """The first answer of all ranks."""
    given: list[Answer] = [rank["answer"] for rank in ranks if rank.get("answer")]
    return min(given, key=lambda answer: float(answer["at"])) if given else None


def operation(name: str) -> str:
    """`aten.div_.Tensor` as `div`: without namespace, overload and the underscore of in-place variants."""
    parts = name.split(".")
    bare = parts[1] if len(parts) > 1 else name
    return bare.rstrip("_") or bare


def score(truth: Mapping[str, Any] | None, answer: Answer | None) -> Score:
    """Against the truth of a fault, or against silence where there is none."""
    if answer is None:
        return Score(answered=False, module=truth is None, operation=truth is None)
    if truth is None:
        return Score(answered=True, said=said(answer))
    module = answer["module"] == truth["module"]
    if truth["parameter"] is not None:
        named = answer.get("parameter") == truth["parameter"]
    else:
        named = not answer.get("parameter") and among(answer["operation"], truth["operations"])
    return Score(
        True,
        module,
        module and named,
        (answer["phase"], answer["step"]) == (truth["phase"], truth["step"]) if answer.get("phase") else None,
        answer["rank"] == truth["rank"] if answer.get("rank") is not None else None,
        said(answer),
    )


def among(name: str, allowed: Sequence[str]) -> bool:
    """Whether an operation is one of those; `*` ends a prefix."""
    return any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in allowed)


def said(answer: Answer) -> str:
    """The answer in a line."""
    what = f"parameter {answer['parameter']}" if answer.get("parameter") else answer["operation"]
    when = f" {answer['phase']} {answer['step']}" if answer.get("phase") else ""
    return f"{answer['module']} {what}{when}".strip() + (f" rank {answer['rank']}" if answer.get("rank") else "")
