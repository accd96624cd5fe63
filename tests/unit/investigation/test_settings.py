"""A level that the engine replaced was not tried, whatever the command says."""

from __future__ import annotations

from pathlib import Path

from ruleout.investigation.settings import read_settings, replaced, resolved
from ruleout.model import Case, ChosenBy, Diagnosis, EngineId, Factor, LogOutcome, Mechanism, Setting, Stage

BACKEND = Factor("backend", Mechanism.FLAG, "--attention-backend", ("auto", "FLASH_ATTN", "TRITON_ATTN"), "auto")
CASE = Case("c", "vllm", ("serve",), (BACKEND,))


def said(value: str, by: ChosenBy = ChosenBy.ENGINE, name: str = "attention_backend") -> list[Setting]:
    """A setting as a log tells of it."""
    return [Setting(name, None, value, by, 1)]


def test_a_level_that_was_replaced_is_named_with_what_was_in_effect() -> None:
    assert replaced(CASE, {"backend": "FLASH_ATTN"}, said("CPU_ATTN")) == {"backend": "CPU_ATTN"}


def test_a_level_that_was_refused_is_void_even_if_the_log_does_not_say_what_was_taken() -> None:
    refused = [Setting("attention_backend", "FLASH_ATTN", None, ChosenBy.ENGINE, 38)]
    assert replaced(CASE, {"backend": "FLASH_ATTN"}, refused) == {"backend": "?"}


def test_another_level_of_the_factor_is_named_as_the_case_writes_it() -> None:
    assert replaced(CASE, {"backend": "FLASH_ATTN"}, said("triton-attn")) == {"backend": "TRITON_ATTN"}


def test_the_same_value_in_another_spelling_is_no_replacement() -> None:
    dtype = Factor("dtype", Mechanism.FLAG, "--dtype", ("bf16", "fp16"), "bf16")
    case = Case("c", "vllm", ("serve",), (BACKEND, dtype))
    assert not replaced(case, {"backend": "FLASH_ATTN"}, said("flash_attn"))
    assert not replaced(case, {"dtype": "bf16"}, said("torch.bfloat16", name="dtype"))


def test_a_level_that_leaves_the_choice_to_the_engine_is_not_replaced_by_its_choice() -> None:
    assert not replaced(CASE, {"backend": "auto"}, said("TRITON_ATTN"))
    assert not replaced(CASE, {}, said("TRITON_ATTN"))


def test_only_the_engine_replaces() -> None:
    assert not replaced(CASE, {"backend": "FLASH_ATTN"}, said("TRITON_ATTN", ChosenBy.USER))


def test_a_printed_configuration_tells_of_another_level_of_the_factor_and_of_nothing_else() -> None:
    def printed(value: str) -> list[Setting]:
        return [Setting("attention_backend", None, value, None, 1)]

    assert replaced(CASE, {"backend": "FLASH_ATTN"}, printed("triton_attn")) == {"backend": "TRITON_ATTN"}
    assert not replaced(CASE, {"backend": "FLASH_ATTN"}, printed("/opt/kernels/flash_attn.so"))
    assert not replaced(CASE, {"backend": "FLASH_ATTN"}, printed("flash_attn"))


def test_what_is_in_effect_is_kept_by_name_without_names_structures_and_measured_sizes() -> None:
    own = [("config", "{'a': 1}"), ("port", "30000"), ("max_total_num_tokens", "425664"), ("mem_fraction", "0.88")]
    settings = [
        *said("TRITON_ATTN"),
        Setting("page_size", None, "64", ChosenBy.ENGINE, 1),
        *(Setting(name, None, value, ChosenBy.DEFAULT, 2) for name, value in own),
    ]
    run = Diagnosis(EngineId("vllm"), LogOutcome.HEALTHY, Stage.DECODE, settings=tuple(settings))
    assert resolved(run) == {"attention_backend": "TRITON_ATTN", "page_size": "64"}


def test_a_log_that_is_not_there_or_empty_tells_of_no_settings(tmp_path: Path) -> None:
    assert read_settings(tmp_path / "server.log") is None
    (tmp_path / "server.log").touch()
    assert read_settings(tmp_path / "server.log") is None
