"""The types are frozen, and the word lists are the contract's."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest

import ruleout.model
from ruleout.model import (
    Case,
    Component,
    Factor,
    FailureClass,
    Mechanism,
    MissingError,
    OutcomeKind,
    RuleoutError,
    Stage,
    UsageError,
    VerdictStatus,
)

TYPES = [
    kind
    for name in ruleout.model.__all__
    if inspect.isclass(kind := getattr(ruleout.model, name)) and dataclasses.is_dataclass(kind)
]


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_a_type_of_the_model_is_frozen(kind: Any) -> None:
    value = object.__new__(kind)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, dataclasses.fields(kind)[0].name, "x")


def test_stages_are_in_the_order_of_a_usual_start() -> None:
    assert " ".join(Stage) == (
        "install_import arg_parsing model_config distributed_init weight_load kv_cache_alloc kernel_compile"
        " cuda_graph_capture warmup ready prefill decode concurrency shutdown unknown"
    )


def test_failure_classes_are_those_of_the_contract() -> None:
    assert " ".join(FailureClass) == (
        "device_side_assert illegal_memory_access nan_inf oom host_oom_kill no_kernel_image unsupported_arch"
        " shared_memory kernel_launch_error illegal_instruction incompatible_config_assert import_abi missing_symbol"
        " unknown_model_type quant_format_mismatch missing_weights shape_mismatch compile_error nccl_timeout_hang hang"
        " wrong_output accuracy_loss memory_leak other none"
    )


def test_components_are_those_of_the_contract() -> None:
    assert " ".join(Component) == (
        "attention_backend kv_cache_dtype quantization moe_runner rope_config transformers_version"
        " kernel_arch_support cuda_graph allreduce nccl memory scheduler sampling tokenizer/template"
        " weights/checkpoint install/abi user_config spec_decode other"
    )


def test_outcomes_and_verdicts_are_those_of_the_contract() -> None:
    assert list(OutcomeKind) == ["reproduced", "clean", "other", "unresolved"]
    assert " ".join(VerdictStatus) == "isolated narrowed elsewhere workaround not_reproduced exhausted interrupted"


CASE = Case(
    "c",
    "command",
    ("run",),
    (
        Factor("kv", Mechanism.FLAG, "--kv", ("bf16", "auto", "fp8"), "auto"),
        Factor("graphs", Mechanism.FLAG, "--graphs", ("absent", "present"), "absent"),
    ),
)


def test_the_baseline_of_a_case_has_the_baseline_of_each_factor() -> None:
    assert dict(CASE.baseline) == {"kv": "auto", "graphs": "absent"}


def test_the_others_of_a_factor_are_its_levels_without_the_baseline() -> None:
    assert CASE.factor("kv").others == ("bf16", "fp8")


def test_a_factor_that_is_not_there_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        CASE.factor("nope")


@pytest.mark.parametrize(("kind", "status"), [(RuleoutError, 3), (UsageError, 2), (MissingError, 4)])
def test_an_error_is_two_lines_and_has_its_exit_status(kind: type[RuleoutError], status: int) -> None:
    error = kind("case.yaml, line 3: wrong", "Write it right.")
    assert str(error) == "case.yaml, line 3: wrong\n  Write it right."
    assert error.exit_status == status
