"""A header is data of a stranger: whatever bytes it has, it is described or named as wrong, and never believed."""

from __future__ import annotations

import json
import struct
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleout.audit.folder import ModelFolder
from ruleout.audit.tensors import Header, few, read_header
from ruleout.audit.tensors_dtypes import BITS

NUMBERS = st.one_of(st.integers(-5, 100), st.integers(-(1 << 70), 1 << 70), st.floats(), st.booleans(), st.none())
ENTRIES = st.fixed_dictionaries(
    {
        "dtype": st.one_of(st.sampled_from(sorted(BITS)), st.text(max_size=4), NUMBERS),
        "shape": st.one_of(st.lists(NUMBERS, max_size=4), NUMBERS),
        "data_offsets": st.one_of(st.lists(NUMBERS, min_size=1, max_size=3), NUMBERS),
    }
)
VALUES = st.recursive(
    st.one_of(NUMBERS, st.text(max_size=5), ENTRIES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def read(data: bytes) -> Header:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "m.safetensors").write_bytes(data)
        return read_header(ModelFolder(Path(folder)), "m.safetensors")


def sound(header: Header) -> bool:
    """What is described as a tensor has a size that fits its dtype and shape; the rest has problems."""
    for tensor in header.tensors:
        bits = BITS[tensor.dtype]
        for n in tensor.shape:
            bits *= n
        if bits != 8 * tensor.bytes:
            return False
    beyond = any(tensor.end > header.size for tensor in header.tensors)
    return bool(header.problems) or not beyond


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_described_or_named(data: bytes) -> None:
    assert sound(read(data))


@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=5), st.integers(0, 300))
@settings(max_examples=300, deadline=None)
def test_any_json_is_described_or_named(value: dict[str, Any], rest: int) -> None:
    text = json.dumps(value).encode()
    header = read(struct.pack("<Q", len(text)) + text + b"\0" * rest)
    assert sound(header)
    assert len(header.tensors) + len(header.problems) >= len(set(value) - {"__metadata__"})


@pytest.mark.parametrize("dtype", sorted(BITS))
def test_every_dtype_has_its_size(dtype: str) -> None:
    size = BITS[dtype] * 8 // 8
    text = json.dumps({"t": {"dtype": dtype, "shape": [8], "data_offsets": [0, size]}}).encode()
    header = read(struct.pack("<Q", len(text)) + text + b"\0" * size)
    assert header.problems == ()
    assert [tensor.shape for tensor in header.tensors] == [(8,)]


def test_of_many_names_a_few_are_told() -> None:
    assert few(["a", "b"]) == "a, b"
    assert few(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
