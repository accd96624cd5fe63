"""Two runs of one failure share a signature; two failures do not."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleout.model import FailureClass
from ruleout.reading import signature, similar
from ruleout.reading.signature import normalise


@dataclass(frozen=True)
class Told:
    class_: FailureClass
    exception: str
    message: str
    asynchronous: bool = False


OTHER = FailureClass.OTHER
NUMBERS = st.integers(0, 10**9)
NAMES = st.text("abcdefghijklmnop_", min_size=1, max_size=12)


@given(NUMBERS, NUMBERS, NAMES, NUMBERS)
def test_numbers_paths_times_ranks_and_addresses_do_not_matter(a: int, b: int, folder: str, c: int) -> None:
    def told(x: int, y: int, path: str, z: int) -> str:
        return (
            f"[Rank {x}] shape [{x}, 4, {y}] in {path}/layer.py at 0x{z:08x}, layers.{y}, cuda:{x}, "
            f"{y} MiB free, {x}.5 s, TP{x % 8} pid={z}"
        )

    first = signature(OTHER, "RuntimeError", told(1, 2, "/srv", 3))
    assert signature(OTHER, "RuntimeError", told(a, b, f"/home/{folder}", c)) == first


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("No module named 'alpha'", "No module named 'beta'"),
        ("'model_type'", "'rope_type'"),
        ("assert not self.store_fp8", "assert not self.store_fp4"),
        ("cannot import name 'a_long_function' from 'pkg.mod'", "cannot import name 'b_other_thing' from 'pkg.mod2'"),
        ("mat1 and mat2 shapes cannot be multiplied (1x2 and 3x4)", "The size of tensor a (1) must match b (2)"),
    ],
)
def test_two_failures_do_not_share_a_signature_and_are_not_similar(one: str, other: str) -> None:
    assert signature(OTHER, "E", one) != signature(OTHER, "E", other)
    if "fp8" not in one:
        assert not similar(Told(OTHER, "E", one), Told(OTHER, "E", other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("shape mismatch: value tensor of shape [35, 4, 64]", "shape mismatch: value tensor of shape [19, 4, 64]"),
        (
            "expected bfloat16 for the cache of the layer, got float32",
            "expected bfloat16 for the cache of the layer, got float16",
        ),
        ("missing: {'ckpt/a/model-00003-of-00004.safetensors'}", "missing: {'/b/model-00003-of-00004.safetensors'}"),
    ],
)
def test_one_failure_under_other_numbers_paths_and_types_is_similar(one: str, other: str) -> None:
    assert similar(Told(OTHER, "a.E", one), Told(OTHER, "b.E", other))
    assert similar(Told(OTHER, "", one), Told(OTHER, "b.E", other))


def test_another_class_or_another_exception_is_not_similar() -> None:
    assert not similar(Told(OTHER, "E", "x y z"), Told(FailureClass.OOM, "E", "x y z"))
    assert not similar(Told(OTHER, "ValueError", "x y z"), Told(OTHER, "TypeError", "x y z"))


def test_of_asynchronous_errors_only_the_device_s_assertion_counts() -> None:
    asserts = FailureClass.DEVICE_SIDE_ASSERT
    nan = Told(asserts, "torch.AcceleratorError", "Assertion `probability tensor contains nan` failed.", True)
    index = Told(asserts, "torch.AcceleratorError", "Assertion `index < sizes[i] && out of bounds` failed.", True)
    lost = Told(asserts, "RuntimeError", "CUDA error: device-side assert triggered", True)
    assert not similar(nan, index)
    assert similar(nan, lost)
    assert similar(nan, Told(asserts, "", nan.message, True))
    assert signature(asserts, "A", nan.message, ("a.py:f",)) == signature(asserts, "B", nan.message, ("b.py:g",))


def test_frames_count_only_when_the_message_says_nothing() -> None:
    assert signature(OTHER, "E", "it broke here", ("a.py:f",)) == signature(OTHER, "E", "it broke here", ("b.py:g",))
    assert signature(OTHER, "E", "", ("a.py:f",)) != signature(OTHER, "E", "", ("b.py:g",))
    assert signature(OTHER, "E", "", ("a.py:f", "module.py:_call_impl")) == signature(OTHER, "E", "", ("a.py:f",))


@given(st.text(max_size=3000))
def test_normalising_anything_is_bounded(text: str) -> None:
    assert len(normalise(text)) <= 600
