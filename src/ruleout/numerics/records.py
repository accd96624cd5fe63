"""Reads what the tracer wrote in each process. A process may have died at any moment, so a torn line is no error.

Records of single module calls can be millions: they are counted here, and read one by one by whoever wants them. The
others fit in memory always, because the tracer bounds how many of them there are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruleout.model.trace import (
    BadWeight,
    Coverage,
    ModuleBirth,
    ModuleCall,
    Moment,
    OperationBirth,
    Phase,
    SourceFrame,
    TensorStats,
    TracedModel,
    TracedProcess,
)

Record = Mapping[str, Any]

_CALL = b'{"kind": "call"'
"""How the line of a module's call begins: the tracer writes `kind` first."""


def processes(folder: Path) -> tuple[TracedProcess, ...]:
    """Every process that wrote into the folder, in the order in which they started."""
    found = [process(path) for path in sorted(folder.glob("*.jsonl"))]
    return tuple(sorted(found, key=lambda each: (each.wall, each.pid)))


def process(path: Path) -> TracedProcess:
    """All that one process wrote down, without its records of single calls."""
    told, single, torn = TracedProcess(str(path), _pid(path)), 0, 0
    with path.open("rb") as lines:
        for line in lines:
            if line.startswith(_CALL) and line.endswith(b"}\n"):
                single += 1
            elif (record := _record(line)) is None:
                torn += 1
            else:
                told = _told(told, record)
    return replace(told, calls=single, torn=torn)


def calls(path: Path) -> Iterator[ModuleCall]:
    """The records of single calls of one process, in the order in which they were written."""
    with path.open("rb") as lines:
        for line in lines:
            if line.startswith(_CALL) and (record := _record(line)) is not None:
                yield ModuleCall(record["module"], _moment(record), _stats(record.get("tensors")))


def _pid(path: Path) -> int:
    head = path.stem.split("-")[0]
    return int(head) if head.isdecimal() else 0


def _record(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("kind"), str) else None


def _told(told: TracedProcess, record: Record) -> TracedProcess:
    """What the process told, with one more record. Kinds that are not known are a newer tracer's, and passed over."""
    match record["kind"]:
        case "hello":
            return replace(
                told,
                pid=record["pid"],
                argv=tuple(record.get("argv", ())),
                python=record.get("python", ""),
                ppid=record.get("ppid", 0),
                wall=record.get("wall", 0.0),
            )
        case "hooks":
            return replace(told, hooks=True, torch=record.get("torch"), cuda=record.get("cuda"))
        case "rank":
            return replace(
                told, rank=record.get("rank"), world=record.get("world"), backend=record.get("backend") or ""
            )
        case "model":
            model = TracedModel(record["root"], record["class"], record["modules"], record["parameters"])
            return replace(told, models=(*told.models, model))
        case "checkpoint" | "weight":
            return replace(told, weights=(*told.weights, _weight(record)))
        case "born":
            return replace(told, births=(*told.births, _birth(record)))
        case "armed":
            return replace(told, armed=(*told.armed, record["module"]))
        case "operation":
            return replace(told, operations=(*told.operations, _operation(record)))
        case "coverage":
            return replace(told, coverage=_coverage(record))
        case "error":
            return replace(told, errors=(*told.errors, record["what"]))
        case "end":
            return replace(told, ended=True)
        case _:
            return told


def _moment(record: Record) -> Moment:
    return Moment(
        Phase(record.get("phase", "unknown")),
        record.get("step"),
        record.get("call", 0),
        record.get("rank"),
        record.get("t", 0.0),
    )


def _stats(entries: list[Record] | None) -> tuple[TensorStats, ...]:
    return tuple(
        TensorStats(
            entry.get("place", ""),
            tuple(entry["shape"]),
            entry["dtype"],
            entry.get("nan", 0),
            entry.get("inf", 0),
            entry.get("min"),
            entry.get("max"),
            entry.get("mean"),
            entry.get("rms"),
            tuple(entry.get("first") or ()),
            entry.get("hash", ""),
        )
        for entry in entries or ()
    )


def _birth(record: Record) -> ModuleBirth:
    return ModuleBirth(
        record["module"],
        record["class"],
        record["non_finite"],
        _moment(record),
        _stats(record.get("inputs")),
        _stats(record.get("outputs")),
        _stats(record.get("parameters")),
        record.get("exact", True),
        record.get("outside", False),
        record.get("collective") or "",
    )


def _operation(record: Record) -> OperationBirth:
    return OperationBirth(
        record["module"],
        record["class"],
        record["op"],
        record["non_finite"],
        _moment(record),
        _stats(record.get("args")),
        _stats(record.get("out")),
        tuple(SourceFrame(each["file"], each["line"], each["function"]) for each in record.get("frames", ())),
        record.get("how") or "",
        record.get("tensors"),
        bool(record.get("collective")),
    )


def _weight(record: Record) -> BadWeight:
    (stats,) = _stats([record])
    return BadWeight(
        stats,
        record.get("file", ""),
        record.get("tensor", ""),
        record.get("module", ""),
        record.get("parameter", ""),
        record.get("buffer", False),
        record.get("computed", False),
    )


def _coverage(record: Record) -> Coverage:
    return Coverage(
        record.get("modules", {}),
        record.get("steps", {}),
        tuple(record.get("compiled", ())),
        record.get("graphs", 0),
        record.get("skipped", {}),
        record.get("armed", 0),
    )
