"""The debugging ladder: what watching gives, costs and changes."""

from __future__ import annotations

import pytest

from ruleout.diagnosis.ladder import LADDERS, reported_late, waiting_for_each
from ruleout.engines import ENGINES
from ruleout.model import Exposure, Failure, FailureClass, Stage


@pytest.mark.parametrize("engine", sorted(LADDERS))
def test_every_step_has_its_price_and_its_effect(engine: str) -> None:
    assert engine in ENGINES
    for step in LADDERS[engine]:
        assert step.change
        assert all((step.gives, step.price, step.effect))


@pytest.mark.parametrize(
    ("engine", "change"),
    [
        ("vllm", {"CUDA_LAUNCH_BLOCKING": "1", "--enforce-eager": ""}),
        ("sglang", {"CUDA_LAUNCH_BLOCKING": "1", "--disable-cuda-graph": ""}),
        ("command", {"CUDA_LAUNCH_BLOCKING": "1"}),
    ],
)
def test_kernels_are_waited_for_without_graphs(engine: str, change: dict[str, str]) -> None:
    step = waiting_for_each(engine)
    assert step.change == change
    assert "races between them go away" in step.effect


@pytest.mark.parametrize(
    ("class_", "late", "message", "helps"),
    [
        (FailureClass.ILLEGAL_MEMORY_ACCESS, True, "an illegal memory access was encountered", True),
        (FailureClass.ILLEGAL_MEMORY_ACCESS, False, "an illegal memory access was encountered", False),
        (FailureClass.DEVICE_SIDE_ASSERT, True, "Assertion `probability tensor contains inf` failed", False),
        (FailureClass.OOM, True, "out of memory", False),
    ],
)
def test_waiting_helps_where_the_error_is_reported_late(
    class_: FailureClass, late: bool, message: str, helps: bool
) -> None:
    failure = Failure(class_, Exposure(Stage.DECODE), message, "s", asynchronous=late)
    assert reported_late(failure) is helps
