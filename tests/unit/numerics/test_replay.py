"""The replay script: the call as it was, spelt in Python; what cannot be spelt is refused in two lines."""

from __future__ import annotations

import ast
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from ruleout.model import UsageError
from ruleout.model.trace import Moment, OperationBirth, Phase
from ruleout.numerics.replay import write_replay


def operation(folder: Path, call: Any, op: str = "aten.div.Tensor", changed: tuple[str, ...] = ()) -> OperationBirth:
    path = folder / "operation-1-1.safetensors"
    metadata = {"op": op, "call": json.dumps(call), "changed": json.dumps(changed)}
    header = json.dumps({"__metadata__": metadata}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    moment = Moment(Phase.DECODE, 2, 5, 0, 1.0)
    return OperationBirth("layers.1", "Block", op, "nan", moment, tensors=str(path))


TENSOR = {"tensor": "arg0", "device": "cuda", "stride": [4, 1]}


def test_the_call_stands_in_the_script_as_a_person_would_write_it(tmp_path: Path) -> None:
    call = [[TENSOR, 2, {"float": "-inf"}, [1, None]], {"dtype": {"torch": "float16"}, "device": {"device": "cuda"}}]
    script = write_replay(operation(tmp_path, call), tmp_path / "out")
    text = script.read_text()
    ast.parse(text)
    assert 'torch.ops.aten.div.Tensor(tensors["arg0"], 2, float("-inf"), [1, None], dtype=torch.float16' in text
    assert 'else "cuda"' in text
    assert "STRIDES = {'arg0': (4, 1)}" in text
    assert (tmp_path / "out" / "operation-1-1.safetensors").is_file()
    assert "layers.1 (Block)" in text


def test_what_an_operation_wrote_into_is_looked_at_too(tmp_path: Path) -> None:
    script = write_replay(operation(tmp_path, [[TENSOR], {}], "_C.rms_norm.default", ("arg0",)), tmp_path)
    assert '[*results, tensors["arg0"]]' in script.read_text()
    assert "import vllm._C" in script.read_text()


@pytest.mark.parametrize(
    ("call", "op"),
    [([[{"unknown": "Generator"}], {}], "aten.normal_.default"), ([[TENSOR], {}], "c10d.allreduce_.default")],
)
def test_what_cannot_be_written_down_is_refused(tmp_path: Path, call: Any, op: str) -> None:
    with pytest.raises(UsageError, match="cannot be replayed alone"):
        write_replay(operation(tmp_path, call, op), tmp_path)


def test_arguments_that_were_not_kept_are_no_replay(tmp_path: Path) -> None:
    moment = Moment(Phase.PREFILL, 0, 1, None, 1.0)
    with pytest.raises(UsageError, match="were not kept"):
        write_replay(OperationBirth("a", "A", "aten.mm.default", "nan", moment), tmp_path)
