"""A change in the run's own command: the flag once, the rest as typed, and nothing that may not run."""

from __future__ import annotations

import shlex

import pytest

from ruleout.diagnosis.commandline import changed

SGLANG = "python3 -m sglang.launch_server --model-path /m --kv-cache-dtype auto --tp 8"


@pytest.mark.parametrize(
    "given",
    ["--kv-cache-dtype auto", "--kv-cache-dtype=auto", "--kv_cache_dtype auto", "--no-kv-cache-dtype", ""],
)
def test_a_flag_that_is_there_already_is_replaced_however_it_is_written(given: str) -> None:
    told = changed(f"vllm serve m {given} --tp 8", {"--kv-cache-dtype": "bf16"})
    assert told == "vllm serve m --tp 8 --kv-cache-dtype bf16"


def test_a_flag_and_its_opposite_are_one() -> None:
    assert changed("vllm serve m --enable-prefix-caching", {"--no-enable-prefix-caching": ""}) == (
        "vllm serve m --no-enable-prefix-caching"
    )
    assert (
        changed("llama-server -m x -fa -ngl 9", {"--flash-attn": "off"}) == "llama-server -m x -ngl 9 --flash-attn off"
    )


def test_a_bare_flag_owns_nothing_that_follows_it() -> None:
    assert changed("vllm serve --enforce-eager m", {"--enforce-eager": ""}) == "vllm serve m --enforce-eager"


def test_a_flag_can_be_taken_away_with_its_value() -> None:
    quoted = 'vllm serve m --speculative-config \'{"method": "mtp"}\' --tp 8'
    assert changed(quoted, {"--speculative-config": "absent"}) == "vllm serve m --tp 8"


def test_what_is_not_changed_stays_as_it_was_typed_and_what_is_new_is_quoted() -> None:
    told = changed("vllm serve \"$HOME/m\" --x 'a b'", {"--y": "c d", "A_VARIABLE": "e f"})
    assert told == "A_VARIABLE='e f' vllm serve \"$HOME/m\" --x 'a b' --y 'c d'"
    assert shlex.split(told)[-1] == "c d"


def test_the_change_stands_before_a_pipe_or_a_redirection_and_in_the_program_s_own_command() -> None:
    told = changed("cd /x && HF_HOME=/y vllm serve m --tp 8 2>&1 | tee log", {"--tp": "4", "HF_HOME": "/z"})
    assert told == "cd /x && HF_HOME=/z vllm serve m --tp 4 2>&1 | tee log"


def test_a_variable_reaches_into_a_container() -> None:
    told = changed("docker run --gpus all image --model m", {"CUDA_LAUNCH_BLOCKING": "1"})
    assert told == "docker run -e CUDA_LAUNCH_BLOCKING=1 --gpus all image --model m"


def test_json_that_a_log_printed_without_its_quotes_gets_them_back() -> None:
    told = changed('vllm serve m --speculative-config {"method": "mtp", "n": 3}', {"--tp": "2"})
    assert shlex.split(told)[4] == '{"method": "mtp", "n": 3}'


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("bash -lc 'vllm serve m --tp 8'", {"--tp": "4"}),
        ("vllm serve 'm --tp 8", {"--tp": "4"}),
        ("vllm serve m --tp 8 (second try)", {"--tp": "4"}),
        ("sudo vllm serve m", {"A_VARIABLE": "1"}),
        ("", {"--tp": "4"}),
    ],
)
def test_what_is_not_certain_to_run_is_not_proposed(command: str, change: dict[str, str]) -> None:
    assert changed(command, change) == ""


def test_a_prompt_and_continued_lines_are_no_part_of_it() -> None:
    assert changed("$ vllm serve m \\\n  --tp 8", {"--tp": "4"}) == "vllm serve m --tp 4"
    assert changed(SGLANG, {"--kv-cache-dtype": "bf16"}) == (
        "python3 -m sglang.launch_server --model-path /m --tp 8 --kv-cache-dtype bf16"
    )


def test_a_change_does_not_end_up_in_a_comment() -> None:
    assert changed("vllm serve m --tp 8 # was 4", {"--tp": "2"}) == "vllm serve m --tp 2"
    assert changed("vllm serve m --x 'a # b' --y a#b", {"--tp": "2"}) == "vllm serve m --x 'a # b' --y a#b --tp 2"
