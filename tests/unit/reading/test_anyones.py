"""Settings and levels of engines that nobody has written a format for, and those of known ones left alone."""

from __future__ import annotations

import io

import pytest

from ruleout.model import ChosenBy, Diagnosis
from ruleout.reading.diagnose import Stream, read_facts
from ruleout.reading.formats.anyones import name_of


def text(log: str) -> Diagnosis:
    return read_facts([Stream("pasted", io.BytesIO(log.encode()))])


def settings(log: str) -> dict[str, tuple[str | None, str | None, ChosenBy | None]]:
    return {s.name: (s.requested, s.resolved, s.chosen_by) for s in text(log).settings}


COMMAND = "$ python3 -m zeta.serve --model /m/a --store-kind auto\n"


@pytest.mark.parametrize(
    "line",
    [
        "opts=ZetaOpts(model='/m/a', store_kind='q8', width=8, gaze='moss', quiet=False)",
        "12:00:01 INFO zeta options: Options(model='/m/a', store_kind='q8', width=8, gaze='moss')",
        "opts={'model': '/m/a', 'store_kind': 'q8', 'width': 8, 'gaze': 'moss'}",
    ],
)
def test_a_printed_structure_is_a_configuration(line: str) -> None:
    found = settings(COMMAND + line + "\n")
    assert found["store_kind"] == ("auto", "q8", ChosenBy.ENGINE)
    assert found["gaze"] == (None, "moss", ChosenBy.ENGINE)


@pytest.mark.parametrize(
    "line",
    [
        "Setting store kind to q8 for this model.",
        "The store kind was automatically changed to q8",
        "Using q8 as the store kind on this device",
        "Use q8 store kind by default.",
        "store_kind is set to q8",
    ],
)
def test_a_choice_is_the_engine_s_own(line: str) -> None:
    assert settings(COMMAND + f"2026-03-02 09:00:00 {line}\n")["store_kind"] == ("auto", "q8", ChosenBy.ENGINE)


def test_what_a_line_of_source_code_says_is_no_setting() -> None:
    found = settings(COMMAND + "    run(a=1, b=2, c=3, d=4, e=5)\n  Setting depth to 3\n")
    assert set(found) == {"model", "store_kind"}


def test_what_a_library_prints_of_its_work_and_what_is_still_open_are_no_settings() -> None:
    found = settings(
        COMMAND
        + "Watchdog caught WorkNCCL(SeqNum=19, OpType=ALLGATHER, NumelIn=38, NumelOut=77, Timeout(ms)=600000)\n"
        + "the depth is set to auto, using another\n"
    )
    assert set(found) == {"model", "store_kind"}


def test_where_a_format_has_read_the_configuration_nothing_is_guessed() -> None:
    args = "[2026-03-04 09:10:05] server_args=ServerArgs(model_path='/m/tiny', tp_size=2)\n"
    assert set(settings(args + "other=Thing(a=1, b=2, c=3, d=4)\n")) == {"model_path", "tp_size"}


@pytest.mark.parametrize(
    "line",
    [
        "serve: error: argument --store-kind: invalid choice: 'q9' (choose from 'q8', 'f16', 'f32')",
        "serve: error: argument --store-kind: invalid choice: 'q9' (choose from q8, f16, f32)",
        "usage: serve [--store-kind {q8,f16,f32}]",
        "  --store-kind {q8,f16,f32}",
        "ValueError: Unknown store kind: 'q9'. Valid options are: q8, f16, f32",
        "Available store kinds: ['q8', 'f16', 'f32']",
        "Using q8 store kind out of potential kinds: ['q8', 'f16', 'f32'].",
        "ValueError: store_kind must be one of ['q8', 'f16', 'f32']",
    ],
)
def test_levels_that_a_log_lists_are_read(line: str) -> None:
    (choices,) = text(line + "\n").choices
    assert choices.name in ("store_kind", "store_kinds")
    assert (choices.levels, choices.line, choices.source) == (("q8", "f16", "f32"), 1, "pasted")


def test_a_list_is_of_the_setting_that_has_its_value() -> None:
    log = "$ vllm serve m --attention-backend NOPE\nValueError: Unknown backend: 'NOPE'. Valid options are: A_B, C_D\n"
    (choices,) = text(log).choices
    assert choices.name == "attention_backend"


def test_names_are_made_of_the_words_of_a_sentence() -> None:
    assert name_of("KV cache dtype") == "kv_cache_dtype"
    assert name_of("the MoE-runner backend") == "moe_runner_backend"


def test_python_s_own_flag_and_commands_that_start_nothing_are_no_settings() -> None:
    found = text("$ pip freeze | grep -E 'sglang|vllm' --color always\n$ python3 -m sglang.launch_server --tp 2\n")
    assert found.command == "python3 -m sglang.launch_server --tp 2"
    assert {s.name for s in found.settings} == {"tp_size"}
