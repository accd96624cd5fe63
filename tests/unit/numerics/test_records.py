"""Records of the tracer, read back: whole ones as they were meant, torn ones as nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ruleout.model.trace import Phase, SourceFrame, TensorStats
from ruleout.numerics import records


def written(folder: Path, *lines: dict[str, Any], name: str = "41-7.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps({**line, "t": 2.5, "pid": 41}) + "\n" for line in lines))
    return path


HELLO = {"kind": "hello", "argv": ["python", "-m", "x"], "python": "3.11.2", "ppid": 40, "wall": 9.0}
BAD = {"shape": [2, 3], "dtype": "float32", "nan": 1, "inf": 2, "first": [0, 1]}


def test_a_process_is_told_as_it_wrote(tmp_path: Path) -> None:
    moment = {"phase": "decode", "step": 3, "call": 5, "rank": 1}
    born = {"kind": "born", "module": "a.b", "class": "B", "non_finite": "both", "outputs": [{"place": "out0", **BAD}]}
    frames = [{"file": "moe.py", "line": 9, "function": "forward"}]
    operation = {"kind": "operation", "module": "a", "class": "A", "op": "aten.div.Tensor", "non_finite": "nan"}
    path = written(
        tmp_path,
        HELLO,
        {"kind": "hooks", "torch": "2.13.0", "cuda": None},
        {"kind": "rank", "rank": 1, "world": 2, "backend": "gloo"},
        {"kind": "model", "root": "", "class": "M", "modules": 7, "parameters": 90},
        {"kind": "weight", "module": "a.b", "parameter": "weight", **BAD},
        {"kind": "checkpoint", "file": "m.safetensors", "tensor": "a.b.weight", **BAD},
        {**born, **moment},
        {"kind": "armed", "module": "a.b"},
        {**operation, **moment, "frames": frames, "args": [{"place": "arg0", **BAD}]},
        {"kind": "coverage", "modules": {"a": 1}, "steps": {"decode": 4}},
        {"kind": "coverage", "modules": {"a": 3}, "steps": {"decode": 9}},
        {"kind": "of a newer tracer"},
        {"kind": "end"},
    )
    told = records.process(path)
    assert (told.pid, told.argv, told.ppid, told.hooks, told.torch) == (41, ("python", "-m", "x"), 40, True, "2.13.0")
    assert (told.rank, told.world, told.backend, told.ended) == (1, 2, "gloo", True)
    assert told.coverage.steps == {"decode": 9}
    (birth,) = told.births
    assert birth.outputs == (TensorStats("out0", (2, 3), "float32", nan=1, inf=2, first=(0, 1)),)
    assert birth.outputs[0].finite == 0.5
    assert (birth.moment.phase, birth.moment.step, birth.moment.call, birth.moment.t) == (Phase.DECODE, 3, 5, 2.5)
    assert told.operations[0].frames == (SourceFrame("moe.py", 9, "forward"),)
    assert [(weight.module, weight.tensor) for weight in told.weights] == [("a.b", ""), ("", "a.b.weight")]


def test_a_process_that_died_while_it_wrote_loses_its_last_line_only(tmp_path: Path) -> None:
    call = {"kind": "call", "module": "a", "call": 1, "phase": "prefill", "tensors": [{"place": "out0", **BAD}]}
    whole = written(tmp_path, HELLO, {"kind": "hooks"}, call, call).read_bytes()
    for cut in range(len(whole)):
        path = tmp_path / "cut.jsonl"
        path.write_bytes(whole[:cut])
        told = records.process(path)
        complete = whole[:cut].count(b"\n")
        assert told.torn <= 1
        assert told.calls == max(0, complete - 2)
        assert complete < 2 or told.hooks


def test_processes_come_in_the_order_of_their_start(tmp_path: Path) -> None:
    written(tmp_path, {**HELLO, "wall": 20.0}, name="1-1.jsonl")
    written(tmp_path, {**HELLO, "wall": 10.0}, name="2-1.jsonl")
    assert [Path(told.source).name for told in records.processes(tmp_path)] == ["2-1.jsonl", "1-1.jsonl"]
