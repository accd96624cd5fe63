"""A script that runs the failing operation alone, for whoever maintains it: torch, one file of tensors, nothing else.

The script calls the operation by its name with its arguments as they were, and exits 0 if it makes bad numbers of them
again. What cannot be written down, such as a group of processes or a random generator, cannot be replayed, and is said.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from ruleout.model import UsageError
from ruleout.model.trace import OperationBirth

_FUNCTIONAL = "_c10d_functional", "c10d", "c10d_functional"

_SCRIPT = Template('''\
"""Replays $op, which made $word of finite numbers in $module ($class_).

    python $script [DEVICE]        exit status 0: bad numbers again, 1: all finite, 2: it cannot run here

The arguments are those of the failing call ($where); they lie beside this script in $tensors.
"""

import json
import struct
import sys
from pathlib import Path

import torch

DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "F16": "float16",
    "BF16": "bfloat16", "F32": "float32", "F64": "float64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
}
STRIDES = $strides


def read(path):
    """The tensors of a safetensors file: the length of the header, the header, the bytes."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        bytes_ = bytearray(file.read())
    tensors = {}
    for name, told in header.items():
        if name != "__metadata__":
            start, end = told["data_offsets"]
            dtype = getattr(torch, DTYPES[told["dtype"]])
            part = torch.frombuffer(bytes_[start:end], dtype=torch.uint8) if end > start else torch.empty(0)
            tensors[name] = part.view(dtype).reshape(told["shape"]) if end > start else part.to(dtype)
    return tensors


def placed(name, tensor):
    """The tensor on the device, laid out in memory as it was."""
    try:
        laid = torch.empty_strided(tensor.shape, STRIDES[name], dtype=tensor.dtype, device=DEVICE)
        return laid.copy_(tensor)
    except RuntimeError:  # overlapping memory, as of an expanded tensor
        return tensor.to(DEVICE)


DEVICE = sys.argv[1] if len(sys.argv) > 1 else "$device"
if torch.device(DEVICE).type == "cuda" and not torch.cuda.is_available():
    sys.exit("No such device here: name one, for instance: python $script cpu")
tensors = {name: placed(name, tensor) for name, tensor in read(Path(__file__).with_name("$tensors")).items()}
for name, tensor in tensors.items():
    print(name, tuple(tensor.shape), str(tensor.dtype), "finite" if bool(tensor.isfinite().all()) else "NOT finite")
$load
with torch.no_grad():
    result = $call
results = result if isinstance(result, (tuple, list)) else [result]
bad = 0
for number, tensor in enumerate([*results$changed]):
    if isinstance(tensor, torch.Tensor) and (tensor.is_floating_point() or tensor.is_complex()):
        nan, inf = int(tensor.isnan().sum()), int(tensor.isinf().sum())
        bad += nan + inf
        print("result %d: %s %s, %d NaN, %d infinite" % (number, tuple(tensor.shape), tensor.dtype, nan, inf))
print("bad numbers again" if bad else "all finite this time")
sys.exit(0 if bad else 1)
''')


def write_replay(operation: OperationBirth, folder: Path) -> Path:
    """Writes the script and its tensors into the folder, and returns the script's path.

    Raises UsageError where the operation's arguments were not kept or cannot be written down.
    """
    if operation.tensors is None:
        raise UsageError(
            f"{operation.module}: the arguments of {operation.op} were not kept: too large, or no plain tensors",
            "Its module, frames and numbers are in the trace; trace a smaller prompt to keep the arguments.",
        )
    source = Path(operation.tensors)
    metadata = _metadata(source)
    op, (args, kwargs) = metadata["op"], json.loads(metadata["call"])
    unknown = sorted(_unknown([args, kwargs]))
    if unknown or op.partition(".")[0] in _FUNCTIONAL:
        raise UsageError(
            f"{operation.module}: {op} cannot be replayed alone: it takes {', '.join(unknown) or 'other ranks'}",
            "Its tensors are kept; the frames in the trace tell who called it.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    tensors = folder / source.name
    if tensors.resolve() != source.resolve():
        tensors.write_bytes(source.read_bytes())
    script = tensors.with_suffix(".py")
    space = op.partition(".")[0]
    spelt = [*(_python(each) for each in args), *(f"{name}={_python(each)}" for name, each in kwargs.items())]
    moment = operation.moment
    described = list(_tensors([args, kwargs]))
    text = _SCRIPT.substitute(
        op=op,
        word={"nan": "NaN", "inf": "infinities", "both": "NaN and infinities"}.get(operation.non_finite, "bad numbers"),
        module=operation.module or "the model",
        class_=operation.class_,
        script=script.name,
        where=f"{moment.phase.value}, step {moment.step}, rank {moment.rank}",
        tensors=tensors.name,
        strides={str(each["tensor"]): tuple(each["stride"]) for each in described},
        device=next((each["device"] for each in described if each["device"] != "cpu"), "cpu"),
        load=_LOADING.get(space, ""),
        call=f"torch.ops.{op}({', '.join(spelt)})",
        changed="".join(f', tensors["{name}"]' for name in json.loads(metadata["changed"])),
    )
    script.write_text(text)
    return script


_LOADING = {
    "_C": "import vllm._C  # registers the operation",
    "_moe_C": "import vllm._moe_C  # registers the operation",
    "vllm": "import vllm.model_executor.layers.fused_moe  # registers the operation",
    "sgl_kernel": "import sgl_kernel  # registers the operation",
}
"""What has to be imported before torch knows the operations of a name space."""


def _metadata(path: Path) -> Mapping[str, str]:
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        metadata: Mapping[str, str] = json.loads(file.read(length))["__metadata__"]
    return metadata


def _tensors(value: Any) -> list[Mapping[str, Any]]:
    if isinstance(value, dict):
        return [value] if "tensor" in value else [each for item in value.values() for each in _tensors(item)]
    return [each for item in value for each in _tensors(item)] if isinstance(value, list) else []


def _unknown(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {value["unknown"]} if "unknown" in value else set().union(*(_unknown(each) for each in value.values()))
    return set().union(*(_unknown(each) for each in value)) if isinstance(value, list) else set()


def _python(value: Any) -> str:
    """An argument as it stands in Python."""
    match value:
        case {"tensor": name}:
            return f'tensors["{name}"]'
        case {"float": text}:
            return f'float("{text}")'
        case {"torch": name}:
            return f"torch.{name}"
        case {"device": _}:
            return "DEVICE"
        case list():
            return f"[{', '.join(_python(each) for each in value)}]"
        case _:
            return repr(value)
